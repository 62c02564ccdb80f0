// SPDX-License-Identifier: Apache-2.0
//
// Reference-counted objects that the host creates: texts, shapes, arrays, maps, errors and opaque
// objects here, tensors in tensor.hpp, functions and modules in core/engine/module. Each begins with
// gantry_object (tvm-ffi's 24-byte header), which the content follows. The deleter frees the object
// and everything that it owns.
#pragma once

#include <gantry/host.h>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <atomic>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {

// One strong reference, and the weak one that all strong references share.
constexpr std::uint64_t kFreshCounts = std::uint64_t{1} << 32 | 1;

// Adds a strong reference and returns true, unless there is none left. Precondition: the caller
// holds a weak or strong reference.
inline bool retain_if_alive(gantry_object& object) {
  const std::atomic_ref counts(object.counts);
  std::uint64_t seen = counts.load(std::memory_order_relaxed);
  while ((seen & UINT32_MAX) != 0) {
    if (counts.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

constexpr std::uint64_t kOneWeak = std::uint64_t{1} << 32;

// Releases a weak reference. If it returns true, the caller must free the memory.
inline bool release_weak(gantry_object& object) {
  return std::atomic_ref(object.counts).fetch_sub(kOneWeak, std::memory_order_acq_rel) >> 32 == 1;
}

// One reference to a T, whose first member is `gantry_object header` (T may be gantry_object
// itself).
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) gantry_retain(base());
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) gantry_release(base());
  }

  // adopt: takes over a reference; share: adds one.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object) gantry_retain(reinterpret_cast<gantry_object*>(object));
    return adopt(object);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  gantry_object* base() const { return reinterpret_cast<gantry_object*>(object_); }

  // Passes the reference to the caller.
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

using ObjectPtr = Ref<gantry_object>;

// One weak reference: it keeps the object's memory but not its content alive.
template <class T>
class WeakRef {
 public:
  WeakRef() = default;
  explicit WeakRef(const Ref<T>& of) : object_(of.base()) {
    if (object_ != nullptr)
      std::atomic_ref(object_->counts).fetch_add(kOneWeak, std::memory_order_relaxed);
  }
  WeakRef(WeakRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  WeakRef& operator=(WeakRef&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~WeakRef() {
    if (object_ != nullptr && release_weak(*object_))
      object_->deleter(object_, GANTRY_DELETE_MEMORY);
  }

  // Returns a strong reference, or an empty one if there are no strong references left.
  Ref<T> lock() const {
    if (object_ == nullptr || !retain_if_alive(*object_)) return {};
    return Ref<T>::adopt(reinterpret_cast<T*>(object_));
  }
  bool expired() const {
    return object_ == nullptr || (std::atomic_ref(object_->counts).load() & UINT32_MAX) == 0;
  }

 private:
  gantry_object* object_ = nullptr;
};

inline bool holds_object(const gantry_value& value) { return value.kind >= GANTRY_OBJECT; }

// True for the kinds that results and items may have: those that own their content or have nothing
// to own. False for borrowed kinds, and for kinds below GANTRY_OBJECT that are unknown to this
// version.
constexpr bool is_owned_kind(std::int32_t kind) {
  constexpr std::uint64_t plain = 1u << GANTRY_NONE | 1u << GANTRY_INT | 1u << GANTRY_BOOL |
                                  1u << GANTRY_FLOAT | 1u << GANTRY_POINTER | 1u << GANTRY_DTYPE |
                                  1u << GANTRY_DEVICE | 1u << GANTRY_SMALL_STRING |
                                  1u << GANTRY_SMALL_BYTES;
  return kind >= GANTRY_OBJECT || (kind >= 0 && (plain >> kind & 1) != 0);
}

// True for a value that a callee may return.
inline bool is_result(const gantry_value& value) {
  return is_owned_kind(value.kind) && (value.kind < GANTRY_OBJECT || value.object != nullptr);
}

inline gantry_value value_of(gantry_object* object) {
  gantry_value value{};
  value.kind = object->kind;
  value.object = object;
  return value;
}

// Returns a value that owns the reference.
template <class T>
Value owned_value(Ref<T> ref) {
  gantry_object* const object = ref.base();
  ref.take();
  return Value::adopt(value_of(object));
}

// Transfers a new object to a caller of the C API. Leaves *out unchanged if `made` is an error.
template <class T>
Status give(Result<Ref<T>> made, gantry_object** out) {
  if (!made.ok()) return std::move(made).failure();
  *out = reinterpret_cast<gantry_object*>(made->take());
  return {};
}
template <class T>
Status give(Result<Ref<T>> made, gantry_value* out) {
  if (!made.ok()) return std::move(made).failure();
  *out = owned_value(std::move(*made)).take();
  return {};
}

// GANTRY_STRING, GANTRY_BYTES
struct TextObject {
  gantry_object header;
  // points into this allocation; followed by a NUL, for debuggers
  gantry_bytes text;
};
// GANTRY_SHAPE
struct ShapeObject {
  gantry_object header;
  const std::int64_t* dims;
  std::uint64_t count;
};
// GANTRY_ARRAY and tvm-ffi's List, with tvm-ffi's cell of sequences
struct ArrayObject {
  gantry_object header;
  // each item owns one reference
  gantry_value* items;
  std::int64_t count;
  std::int64_t capacity;
  // NULL: the items are in the allocation of the object
  void (*delete_items)(void* items);
};

// GANTRY_ERROR. The texts and references in `error` point to the members that follow it.
struct ErrorObject {
  gantry_object header;
  gantry_error error;
  std::string kind, message, backtrace;
  ObjectPtr cause, context;
};
// GANTRY_OBJECT: a pin, or an object of a plugin.
struct OpaqueObject {
  gantry_object header;
  // NULL for a pin
  const gantry_object_type* type = nullptr;
  void* self = nullptr;
  std::shared_ptr<const void> kept;
};

// Copies a text to a canonical value: a small one if the text fits, else an object.
//
// kind     [in]   GANTRY_STRING or GANTRY_BYTES
// returns  invalid for another kind; exhausted
Result<Value> new_text(std::int32_t kind, std::string_view text);
// True for a text that new_text() created.
bool is_own_text(const gantry_object& object);
Result<Ref<ShapeObject>> new_shape(std::span<const std::int64_t> dims);
// kind     [in]   GANTRY_ARRAY, or GANTRY_MAP with an even count
// items    [in]   objects are retained, borrowed texts are copied
// returns  invalid for a borrowed tensor, whose lifetime is unknown, and for a value that is not
//          canonical; exhausted
Result<ObjectPtr> new_items(std::int32_t kind, std::span<const gantry_value> items);
// Returns the items of an array, or the keys and values of a map (key, value, key, value).
//
// object   [in]   of kind GANTRY_ARRAY or GANTRY_MAP
// returns  as map_items() of map.hpp; malformed: an array with a negative count
// lifetime as long as the object, and nobody changes it
Result<std::span<const gantry_value>> items_of(gantry_object& object);
// what     [in]   texts are copied; cause and context are retained
Result<Ref<ErrorObject>> new_error(const gantry_error& what);
// type     [in]   static for the life of the process
// self     [in]   owned by the object on success, by the caller on failure
// kept     [in]   kept alive with the object: the library that contains type->destroy
Result<ObjectPtr> new_opaque(const gantry_object_type* type, void* self,
                             std::shared_ptr<const void> kept);
// returns  invalid if the object is not opaque or has another type
Result<void*> opaque_self(const gantry_object* object, const gantry_object_type* type);

// Creates an object of kind GANTRY_OBJECT that keeps `what`, for example a mapped file or a
// library, alive until its last release.
Result<ObjectPtr> new_pin(std::shared_ptr<const void> what);

// The header of a new object, for components that create other kinds of objects.
inline gantry_object fresh_header(std::int32_t kind, void (*deleter)(void*, std::int32_t)) {
  return {kFreshCounts, kind, 0, deleter};
}

// Whether a text has bytes at its address, and no more than a memory can have.
inline bool is_text(const gantry_bytes& text) {
  return (text.data != nullptr || text.size == 0) && text.size <= PTRDIFF_MAX;
}

// The deleter of an object that may own others: however deep they are nested, releasing them takes little stack.
//
// destroy  [in]   destroys the content, frees the memory, or both; is called later if many objects are being deleted
void delete_nested(void* self, std::int32_t flags,
                   void (*destroy)(void* self, std::int32_t flags)) noexcept;

// Destroys a T created by new: its members with the last strong reference; frees its memory with the last weak one.
template <class T>
void destroy_object(void* self, std::int32_t flags) {
  auto* object = static_cast<T*>(self);
  if ((flags & GANTRY_DELETE_CONTENT) != 0) object->~T();
  if ((flags & GANTRY_DELETE_MEMORY) != 0) ::operator delete(object, sizeof(T));
}

// The deleter of a T created by new.
template <class T>
void delete_object(void* self, std::int32_t flags) {
  delete_nested(self, flags, destroy_object<T>);
}

}  // namespace gantry
