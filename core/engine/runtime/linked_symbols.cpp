// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/runtime_functions.hpp"

#include <gantry/linked_symbols.h>

// Code of TVM 0.21 is not linked this way: its functions have the names of later ones.
extern "C" void* gantry_host_function(const char* name, std::uint32_t dialect) {
  gantry::ExporterFacts facts;
  facts.dialect = dialect == GANTRY_DIALECT_FFI ? gantry::Dialect::ffi : gantry::Dialect::packed;
  const gantry::RuntimeFunction* const found = gantry::find_runtime_function(name, facts);
  return found != nullptr ? found->address : nullptr;
}
