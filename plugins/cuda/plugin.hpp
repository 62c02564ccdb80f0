// SPDX-License-Identifier: Apache-2.0
//
// gantry.cuda - kernels exported for CUDA, and NVIDIA's GPUs.
//
// Creating the plugin does not open the driver: payloads can be read on any machine.
#pragma once

#include "device_functions.hpp"
#include "function.hpp"
#include "module.hpp"
#include "sort_scan.hpp"
#include "source_compiler.hpp"

#include <gantry/plugin.hpp>

#include <map>
#include <string_view>

namespace gantry::cuda {

// The state of the plugin in one runtime.
struct Plugin {
  using Loaders = Types<Module>;
  using Devices = Types<DeviceFunctions>;

  explicit Plugin(Host given);

  // Compiles CUDA C++ to PTX with NVRTC, for the target's architecture.
  //
  // returns  UNSUPPORTED  the source does not compile (KERNEL_BUILD), or does not have a kernel
  //                       (KERNEL)
  //          UNAVAILABLE  NVRTC or a header is missing (CUDA_SOURCE, HEADER_MISSING)
  //          INVALID      the target's arch is no architecture (ARCH)
  Status build(const Build& what, const Sink& sink);
  // Opens NVRTC.
  //
  // returns  UNAVAILABLE  it is missing (CUDA_SOURCE), or is not usable (DRIVER_SYMBOL, DRIVER_CALL)
  //          INVALID      as build()
  Status check(const Build& what);

  auto& named_functions() { return functions; }

  Host host;
  cuda::Devices gpus;
  SourceCompiler compiler;
  // after the devices, on which its module is loaded
  SortScan sort_scan;
  std::map<std::string_view, NamedFunction> functions;
};

}  // namespace gantry::cuda
