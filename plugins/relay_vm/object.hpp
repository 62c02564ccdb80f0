// SPDX-License-Identifier: Apache-2.0
//
// What registers contain: tensors, storages, tuples and closures. They belong to one machine, so
// counting references is not atomic, and unused objects are kept for later ones that require as much
// memory: a program that allocates the same in every run allocates no memory after the first one. A
// program makes any number of them, of any size, so that their memory is counted and limited.
#pragma once

#include "storage.hpp"

#include <gantry/tensor.h>
#include <gantry/array_record.hpp>
#include <gantry/value.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace gantry::relay {

class Heap;

enum class ObjectKind : std::uint8_t { tensor, storage, tuple, closure };

struct Object {
  Heap* heap = nullptr;
  // of the list of unused objects
  Object* next = nullptr;
  std::uint32_t references = 0;
  ObjectKind kind = ObjectKind::tensor;
};

// A counted reference, or none.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) ++object_->references;
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <class U>
  Ref(Ref<U> other) : object_(other.take()) {}  // NOLINT: implicit, as pointers convert
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref();

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};
using AnyRef = Ref<Object>;

struct StorageObject : Object {
  explicit StorageObject(std::pmr::memory_resource*) {}

  TakenBlock block;
};

struct TensorObject : Object {
  explicit TensorObject(std::pmr::memory_resource* memory) : extents(memory) {
    extents.reserve(max_array_dimensions);
  }

  // Dense; `shape` refers to `extents`, or to the shape of `owner`.
  gantry_tensor view{};
  std::pmr::vector<std::int64_t> extents;
  // One of them has the memory.
  Ref<StorageObject> storage;
  Value owner;
  // A constant or a part of one, which other machines use: no caller may write it.
  bool is_constant = false;
  // 1 + the parameter of the run of which it is the value; 0: none.
  std::uint32_t input = 0;
  // In the result of the current run.
  Ref<TensorObject> copy;
  // The same elements in host memory, of constants on other devices; else NULL.
  const std::uint8_t* host_data = nullptr;
};

// Fields of a tuple or algebraic data type, or what a closure captures.
struct TupleObject : Object {
  explicit TupleObject(std::pmr::memory_resource* memory) : fields(memory) {}

  // tuple: tag of the constructor, 0 for tuples; closure: index of the function
  std::int64_t tag = 0;
  std::pmr::vector<AnyRef> fields;
};

// Precondition of destruction: there are no references.
class Heap {
 public:
  // memory   [in]   borrowed for the lifetime of this object; what it throws, so do all functions but recycle()
  explicit Heap(std::pmr::memory_resource* memory)
      : memory_(memory), tensors_(&memory_), storages_(&memory_), tuples_(&memory_) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  Ref<TensorObject> tensor() { return Ref(make(tensors_, unused_tensors_)); }
  Ref<StorageObject> storage(TakenBlock block) {
    Ref made(make(storages_, unused_storages_));
    made->kind = ObjectKind::storage;
    made->block = std::move(block);
    return made;
  }
  // count    [in]   number of fields that the caller adds
  Ref<TupleObject> tuple(ObjectKind kind, std::int64_t tag, std::size_t count) {
    Ref made(make(tuples_, unused_tuples_of(count)));
    made->kind = kind;
    made->fields.reserve(std::bit_ceil(count));
    made->tag = tag;
    return made;
  }

  // Empties an object without references. Objects to which only it refers follow, one after another:
  // nesting takes no stack.
  void recycle(Object* object) noexcept;

 private:
  template <class T>
  T* make(std::pmr::forward_list<T>& all, Object*& unused) {
    if (unused != nullptr) return static_cast<T*>(std::exchange(unused, unused->next));
    T& made = all.emplace_front(&memory_);
    made.heap = this;
    return &made;
  }
  static void keep(Object*& unused, Object& object) {
    object.next = std::exchange(unused, &object);
  }
  void empty(Object& object) noexcept;

  // Those with room for this number of fields, rounded up to a power of two.
  Object*& unused_tuples_of(std::size_t count) {
    return unused_tuples_[static_cast<std::size_t>(std::bit_width(std::bit_ceil(count)))];
  }

  // Objects are kept, so nothing is freed before all are. Not a pool: that of libstdc++ loses its
  // chunk if memory_resource::allocate() throws at a limit.
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::forward_list<TensorObject> tensors_;
  std::pmr::forward_list<StorageObject> storages_;
  std::pmr::forward_list<TupleObject> tuples_;
  Object* unused_tensors_ = nullptr;
  Object* unused_storages_ = nullptr;
  std::array<Object*, 8 * sizeof(std::size_t) + 1> unused_tuples_{};
  // Objects that wait to be emptied.
  Object* waiting_ = nullptr;
  bool is_emptying_ = false;
};

template <class T>
Ref<T>::~Ref() {
  if (object_ != nullptr && --object_->references == 0) object_->heap->recycle(object_);
}

}  // namespace gantry::relay
