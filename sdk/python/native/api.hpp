// SPDX-License-Identifier: Apache-2.0
//
// The C API for embedders, and owners of what it returns.
#pragma once

#include <gantry/embed.h>

#include <nanobind/nanobind.h>

#include <string_view>
#include <utility>

namespace gantry::python {

inline const gantry_embed& embed() {
  static const gantry_embed& table = *gantry_embed_query_v1();
  return table;
}

inline gantry_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view view_of(gantry_bytes bytes) { return {bytes.data, bytes.size}; }

// Releases a reference. The last one may end a runtime, whose threads may wait for the interpreter
// to write their log, so other threads of Python run meanwhile.
//
// object   [in]   may be NULL
// thread   holds the GIL
void release(gantry_object* object) noexcept;

// Owns one reference to an object, or none.
//
// thread   is destroyed with the GIL held
class OwnedObject {
 public:
  OwnedObject() = default;
  static OwnedObject adopt(gantry_object* object) { return OwnedObject(object); }
  static OwnedObject share(gantry_object* object) {
    gantry_retain(object);
    return OwnedObject(object);
  }
  OwnedObject(OwnedObject&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  OwnedObject& operator=(OwnedObject&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~OwnedObject() { release(object_); }

  gantry_object* get() const { return object_; }

 private:
  explicit OwnedObject(gantry_object* object) : object_(object) {}
  gantry_object* object_ = nullptr;
};

// Owns a value.
//
// thread   is destroyed with the GIL held
class OwnedValue {
 public:
  OwnedValue() = default;
  static OwnedValue adopt(const gantry_value& value) {
    OwnedValue made;
    made.value_ = value;
    return made;
  }
  static OwnedValue share(const gantry_value& value) {
    if (value.kind >= GANTRY_OBJECT) gantry_retain(value.object);
    return adopt(value);
  }
  OwnedValue(OwnedValue&& other) noexcept : value_(std::exchange(other.value_, gantry_value{})) {}
  OwnedValue& operator=(OwnedValue&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~OwnedValue() {
    if (value_.kind >= GANTRY_OBJECT) release(value_.object);
  }

  const gantry_value& get() const { return value_; }
  // Returns the value, which the caller owns from now on.
  gantry_value take() { return std::exchange(value_, gantry_value{}); }
  // For functions that return a value.
  gantry_value* out() { return &value_; }

 private:
  gantry_value value_{};
};

// A runtime and its functions for values, tensors and devices.
struct RuntimeHandle {
  OwnedObject runtime;
  const gantry_host* host;
};

// A reference to the object of Python that has a runtime. Every object of Python that keeps an object
// of the runtime has one, so the cyclic garbage collector finds all users of the runtime.
//
// thread   is copied and destroyed with the GIL held
class RuntimeRef {
 public:
  // handle   [in]   of the owner
  RuntimeRef(nanobind::object owner, const RuntimeHandle* handle)
      : owner_(std::move(owner)), handle_(handle) {}

  const RuntimeHandle* operator->() const { return handle_; }
  PyObject* owner() const { return owner_.ptr(); }

 private:
  nanobind::object owner_;
  const RuntimeHandle* handle_;
};

}  // namespace gantry::python
