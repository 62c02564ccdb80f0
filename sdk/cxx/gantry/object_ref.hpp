// SPDX-License-Identifier: Apache-2.0
//
// gantry/object_ref.hpp - a reference to an object of the host, which the destructor releases.
#pragma once

#include <gantry/object.h>

#include <utility>

namespace gantry {

// How the last owner of a reference releases it. Bindings of languages with a lock have a form of their
// own, which other threads do not wait for.
struct ReleaseAtOnce {
  static void release(gantry_object* object) noexcept { gantry_release(object); }
};

// One reference, or none. Has the size of a pointer. Copying costs one atomic addition.
//
// Release  has a static function release(gantry_object*) noexcept
template <class Release>
class BasicObjectRef {
 public:
  BasicObjectRef() = default;
  BasicObjectRef(const BasicObjectRef& other) : object_(other.object_) {
    if (object_ != nullptr) gantry_retain(object_);
  }
  BasicObjectRef(BasicObjectRef&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  BasicObjectRef& operator=(BasicObjectRef other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~BasicObjectRef() {
    if (object_ != nullptr) Release::release(object_);
  }

  // adopt() takes over the caller's reference, share() adds one. `object` may be NULL.
  static BasicObjectRef adopt(gantry_object* object) {
    BasicObjectRef ref;
    ref.object_ = object;
    return ref;
  }
  static BasicObjectRef share(gantry_object* object) {
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
using ObjectRef = BasicObjectRef<ReleaseAtOnce>;

}  // namespace gantry
