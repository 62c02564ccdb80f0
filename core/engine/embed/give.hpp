// SPDX-License-Identifier: Apache-2.0
//
// Transfers new objects to the caller of the C API.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/result.hpp>

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
  *out = owned_value(std::move(*made)).take();
  return {};
}

}  // namespace gantry
