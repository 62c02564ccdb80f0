// SPDX-License-Identifier: Apache-2.0
//
// Reference-counted objects that the host makes: texts, shapes, arrays and maps here, tensors in tensor.hpp,
// functions and modules in core/module. Every one begins with gantry_object (tvm-ffi's 24-byte header).
//
//     gantry_object | cell             what the deleter frees: itself and everything it owns
#pragma once

#include <gantry/value.h>
#include <gantry/result.hpp>

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace gantry {

// counts: strong references in the low half, weak ones (always 1 here, ours) in the high half.
constexpr std::uint64_t kFreshCounts = (std::uint64_t{1} << 32) | 1;
// deleter flags: strong and weak count reached zero
constexpr std::int32_t kDeleteBoth = 3;

inline void retain(gantry_object* object) {
  std::atomic_ref(object->counts).fetch_add(1, std::memory_order_relaxed);
}

// The last release runs the deleter, on this thread.
inline void release(gantry_object* object) {
  const auto before = std::atomic_ref(object->counts).fetch_sub(1, std::memory_order_acq_rel);
  if ((before & UINT32_MAX) == 1) object->deleter(object, kDeleteBoth);
}

// One reference to a T, whose first member is `gantry_object header` (T may be gantry_object itself).
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) retain(base());
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) release(base());
  }

  // adopt: takes over a reference; share: adds one.
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object) retain(reinterpret_cast<gantry_object*>(object));
    return adopt(object);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  gantry_object* base() const { return reinterpret_cast<gantry_object*>(object_); }

  // Gives the reference away.
  T* take() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

using ObjectPtr = Ref<gantry_object>;

inline bool holds_object(const gantry_value& value) { return value.kind >= GANTRY_OBJECT; }

// Whether a value of this kind owns what it holds, or holds nothing to own: a result, an item. Borrowed kinds do not.
constexpr bool is_owned_kind(std::int32_t kind) {
  switch (kind) {
    case GANTRY_NONE:
    case GANTRY_INT:
    case GANTRY_BOOL:
    case GANTRY_FLOAT:
    case GANTRY_POINTER:
    case GANTRY_DTYPE:
    case GANTRY_DEVICE:
    case GANTRY_SMALL_STRING:
    case GANTRY_SMALL_BYTES:
    case GANTRY_OBJECT:
    case GANTRY_STRING:
    case GANTRY_BYTES:
    case GANTRY_FUNCTION:
    case GANTRY_SHAPE:
    case GANTRY_TENSOR:
    case GANTRY_ARRAY:
    case GANTRY_MAP:
    case GANTRY_MODULE:
      return true;
    default:
      return false;
  }
}

inline gantry_value value_of(gantry_object* object) {
  gantry_value value{};
  value.kind = object->kind;
  value.object = object;
  return value;
}

// A value that owns its object, if it holds one.
class OwnedValue {
 public:
  OwnedValue() = default;
  // Takes over the reference that `value` holds.
  static OwnedValue adopt(const gantry_value& value) {
    OwnedValue owned;
    owned.value_ = value;
    return owned;
  }
  template <class T>
  explicit OwnedValue(Ref<T> ref) : value_(value_of(ref.base())) {
    ref.take();
  }
  OwnedValue(const OwnedValue& other) : value_(other.value_) {
    if (holds_object(value_)) retain(value_.object);
  }
  OwnedValue(OwnedValue&& other) noexcept : value_(std::exchange(other.value_, gantry_value{})) {}
  OwnedValue& operator=(OwnedValue other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~OwnedValue() {
    if (holds_object(value_)) release(value_.object);
  }

  const gantry_value& get() const { return value_; }
  gantry_value take() { return std::exchange(value_, gantry_value{}); }
  // For a call's result: the slot, none at the time.
  gantry_value* slot() { return &value_; }

 private:
  gantry_value value_{};
};

// GANTRY_STRING, GANTRY_BYTES
struct TextObject {
  gantry_object header;
  // into this allocation, NUL behind it for debuggers
  gantry_bytes text;
};
// GANTRY_SHAPE
struct ShapeObject {
  gantry_object header;
  const std::int64_t* dims;
  std::uint64_t count;
};
// GANTRY_ARRAY; GANTRY_MAP: key, value, key, value, in the order given
struct ItemsObject {
  gantry_object header;
  // one reference each, into this allocation
  gantry_value* items;
  std::uint64_t count;
};

// kind     GANTRY_STRING or GANTRY_BYTES, else invalid
// returns  a copy of the text; exhausted when memory is
Result<Ref<TextObject>> new_text(std::int32_t kind, std::string_view text);
Result<Ref<ShapeObject>> new_shape(std::span<const std::int64_t> dims);
// kind     GANTRY_ARRAY, or GANTRY_MAP with an even count
// items    each kept: objects are retained; borrowed forms (C string, bytes, tensor by reference) are refused as
//          invalid, because nothing says how long they live - but texts, which are copied into text objects
Result<Ref<ItemsObject>> new_items(std::int32_t kind, std::span<const gantry_value> items);

// An object of kind GANTRY_OBJECT that keeps `what` alive (a mapped file, a library) until its last release.
Result<ObjectPtr> new_pin(std::shared_ptr<const void> what);

// Lays a fresh header. For components that make further kinds of objects.
inline gantry_object fresh_header(std::int32_t kind, void (*deleter)(void*, std::int32_t)) {
  return {kFreshCounts, kind, 0, deleter};
}

}  // namespace gantry
