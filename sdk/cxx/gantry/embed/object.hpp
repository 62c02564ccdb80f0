// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/object.hpp - the handle of an object.
#pragma once

#include <gantry/object_ref.hpp>

#include <utility>

namespace gantry {
inline namespace embed_api {

// One reference to an object, or none. Copying a handle adds a reference.
class Object {
 public:
  Object() = default;
  explicit Object(ObjectRef object) : object_(std::move(object)) {}

  explicit operator bool() const { return static_cast<bool>(object_); }
  // NULL if the handle is empty.
  gantry_object* get() const { return object_.get(); }
  const ObjectRef& ref() const { return object_; }

 private:
  ObjectRef object_;
};

}  // namespace embed_api
}  // namespace gantry
