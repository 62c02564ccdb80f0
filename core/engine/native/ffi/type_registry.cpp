// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/type_registry.hpp"

#include "core/engine/tensor/big_int.hpp"

#include "core/engine/native/ffi/bytes_text.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace gantry::ffi {
namespace {

constexpr std::int32_t kFirstDynamic = 128;

struct StaticType {
  std::int32_t index;
  std::string_view key;
};
constexpr StaticType static_types[] = {
    {0, "None"},
    {1, "int"},
    {2, "bool"},
    {3, "float"},
    {4, "void*"},
    {5, "DataType"},
    {6, "Device"},
    {7, "DLTensor*"},
    {8, "const char*"},
    {9, "TVMFFIByteArray*"},
    {10, "ObjectRValueRef"},
    {11, "ffi.SmallStr"},
    {12, "ffi.SmallBytes"},
    {13, "ffi.Unchanged"},
    {64, "ffi.Object"},
    {65, "ffi.String"},
    {66, "ffi.Bytes"},
    {67, "ffi.Error"},
    {68, "ffi.Function"},
    {69, "ffi.Shape"},
    {70, "ffi.Tensor"},
    {71, "ffi.Array"},
    {72, "ffi.Map"},
    {73, "ffi.Module"},
    {74, "ffi.OpaquePyObject"},
    {75, "ffi.List"},
    {76, "ffi.Dict"},
    {77, "ffi.VisitInterrupt"},
    {78, "ffi.BigInt"},
};

// Libraries find numbers as keys of maps by their words. The form of both functions is that of the headers of
// 0.1.15, the first with such numbers.
gantry_value hash_of_big_int(const gantry_value* key) noexcept {
  return int_value(static_cast<std::int64_t>(hash_of_words(words_of(*key))));
}
gantry_value equal_big_ints(const gantry_value* a, const gantry_value* b) noexcept {
  return bool_value(std::ranges::equal(words_of(*a), words_of(*b)));
}

template <class Function>
gantry_value address_value(Function* function) {
  gantry_value value{};
  value.kind = GANTRY_POINTER;
  value.p = reinterpret_cast<void*>(function);
  return value;
}

struct StaticAttribute {
  std::int32_t index;
  std::string_view name;
  gantry_value value;
};

struct Registries {
  std::mutex mutex;
  std::vector<std::weak_ptr<TypeRegistry>> all;
};
Registries& registries() {
  // Never destroyed: threads of libraries may outlive the destructors of the program.
  static auto& known = *new Registries;
  return known;
}

// Writes what a library reads without a lock, after all that it refers to.
template <class T>
void publish(T& place, T value) {
  std::atomic_ref<T>(place).store(value, std::memory_order_release);
}

}  // namespace

TypeRegistry::TypeRegistry() : chunks_(std::make_unique<Chunks>()), next_(kFirstDynamic) {
  for (const StaticType& each : static_types) {
    const bool is_child = each.index > GANTRY_OBJECT;
    // Places and depths are right by construction.
    (void)create_type({each.key, each.index, is_child ? 1 : 0, 0, true,
                       is_child ? std::int32_t{GANTRY_OBJECT} : -1});
  }
  const StaticAttribute attributes[] = {
      {kBigInt, "__any_hash__", address_value(hash_of_big_int)},
      {kBigInt, "__any_equal__", address_value(equal_big_ints)},
      {kBigInt, "__ffi_type_final__", bool_value(true)},
      {GANTRY_MODULE, "__ffi_type_final__", bool_value(true)},
  };
  for (const StaticAttribute& each : attributes)
    (void)set_attribute(each.index, each.name, each.value);
  work_ = 0;
}

std::shared_ptr<TypeRegistry> TypeRegistry::create() {
  auto made = std::make_shared<TypeRegistry>();
  Registries& known = registries();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.all, [](const auto& each) { return each.expired(); });
  known.all.push_back(made);
  return made;
}

std::shared_ptr<TypeRegistry> TypeRegistry::only() {
  Registries& known = registries();
  const std::lock_guard lock(known.mutex);
  std::shared_ptr<TypeRegistry> found;
  for (const auto& each : known.all) {
    std::shared_ptr<TypeRegistry> registry = each.lock();
    if (registry == nullptr) continue;
    if (found != nullptr) return nullptr;
    found = std::move(registry);
  }
  return found;
}

TypeRegistry::Type* TypeRegistry::at(std::int32_t index) const {
  if (index < 0 || index >= kChunk * kChunks) return nullptr;
  const auto i = static_cast<std::size_t>(index);
  const Chunk* const chunk = chunks_->all[i / kChunk].load(std::memory_order_acquire);
  return chunk != nullptr ? (*chunk)[i % kChunk].load(std::memory_order_acquire) : nullptr;
}

const TypeInfo* TypeRegistry::info(std::int32_t index) const {
  const Type* const type = at(index);
  return type != nullptr ? &type->info : nullptr;
}

Result<TypeRegistry::Type*> TypeRegistry::existing(std::int32_t index) const {
  Type* const type = at(index);
  if (type == nullptr) return invalid("type index ", index, " is not registered");
  return type;
}

std::int32_t TypeRegistry::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(key);
  return found != types_.end() ? found->second->info.index : -2;
}

Result<std::int32_t> TypeRegistry::type(const TypeRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto found = types_.find(request.key);
  if (found == types_.end()) return create_type(request);
  const std::int32_t index = found->second->info.index;
  if (request.index >= 0 && request.index != index) {
    return invalid("type ", quoted(request.key), " has index ", index, ", expected ",
                   request.index);
  }
  return index;
}

Result<std::int32_t> TypeRegistry::create_type(const TypeRequest& request) {
  Type* parent = nullptr;
  if (request.parent >= 0) {
    GANTRY_TRY(parent, existing(request.parent));
  }
  const std::int32_t depth = parent != nullptr ? parent->info.depth + 1 : 0;
  if (request.depth != depth) {
    return invalid("type ", quoted(request.key), " has depth ", request.depth, ", expected ",
                   depth);
  }
  if (request.child_slots < 0 || request.child_slots >= kChunk * kChunks) {
    return invalid("type ", quoted(request.key), " reserves ", request.child_slots,
                   " numbers for its children, maximum is ", kChunk * kChunks - 1);
  }
  // A type that is created later gets the first number that is free.
  if (request.index >= kFirstDynamic || request.child_slots >= kFirstDynamic - request.index) {
    if (request.index >= 0) {
      return invalid("type ", quoted(request.key), " states index ", request.index, " and ",
                     request.child_slots,
                     " more for its children, the maximum of stated indices is ",
                     kFirstDynamic - 1);
    }
  }
  auto type = std::make_unique<Type>();
  type->slots = request.child_slots + 1;
  type->may_overflow = request.may_overflow;
  std::int32_t index = request.index;
  if (index < 0 && parent != nullptr && type->slots <= parent->slots - parent->used_slots) {
    index = parent->info.index + parent->used_slots;
    parent->used_slots += type->slots;
  } else if (index < 0) {
    if (parent != nullptr && !parent->may_overflow) {
      return invalid("type ", quoted(request.key), " needs ", type->slots, " numbers, ",
                     quoted(parent->key), " has ", parent->slots - parent->used_slots,
                     " left for its children");
    }
    if (type->slots > kChunk * kChunks - next_)
      return invalid("type ", quoted(request.key), " needs ", type->slots,
                     " numbers, the runtime has ", kChunk * kChunks - next_, " left");
    index = next_;
    next_ += type->slots;
  }
  if (parent != nullptr) {
    type->ancestors = parent->ancestors;
    type->ancestors.push_back(&parent->info);
  }
  type->key = request.key;
  type->info.index = index;
  type->info.depth = depth;
  type->info.key = {type->key.data(), type->key.size()};
  type->info.key_hash = std::hash<std::string_view>()(type->key);
  type->info.ancestors = type->ancestors.data();
  work_ += type->key.size() + type->ancestors.size() + 1;
  GANTRY_CHECK(place(index, std::move(type)));
  return index;
}

Status TypeRegistry::place(std::int32_t index, std::unique_ptr<Type> type) {
  if (const Type* const taken = at(index))
    return invalid("type index ", index, " is that of ", quoted(taken->key));
  const auto i = static_cast<std::size_t>(index);
  std::atomic<Chunk*>& chunk = chunks_->all[i / kChunk];
  if (chunk.load() == nullptr) chunk.store(new Chunk{}, std::memory_order_release);
  const std::string_view key = type->key;
  Type* const placed = types_.emplace(key, std::move(type)).first->second.get();
  (*chunk.load())[i % kChunk].store(placed, std::memory_order_release);
  return {};
}

gantry_bytes TypeRegistry::copied(const gantry_bytes& text) {
  const std::string_view view = text_in(text);
  work_ += view.size() + 1;
  const std::string& copy = texts_.emplace_back(view);
  return {copy.data(), copy.size()};
}

Result<gantry_value> TypeRegistry::kept(const gantry_value& value) {
  if (!is_owned_kind(value.kind) || (holds_object(value) && value.object == nullptr)) {
    gantry_bytes bytes{};
    if (value.p == nullptr || gantry_value_bytes(&value, &bytes) == 0)
      return invalid("value has kind ", value.kind, ", which has no owner");
    GANTRY_TRY(Value text, new_text(value.kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES,
                                    text_in(bytes)));
    return values_.emplace_back(std::move(text)).get();
  }
  if (holds_object(value)) {
    gantry_retain(value.object);
    add_reference();
    values_.push_back(Value::adopt(value));
  }
  // The address of a function of C.
  if (value.kind == GANTRY_POINTER) add_reference();
  return value;
}

Status TypeRegistry::add_field(std::int32_t index, const FieldInfo& field) {
  const std::lock_guard lock(mutex_);
  GANTRY_TRY(Type* const type, existing(index));
  if (type->field_names.contains(text_in(field.name))) {
    return invalid("type ", quoted(type->key), " has field ", quoted(text_in(field.name)),
                   " already");
  }
  FieldInfo copy = field;
  copy.name = copied(field.name);
  copy.doc = copied(field.doc);
  copy.metadata = copied(field.metadata);
  copy.default_value = {};
  if ((field.flags & kHasDefault) != 0) {
    GANTRY_TRY(copy.default_value, kept(field.default_value));
  }
  if ((field.flags & kSetterIsFunction) != 0 && field.set != nullptr)
    GANTRY_CHECK(kept(value_of(static_cast<gantry_object*>(field.set))));
  add_reference();
  // What may fail comes first.
  const std::size_t last = type->fields.size();
  type->fields.reserve(last + 1);
  type->field_names.insert(text_in(copy.name));
  type->fields.grow(last + 1);
  type->fields[last] = copy;
  publish(type->info.fields, type->fields.data());
  publish(type->info.field_count, static_cast<std::int32_t>(last + 1));
  return {};
}

Status TypeRegistry::add_method(std::int32_t index, const MethodInfo& method) {
  const std::lock_guard lock(mutex_);
  GANTRY_TRY(Type* const type, existing(index));
  MethodInfo copy = method;
  copy.name = copied(method.name);
  copy.doc = copied(method.doc);
  copy.metadata = copied(method.metadata);
  GANTRY_TRY(copy.method, kept(method.method));
  add_reference();
  const std::size_t last = type->methods.size();
  type->methods.grow(last + 1);
  type->methods[last] = copy;
  publish(type->info.methods, type->methods.data());
  publish(type->info.method_count, static_cast<std::int32_t>(last + 1));
  return {};
}

Status TypeRegistry::set_metadata(std::int32_t index, const TypeMetadata& metadata) {
  const std::lock_guard lock(mutex_);
  GANTRY_TRY(Type* const type, existing(index));
  if (type->info.metadata != nullptr)
    return invalid("type ", quoted(type->key), " has metadata already");
  type->metadata = metadata;
  type->metadata.doc = copied(metadata.doc);
  publish<const TypeMetadata*>(type->info.metadata, &type->metadata);
  if (metadata.create != nullptr) add_reference();
  return {};
}

Status TypeRegistry::set_attribute(std::int32_t index, std::string_view name,
                                   const gantry_value& value) {
  const std::lock_guard lock(mutex_);
  const Type* type = nullptr;
  if (index != 0) {
    GANTRY_TRY(type, existing(index));
  }
  std::unique_ptr<Column>& column = columns_[std::string(name)];
  if (column == nullptr) column = std::make_unique<Column>();
  work_ += name.size() + 1;
  if (type == nullptr) return {};
  const auto i = static_cast<std::size_t>(index);
  const bool is_set = i < column->values.size() && column->values[i].kind != GANTRY_NONE;
  if (is_set)
    return invalid("type ", quoted(type->key), " has attribute ", quoted(name), " already");
  GANTRY_TRY(const gantry_value copy, kept(value));
  column->values.grow(i + 1);
  gantry_value& item = column->values[i];
  item.small_size = copy.small_size;
  item.i = copy.i;
  publish(item.kind, copy.kind);
  publish<const gantry_value*>(column->column.data, column->values.data());
  publish(column->column.size, static_cast<std::int32_t>(column->values.size()));
  return {};
}

const AttributeColumn* TypeRegistry::column(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = columns_.find(std::string(name));
  return found != columns_.end() && found->second != nullptr ? &found->second->column : nullptr;
}

void TypeRegistry::set_context_symbol(std::string_view name, void* value) {
  const std::lock_guard lock(mutex_);
  context_symbols_[std::string(name)] = value;
}

std::map<std::string, void*> TypeRegistry::context_symbols() const {
  const std::lock_guard lock(mutex_);
  return context_symbols_;
}

}  // namespace gantry::ffi
