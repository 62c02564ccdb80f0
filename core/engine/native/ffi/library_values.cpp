// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/library_values.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/tensor/compact_strides.hpp"
#include "core/engine/tensor/map.hpp"
#include "core/engine/tensor/tensor.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/kind_text.hpp>

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace gantry::ffi {
namespace {

constexpr int kMaxNesting = 256;

// The `self` of a function of a library.
struct LibraryFunction {
  void* self;
  SafeCall call;
  void (*destroy)(void*);
  // Without a node: libraries have the runtime's numbers of devices.
  const HostServices* services;
  // of the runtime, whose services are borrowed; retained during each call
  std::weak_ptr<const void> life;
};

gantry_code call_library(void* self, const gantry_env* env, const gantry_value* args,
                         std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const auto& function = *static_cast<LibraryFunction*>(self);
    if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
    // Nothing else keeps the runtime: the function has no parent and no pin.
    const std::shared_ptr<const void> life = function.life.lock();
    if (life == nullptr && function.services != nullptr)
      return unavailable("a function of a library is called after its runtime has ended")
          .with_reason("RUNTIME_ENDS");
    LibraryArguments list({args, static_cast<std::size_t>(count)});
    GANTRY_CHECK(list.prepare());
    const CpuOwner owner{function.services, nullptr};
    int code = 0;
    {
      CpuScope scope(owner, *env);
      code = scope.returned(function.call(function.self, list.data(), count, result));
    }
    // Not released: code that fails does not define its result.
    if (code != 0) *result = {};
    if (code != 0) return take_cause(here());
    GANTRY_TRY(Value converted,
               from_library(Value::adopt(std::exchange(*result, gantry_value{})), owner));
    *result = converted.take();
    return {};
  });
}

constexpr gantry_function_table library_function_table{
    sizeof(gantry_function_table), 0,
    [](void* self) {
      const std::unique_ptr<LibraryFunction> function(static_cast<LibraryFunction*>(self));
      if (function->destroy != nullptr) function->destroy(function->self);
    },
    call_library};

bool has_items(const gantry_value& value) {
  return value.kind == GANTRY_ARRAY || value.kind == GANTRY_MAP;
}

// Returns the items of an array or a map of any origin: borrowed.
//
// room     [out]  contains the items of a map
Result<std::span<const gantry_value>> items_in_any(const gantry_object& object,
                                                   std::vector<gantry_value>& room) {
  if (object.kind == GANTRY_MAP) {
    GANTRY_TRY(room, copied_map_items(object));
    return std::span<const gantry_value>(room);
  }
  const auto& array = reinterpret_cast<const ArrayObject&>(object);
  if (array.count < 0) return malformed(0, "array has ", array.count, " items");
  return std::span<const gantry_value>(array.items, static_cast<std::size_t>(array.count));
}

// Calls visit(value) for a value and everything in its arrays and maps, until it returns false.
//
// costs    O(items); allocates for maps, and for arrays and maps within others
template <class Visit>
Status visit_all(const gantry_value& root, const Visit& visit) {
  if (!visit(root) || !has_items(root)) return {};
  std::vector<const gantry_object*> open;
  std::unordered_set<const gantry_object*> seen;
  std::vector<gantry_value> room;
  for (const gantry_object* next = root.object; next != nullptr;) {
    GANTRY_TRY(const auto items, items_in_any(*next, room));
    for (const gantry_value& item : items) {
      if (holds_object(item) && item.object == nullptr)
        return malformed(0, "an item of a library's array or map is an object at address 0");
      if (!visit(item)) return {};
      if (!has_items(item)) continue;
      seen.insert(root.object);
      if (seen.insert(item.object).second) open.push_back(item.object);
    }
    next = open.empty() ? nullptr : open.back();
    if (next != nullptr) open.pop_back();
  }
  return {};
}

// True for an object that this runtime's code cannot use as it is.
bool is_foreign(const gantry_value& value) {
  switch (value.kind) {
    case GANTRY_FUNCTION:
      return !is_own_function(*value.object);
    case GANTRY_TENSOR:
      return !is_own_tensor(*value.object);
    case GANTRY_MODULE:
      return !is_own_module(*value.object);
    case GANTRY_MAP: {
      const auto& map = reinterpret_cast<const MapObject&>(*value.object);
      return !is_own_map(*value.object) && (map.slots & kSmallMap) == 0;
    }
    default:
      return false;
  }
}

// Converts values, each object once.
class Conversion {
 public:
  explicit Conversion(const CpuOwner& owner) : owner_(owner) {}

  Result<Value> of(const gantry_value& value, int nesting) {
    if (!holds_object(value)) return Value::adopt(value);
    if (const auto known = done_.find(value.object); known != done_.end()) return known->second;
    GANTRY_TRY(Value made, new_value(value, nesting));
    done_.emplace(value.object, made);
    return made;
  }

 private:
  Result<Value> new_value(const gantry_value& value, int nesting) {
    if (has_items(value)) return collection(*value.object, nesting);
    if (!is_foreign(value)) return shared(value);
    if (value.kind == GANTRY_TENSOR) {
      GANTRY_TRY(auto view, tensor_view(*gantry_value_tensor(&value), value.object));
      return owned_value(std::move(view));
    }
    if (value.kind == GANTRY_FUNCTION) return function(*value.object);
    return unsupported("a library passes a module of its own, which only tvm-ffi can use")
        .with_reason("HOST_RESULT");
  }

  Result<Value> function(gantry_object& object) {
    const auto& cell = reinterpret_cast<const FunctionCell&>(object);
    ObjectPtr kept = ObjectPtr::share(&object);
    GANTRY_TRY(Ref<FunctionObject> made,
               new_library_function(
                   kept.get(), cell.safe_call,
                   [](void* self) { gantry_release(static_cast<gantry_object*>(self)); }, owner_));
    (void)kept.take();
    return owned_value(std::move(made));
  }

  Result<Value> collection(const gantry_object& object, int nesting) {
    if (nesting == kMaxNesting) {
      return unsupported("a library passes functions or tensors in more than ", kMaxNesting,
                         " arrays within each other")
          .with_reason("HOST_RESULT");
    }
    std::vector<gantry_value> room;
    GANTRY_TRY(const auto items, items_in_any(object, room));
    std::vector<Value> owned;
    std::vector<gantry_value> values;
    for (const gantry_value& item : items) {
      GANTRY_TRY(Value made, of(item, nesting + 1));
      values.push_back(made.get());
      owned.push_back(std::move(made));
    }
    GANTRY_TRY(ObjectPtr made, new_items(object.kind, values));
    return owned_value(std::move(made));
  }

  static Value shared(const gantry_value& value) {
    gantry_retain(value.object);
    return Value::adopt(value);
  }

  const CpuOwner& owner_;
  std::unordered_map<const gantry_object*, Value> done_;
};

}  // namespace

Result<Ref<FunctionObject>> new_library_function(void* self, SafeCall call, void (*destroy)(void*),
                                                 const CpuOwner& owner) {
  auto function = std::make_unique<LibraryFunction>(LibraryFunction{
      self, call, destroy, owner.services,
      owner.services != nullptr ? owner.services->life : std::weak_ptr<const void>()});
  GANTRY_TRY(Ref<FunctionObject> object,
             new_function({function.get(), &library_function_table}, {}, 0));
  if (self == nullptr && destroy == nullptr) function->self = object.get();
  function.release();
  return object;
}

bool is_plain(const gantry_value& value) {
  if (!holds_object(value)) return true;
  const gantry_object* object = value.object;
  if (object == nullptr) return false;
  if (value.kind == GANTRY_FUNCTION) {
    return is_own_function(*object) &&
           unrecorded(reinterpret_cast<const FunctionObject&>(*object)).table !=
               &library_function_table;
  }
  // A view of a tensor has that tensor as its owner. Any other owner may be a library's.
  while (object != nullptr && is_own_tensor(*object))
    object = reinterpret_cast<const TensorObject*>(object)->owner.get();
  return object == nullptr || is_own_text(*object);
}

void set_strides_in(const gantry_value& value) {
  if (value.kind == GANTRY_TENSOR) {
    if (is_own_tensor(*value.object)) set_strides(reinterpret_cast<TensorObject&>(*value.object));
    return;
  }
  if (!has_items(value)) return;
  // A value that cannot be read has no tensors.
  (void)visit_all(value, [](const gantry_value& item) {
    if (item.kind == GANTRY_TENSOR) set_strides_in(item);
    return true;
  });
}

Status LibraryArguments::prepare() {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const gantry_value& value = list_[i];
    if (value.kind == GANTRY_TENSOR_REF) {
      GANTRY_CHECK(borrowed_tensor(i));
    } else if (value.kind >= GANTRY_TENSOR) {
      set_strides_in(value);
    }
  }
  return {};
}

Status LibraryArguments::borrowed_tensor(std::size_t i) {
  const gantry_tensor* const tensor = list_[i].tensor;
  if (tensor == nullptr || tensor->strides != nullptr || tensor->ndim < 0) return {};
  if (values_.empty()) {
    values_.assign(list_.begin(), list_.end());
    // The addresses of its items stay.
    tensors_.reserve(list_.size());
    list_ = values_;
  }
  auto& [copy, strides] = tensors_.emplace_back(*tensor, std::vector<std::int64_t>());
  // One more: the address of no stride is NULL otherwise.
  strides.resize(static_cast<std::size_t>(copy.ndim) + 1);
  compact_strides(shape_of(copy),
                  [&](std::size_t axis, std::int64_t stride) { strides[axis] = stride; });
  copy.strides = strides.data();
  values_[i].tensor = &copy;
  return {};
}

Result<Value> from_library(Value value, const CpuOwner& owner) {
  const gantry_value& read = value.get();
  if (read.kind < GANTRY_FUNCTION) return value;
  if (!has_items(read) && !is_foreign(read)) return value;
  bool converts = false;
  GANTRY_CHECK(visit_all(read, [&](const gantry_value& item) {
    converts = converts || (item.kind >= GANTRY_FUNCTION && is_foreign(item));
    return !converts;
  }));
  if (!converts) return value;
  return Conversion(owner).of(read, 0);
}

Result<Value> moved(const gantry_value& argument) {
  auto** const slot = static_cast<gantry_object**>(argument.p);
  gantry_object* const object = slot != nullptr ? std::exchange(*slot, nullptr) : nullptr;
  if (object == nullptr) return invalid("an argument by reference was moved before");
  return Value::adopt(value_of(object));
}

Status ArgumentsOfLibrary::convert(const CpuOwner& owner) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    const gantry_value& value = list_[i];
    const bool may_convert = value.kind == kMovable || value.kind >= GANTRY_FUNCTION;
    if (!may_convert) continue;
    Value owned;
    if (value.kind == kMovable) {
      GANTRY_TRY(owned, moved(value));
    } else {
      gantry_retain(value.object);
      owned = Value::adopt(value);
    }
    GANTRY_TRY(owned, from_library(std::move(owned), owner));
    if (values_.empty()) values_.assign(list_.begin(), list_.end());
    values_[i] = owned.get();
    owned_.push_back(std::move(owned));
  }
  if (!values_.empty()) list_ = values_;
  return {};
}

}  // namespace gantry::ffi
