// SPDX-License-Identifier: Apache-2.0
//
// The symbols by which compiled code of a generation and its runtime find a container.
#pragma once

#include "core/pack/container.hpp"

#include <string_view>

namespace gantry {

struct ContainerNames {
  // the container; of a system library, its symbol prefix comes before this
  std::string_view symbol;
  // the function by which a system library registers its symbols: int (const char* name, void*)
  std::string_view register_function;
};

// source   apache/tvm src/target/codegen.cc (v0.7 to v0.26), tvm-ffi include/tvm/ffi/extra/c_env_api.h
constexpr ContainerNames container_names(ContainerForm form) {
  constexpr std::string_view packed_register = "TVMBackendRegisterSystemLibSymbol";
  switch (form) {
    case ContainerForm::g4:
      return {"__tvm_ffi_library_bin", packed_register};
    case ContainerForm::g5:
      return {"__tvm_ffi__library_bin", "TVMFFIEnvModRegisterSystemLibSymbol"};
    default:
      return {"__tvm_dev_mblob", packed_register};
  }
}

// The symbol of generations G2 and G3.
constexpr std::string_view container_symbol = container_names(ContainerForm::g3).symbol;

}  // namespace gantry
