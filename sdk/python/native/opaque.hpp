// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "api.hpp"

namespace gantry::python {

// gantry.Object: what only plugins and compiled code use, such as the KV cache of a language model.
class Opaque {
 public:
  Opaque(RuntimeRef runtime, OwnedValue value)
      : runtime_(std::move(runtime)), value_(std::move(value)) {}

  const RuntimeRef& runtime() const { return runtime_; }
  const OwnedValue& value() const { return value_; }

 private:
  RuntimeRef runtime_;
  OwnedValue value_;
};

}  // namespace gantry::python
