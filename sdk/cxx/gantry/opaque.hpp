// SPDX-License-Identifier: Apache-2.0
//
// gantry/opaque.hpp - objects of a plugin's own classes, which the host passes on unread.
//
//     struct Cache {
//       static constexpr const char* type_name = "acme.Cache";
//       ...
//     };
//
//     GANTRY_TRY(Value object, new_opaque(host, std::make_unique<Cache>()));
//     GANTRY_TRY(Cache* const cache, opaque_of<Cache>(host, object.object()));
#pragma once

#include <gantry/handle.hpp>
#include <gantry/result.hpp>

#include <memory>

namespace gantry {

namespace detail {
template <class T>
inline const gantry_object_type opaque_type{sizeof(gantry_object_type), 0, T::type_name,
                                            [](void* self) { delete static_cast<T*>(self); }};
}  // namespace detail

// Creates an object that owns `self`, which is destroyed with the last reference.
template <class T>
Result<Value> new_opaque(const Host& host, std::unique_ptr<T> self) {
  GANTRY_TRY(Value object, host.object_new(detail::opaque_type<T>, self.get()));
  static_cast<void>(self.release());
  return object;
}

// lifetime as long as the object
//
// returns  INVALID  the object is not one of new_opaque<T>() of this plugin
template <class T>
Result<T*> opaque_of(const Host& host, gantry_object* object) {
  GANTRY_TRY(void* const self, host.object_get(object, detail::opaque_type<T>));
  return static_cast<T*>(self);
}

}  // namespace gantry
