// SPDX-License-Identifier: Apache-2.0
//
// Transfers new objects to the caller of the C API.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/result.hpp>
#include <gantry/runtime/module.hpp>

#include <utility>

namespace gantry {

// Each leaves *out unchanged if `made` is an error.
template <class T>
Status give(Result<Ref<T>> made, gantry_object** out) {
  if (!made.ok()) return std::move(made).failure();
  *out = reinterpret_cast<gantry_object*>(made->take());
  return {};
}
template <class T>
Status give(Result<Ref<T>> made, gantry_value* out) {
  if (!made.ok()) return std::move(made).failure();
  *out = OwnedValue(std::move(*made)).take();
  return {};
}

inline Status give(Result<Module> loaded, gantry_object** out) {
  if (!loaded.ok()) return std::move(loaded).failure();
  gantry_retain(loaded->get());
  *out = loaded->get();
  return {};
}

}  // namespace gantry
