// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/object.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/engine/tensor/map.hpp"

#include <gantry/byte_count.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace gantry {
namespace {

// The deleter of an object that is one malloc block with its content.
void free_block(void* self, std::int32_t flags) {
  if ((flags & GANTRY_DELETE_MEMORY) != 0) std::free(self);
}

void free_items(void* self, std::int32_t flags) {
  auto* object = static_cast<ArrayObject*>(self);
  if ((flags & GANTRY_DELETE_CONTENT) != 0) {
    for (std::int64_t i = 0; i < object->count; ++i) {
      if (holds_object(object->items[i])) gantry_release(object->items[i].object);
    }
    if (object->delete_items != nullptr) object->delete_items(object->items);
  }
  free_block(self, flags);
}

void delete_items(void* self, std::int32_t flags) { delete_nested(self, flags, free_items); }

void destroy_opaque(void* self, std::int32_t flags) {
  auto* object = static_cast<OpaqueObject*>(self);
  if ((flags & GANTRY_DELETE_CONTENT) != 0 && object->type != nullptr) {
    // While the process ends, no plugin function is called; the object is not freed.
    if (!plugins_may_run()) return;
    const NoCancellation guard;
    call_destroy(object->type->name, [&] { object->type->destroy(object->self); });
  }
  destroy_object<OpaqueObject>(self, flags);
}

void delete_opaque(void* self, std::int32_t flags) { delete_nested(self, flags, destroy_opaque); }

// The update function that tvm-ffi calls. If memory is exhausted, the backtrace is unchanged.
//
// mode     [in]   0 replaces the backtrace, another value appends to it
void update_backtrace(gantry_object* self, const gantry_bytes* backtrace, std::int32_t mode) {
  auto* object = reinterpret_cast<ErrorObject*>(self);
  try {
    if (mode == 0) object->backtrace.clear();
    object->backtrace.append(backtrace->data, backtrace->size);
    object->error.backtrace = {object->backtrace.data(), object->backtrace.size()};
  } catch (const std::bad_alloc&) {
  }
}

// Allocates a T followed by `extra` bytes in one malloc block.
//
// what     [in]   for the error: "shape"
// returns  exhausted
template <class T>
Result<T*> new_block(std::uint64_t extra, std::string_view what) {
  static_assert(sizeof(T) % alignof(gantry_value) == 0);
  const std::uint64_t max = PTRDIFF_MAX - sizeof(T);
  void* block = extra <= max ? std::malloc(sizeof(T) + extra) : nullptr;
  if (block == nullptr) return exhausted(what, ": no memory for ", ByteCount(extra));
  return new (block) T{};
}

// Checks one item and returns a value that owns its content.
Result<Value> keep_item(const gantry_value& item, std::size_t index) {
  if (item.kind == GANTRY_CSTRING || item.kind == GANTRY_BYTES_REF) {
    if (item.p == nullptr) return invalid("item ", index, " is a text at address 0");
    gantry_bytes text{};
    gantry_value_bytes(&item, &text);
    if (!is_text(text))
      return invalid("item ", index, " is a text of ", text.size,
                     " bytes, which its address has not");
    const std::int32_t kind = item.kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES;
    return new_text(kind, std::string_view(text.data, text.size));
  }
  if (item.kind == GANTRY_TENSOR_REF) {
    return invalid("item ", index, " is a borrowed tensor, only tensor objects can be kept");
  }
  if (!is_owned_kind(item.kind)) {
    return invalid("item ", index, " has kind ", item.kind, ", which is not a kind of value");
  }
  if (holds_object(item) && item.object == nullptr)
    return invalid("item ", index, " is an object at address 0");
  if (!gantry_value_is_canonical(&item)) {
    return invalid("item ", index, " of kind ", item.kind,
                   " is not canonical: bytes that the kind does not use must be 0")
        .with_reason("VALUE_FORM");
  }
  if (holds_object(item)) gantry_retain(item.object);
  return Value::adopt(item);
}

// Objects are deleted within each other up to this depth. Deeper ones wait, and follow one after another.
constexpr int kMaxNestedDeleters = 32;
constinit thread_local int nested_deleters = 0;
// Linked by the counts, which nothing reads any more.
constinit thread_local gantry_object* waiting_objects = nullptr;

}  // namespace

void delete_nested(void* self, std::int32_t flags, void (*destroy)(void*, std::int32_t)) noexcept {
  constexpr std::int32_t all = GANTRY_DELETE_CONTENT | GANTRY_DELETE_MEMORY;
  // Weak references keep the memory: it cannot wait.
  if (flags != all) return destroy(self, flags);
  if (nested_deleters == kMaxNestedDeleters) {
    auto* const object = static_cast<gantry_object*>(self);
    object->counts = reinterpret_cast<std::uintptr_t>(std::exchange(waiting_objects, object));
    return;
  }
  ++nested_deleters;
  destroy(self, flags);
  while (nested_deleters == 1 && waiting_objects != nullptr) {
    gantry_object* const next = waiting_objects;
    waiting_objects = reinterpret_cast<gantry_object*>(next->counts);
    next->deleter(next, all);
  }
  --nested_deleters;
}

Result<Value> new_text(std::int32_t kind, std::string_view text) {
  if (kind != GANTRY_STRING && kind != GANTRY_BYTES) {
    return invalid("kind of a text is ", kind, ", kinds are 65 (string) and 66 (bytes)");
  }
  gantry_value small{};
  const std::int32_t small_kind = kind == GANTRY_STRING ? GANTRY_SMALL_STRING : GANTRY_SMALL_BYTES;
  if (gantry_value_small(small_kind, {text.data(), text.size()}, &small) != 0)
    return Value::adopt(small);
  GANTRY_TRY(TextObject* const object, new_block<TextObject>(text.size() + 1, "text"));
  char* const copy = reinterpret_cast<char*>(object + 1);
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = '\0';
  object->header = fresh_header(kind, free_block);
  object->text = {copy, text.size()};
  return owned_value(Ref<TextObject>::adopt(object));
}

bool is_own_text(const gantry_object& object) {
  void (*const deleter)(void*, std::int32_t) = free_block;
  return (object.kind == GANTRY_STRING || object.kind == GANTRY_BYTES) && object.deleter == deleter;
}

Result<Ref<ShapeObject>> new_shape(std::span<const std::int64_t> dims) {
  GANTRY_TRY(ShapeObject* const object, new_block<ShapeObject>(dims.size_bytes(), "shape"));
  auto* const copy = reinterpret_cast<std::int64_t*>(object + 1);
  std::copy(dims.begin(), dims.end(), copy);
  object->header = fresh_header(GANTRY_SHAPE, free_block);
  object->dims = copy;
  object->count = dims.size();
  return Ref<ShapeObject>::adopt(object);
}

Result<ObjectPtr> new_items(std::int32_t kind, std::span<const gantry_value> items) {
  if (kind != GANTRY_ARRAY && kind != GANTRY_MAP) {
    return invalid("kind of a collection is ", kind, ", kinds are 71 (array) and 72 (map)");
  }
  if (kind == GANTRY_MAP && items.size() % 2 != 0) {
    return invalid("map has ", items.size(), " items, keys and values come in pairs");
  }
  GANTRY_TRY(ArrayObject* const object, new_block<ArrayObject>(items.size_bytes(), "collection"));
  object->header = fresh_header(GANTRY_ARRAY, delete_items);
  object->items = reinterpret_cast<gantry_value*>(object + 1);
  ObjectPtr kept = ObjectPtr::adopt(&object->header);
  for (std::size_t i = 0; i < items.size(); ++i) {
    GANTRY_TRY(Value item, keep_item(items[i], i));
    object->items[i] = item.take();
    // after a failure at a later item, the deleter releases the items before it
    object->count = object->capacity = static_cast<std::int64_t>(i + 1);
  }
  if (kind == GANTRY_ARRAY) return kept;
  GANTRY_TRY(ObjectPtr map, new_map({object->items, items.size()}));
  object->count = 0;
  return map;
}

Result<std::span<const gantry_value>> items_of(gantry_object& object) {
  if (object.kind == GANTRY_MAP) return map_items(object);
  const auto& array = reinterpret_cast<const ArrayObject&>(object);
  if (array.count < 0) return malformed(0, "array has ", array.count, " items");
  return std::span<const gantry_value>(array.items, static_cast<std::size_t>(array.count));
}

Result<Ref<ErrorObject>> new_error(const gantry_error& what) {
  auto* const object = new (std::nothrow) ErrorObject{};
  if (object == nullptr) return exhausted("error: no memory for ", sizeof(ErrorObject), " bytes");
  object->header = fresh_header(GANTRY_ERROR, delete_object<ErrorObject>);
  auto made = Ref<ErrorObject>::adopt(object);
  object->kind.assign(what.kind.data, what.kind.size);
  object->message.assign(what.message.data, what.message.size);
  object->backtrace.assign(what.backtrace.data, what.backtrace.size);
  object->cause = ObjectPtr::share(what.cause);
  object->context = ObjectPtr::share(what.context);
  object->error = {{object->kind.data(), object->kind.size()},
                   {object->message.data(), object->message.size()},
                   {object->backtrace.data(), object->backtrace.size()},
                   update_backtrace,
                   what.cause,
                   what.context};
  return made;
}

Result<ObjectPtr> new_opaque(const gantry_object_type* type, void* self,
                             std::shared_ptr<const void> kept) {
  auto* const object = new (std::nothrow) OpaqueObject{};
  if (object == nullptr) return exhausted("object: no memory for ", sizeof(OpaqueObject), " bytes");
  object->header = fresh_header(GANTRY_OBJECT, delete_opaque);
  object->type = type;
  object->self = self;
  object->kept = std::move(kept);
  return ObjectPtr::adopt(&object->header);
}

Result<ObjectPtr> new_pin(std::shared_ptr<const void> what) {
  return new_opaque(nullptr, nullptr, std::move(what));
}

Result<void*> opaque_self(const gantry_object* object, const gantry_object_type* type) {
  const bool is_ours = object != nullptr && object->deleter == delete_opaque;
  const auto* opaque = is_ours ? reinterpret_cast<const OpaqueObject*>(object) : nullptr;
  if (opaque != nullptr && opaque->type == type) return opaque->self;
  const std::string found = object == nullptr         ? "NULL"
                            : opaque == nullptr       ? concat("of kind ", object->kind)
                            : opaque->type == nullptr ? std::string("a pin")
                                                      : std::string(opaque->type->name);
  return invalid("object is ", found, ", expected ", type->name).with_reason("ARGUMENT_KIND");
}

}  // namespace gantry
