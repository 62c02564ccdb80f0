// SPDX-License-Identifier: Apache-2.0
//
// gantry/object_ref.hpp - a reference to an object of the host, which the destructor releases.
#pragma once

#include <gantry/object.h>

#include <utility>

namespace gantry {

// One reference, or none. Has the size of a pointer. Copying costs one atomic addition.
class ObjectRef {
 public:
  ObjectRef() = default;
  ObjectRef(const ObjectRef& other) : object_(other.object_) {
    if (object_ != nullptr) gantry_retain(object_);
  }
  ObjectRef(ObjectRef&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  ObjectRef& operator=(ObjectRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~ObjectRef() {
    if (object_ != nullptr) gantry_release(object_);
  }

  // adopt() takes over the caller's reference, share() adds one. `object` may be NULL.
  static ObjectRef adopt(gantry_object* object) {
    ObjectRef ref;
    ref.object_ = object;
    return ref;
  }
  static ObjectRef share(gantry_object* object) {
    if (object != nullptr) gantry_retain(object);
    return adopt(object);
  }

  gantry_object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Transfers the reference to the caller.
  [[nodiscard]] gantry_object* take() { return std::exchange(object_, nullptr); }

 private:
  gantry_object* object_ = nullptr;
};

}  // namespace gantry
