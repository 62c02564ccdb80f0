// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api.hpp"

namespace gantry::python {

// gantry.Object: what only plugins and compiled code use, such as the KV cache of a language model.
struct Opaque {
  RuntimeRef runtime;
  OwnedValue value;
};

}  // namespace gantry::python
