// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/gantry.h>

#include <utility>

namespace gantry {

// One reference to an object of the runtime; empty by default.
class Object {
 public:
  Object() = default;
  Object(const Object& other);
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() {
    if (object_ != nullptr) drop(object_);
  }

  explicit operator bool() const { return object_ != nullptr; }
  gantry_object* get() const { return object_; }

  // Takes over one reference. For code that also uses the C ABI.
  static Object adopt(gantry_object* object);
  // Releases one reference.
  static void drop(gantry_object* object);

 protected:
  gantry_object* object_ = nullptr;
};

}  // namespace gantry
