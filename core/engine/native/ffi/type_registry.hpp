// SPDX-License-Identifier: Apache-2.0
//
// What libraries with tvm-ffi's C++ headers register in one runtime: object types with fields, methods
// and attributes. Their global functions are in GlobalFunctions.
//
//     TypeInfo of an index, at a stable address   found without a lock
//     everything else                             under one lock, in time linear in what is registered
//
// Libraries read the fields of a TypeInfo and the columns without a lock. What a count, a pointer or the
// kind of a value publishes is complete before it; a reader on another thread that reads a pointer first
// and its count during a registration may find a count that is too large for it, as in tvm-ffi.
//
// source   apache/tvm-ffi include/tvm/ffi/c_api.h, whose structs the records are
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/bytes.h>
#include <gantry/value.h>
#include <gantry/result.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gantry::ffi {

struct FieldInfo {
  gantry_bytes name, doc, metadata;
  std::int64_t flags, size, alignment, offset;
  int (*get)(void* field, gantry_value* result);
  // a function of C, or with kSetterIsFunction an object
  void* set;
  gantry_value default_value;
  std::int32_t static_type;
};
constexpr std::int64_t kHasDefault = 1 << 1, kSetterIsFunction = 1 << 11;

struct MethodInfo {
  gantry_bytes name, doc, metadata;
  std::int64_t flags;
  gantry_value method;
};

struct TypeMetadata {
  gantry_bytes doc;
  int (*create)(void** result);
  std::int32_t total_size;
  std::int32_t equality;
};

struct TypeInfo {
  std::int32_t index, depth;
  gantry_bytes key;
  // the root first
  const TypeInfo** ancestors;
  std::uint64_t key_hash;
  std::int32_t field_count, method_count;
  const FieldInfo* fields;
  const MethodInfo* methods;
  const TypeMetadata* metadata;
};

// Values by type index.
struct AttributeColumn {
  const gantry_value* data;
  std::int32_t size, begin;
};

// What a library states about a type when it first names it.
struct TypeRequest {
  std::string_view key;
  // negative: any
  std::int32_t index;
  std::int32_t depth;
  // numbers after its own that its children take
  std::int32_t child_slots;
  bool may_overflow;
  // negative: none
  std::int32_t parent;
};

// Items in one block, at an address that changes when it grows. Earlier blocks stay, for readers on
// other threads; together they are smaller than the last one.
template <class T>
class GrowingArray {
 public:
  const T* data() const { return blocks_.empty() ? nullptr : blocks_.back().get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return blocks_.back()[i]; }
  // Adds items until there are `size`; new ones are zero.
  void grow(std::size_t size) {
    reserve(size);
    size_ = std::max(size_, size);
  }
  // Allocates memory, so that grow(size) does not fail.
  void reserve(std::size_t size) {
    if (size <= capacity_) return;
    const std::size_t capacity = std::max<std::size_t>({size, 2 * capacity_, 4});
    auto block = std::make_unique<T[]>(capacity);
    std::copy_n(data(), size_, block.get());
    blocks_.push_back(std::move(block));
    capacity_ = capacity;
  }

 private:
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0, capacity_ = 0;
};

class TypeRegistry {
 public:
  // With the static types of tvm-ffi.
  TypeRegistry();
  TypeRegistry(const TypeRegistry&) = delete;
  TypeRegistry& operator=(const TypeRegistry&) = delete;

  // The registry of the process, if it has exactly one: for calls on threads that no call of gantry
  // has entered. NULL: it has none or several.
  static std::shared_ptr<TypeRegistry> only();
  // Creates one that only() finds.
  static std::shared_ptr<TypeRegistry> create();

  // Returns the index of a type, which is created at the first call.
  //
  // returns  invalid  another type has the index, or it is one of those that are assigned, the parent does not exist, the depth is not the
  //                   parent's plus one, no index is left, or the parent's slots are used up and do
  //                   not overflow
  Result<std::int32_t> type(const TypeRequest& request);
  // Returns -2 for an unknown key.
  std::int32_t find(std::string_view key) const;
  // Returns NULL for an unknown index.
  //
  // thread   any; lock-free
  const TypeInfo* info(std::int32_t index) const;

  // Each copies the record, its texts and values.
  //
  // returns  invalid  no such type; a field of the name, or metadata, exists already
  Status add_field(std::int32_t index, const FieldInfo& field);
  Status add_method(std::int32_t index, const MethodInfo& method);
  Status set_metadata(std::int32_t index, const TypeMetadata& metadata);

  // index    0: only creates the column
  // returns  invalid  no such type, or it has the attribute
  Status set_attribute(std::int32_t index, std::string_view name, const gantry_value& value);
  // Returns NULL if no attribute of the name was set. The address is stable, `data` changes.
  //
  // throws   std::bad_alloc
  const AttributeColumn* column(std::string_view name) const;

  // The variable `name` of libraries that are loaded from now on has the value.
  void set_context_symbol(std::string_view name, void* value);
  std::map<std::string, void*> context_symbols() const;

  // Records that code of a library is referred to.
  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t references() const { return references_.load(std::memory_order_relaxed); }

  // Copies that were made, of texts and records: what registration costs.
  std::uint64_t work() const { return work_; }

  // A function of tvm-ffi's frontends, of struct DLTensor. NULL: the runtime's own memory.
  std::atomic<void*> tensor_allocator{nullptr};

 private:
  struct Type {
    TypeInfo info{};
    std::string key;
    std::vector<const TypeInfo*> ancestors;
    GrowingArray<FieldInfo> fields;
    GrowingArray<MethodInfo> methods;
    std::unordered_set<std::string_view> field_names;
    TypeMetadata metadata{};
    // of its own and its children's
    std::int32_t slots = 1, used_slots = 1;
    bool may_overflow = true;
  };
  struct Column {
    AttributeColumn column{};
    GrowingArray<gantry_value> values;
  };
  static constexpr std::int32_t kChunk = 1024, kChunks = 1 << 14;
  using Chunk = std::array<std::atomic<Type*>, kChunk>;

  Result<std::int32_t> create_type(const TypeRequest& request);
  Type* at(std::int32_t index) const;
  Result<Type*> existing(std::int32_t index) const;
  Status place(std::int32_t index, std::unique_ptr<Type> type);
  gantry_bytes copied(const gantry_bytes& text);
  Result<gantry_value> kept(const gantry_value& value);

  mutable std::mutex mutex_;
  // Owns the chunks, also of a registry whose constructor fails.
  struct Chunks {
    Chunks() = default;
    Chunks(const Chunks&) = delete;
    Chunks& operator=(const Chunks&) = delete;
    ~Chunks() {
      for (auto& chunk : all) delete chunk.load();
    }
    std::array<std::atomic<Chunk*>, kChunks> all{};
  };
  std::unique_ptr<Chunks> chunks_;
  std::unordered_map<std::string_view, std::unique_ptr<Type>> types_;
  std::unordered_map<std::string, std::unique_ptr<Column>> columns_;
  std::map<std::string, void*> context_symbols_;
  std::deque<std::string> texts_;
  // what the records and attributes refer to
  std::deque<Value> values_;
  std::int32_t next_;
  std::uint64_t work_ = 0;
  std::atomic<std::uint64_t> references_{0};
};

}  // namespace gantry::ffi
