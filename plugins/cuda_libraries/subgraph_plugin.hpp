// SPDX-License-Identifier: Apache-2.0
//
// gantry.cublas-json and gantry.cudnn-json - sub-graphs that exporters leave to cuBLAS and cuDNN, on the GPU. Each can
// be created where the driver and its library are; gantry.dnnl runs the sub-graphs on the CPU elsewhere.
#pragma once

#include "subgraph_program.hpp"

#include <gantry/plugin.hpp>
#include <gantry/subgraph_module.hpp>
#include <gantry/tensor_text.hpp>

#include <memory>
#include <string_view>

namespace gantry::cuda_libraries {

// What both plugins have in one runtime.
struct SubgraphHost {
  explicit SubgraphHost(Host given) : host(given), services(given) {}

  // returns  UNSUPPORTED  the tensor is not on a GPU (ARGUMENT_DEVICE)
  Status check_device(std::string_view type_key, std::size_t i, const gantry_tensor& tensor) const;

  Host host;
  Services services;
};

// The plugin of one type key.
//
// Library  a class with the type key, and a function that opens the library which most of the key's operators
//          use: `static Result<...> open(Services&)`
template <class Library>
struct SubgraphPlugin : SubgraphHost {
  static constexpr const char* subgraph_key = Library::type_key;
  static constexpr const char* subgraph_device = "cuda";
  using Loaders = Types<SubgraphModule<SubgraphPlugin, SubgraphProgram>>;

  // returns  UNAVAILABLE  no driver, or no such library (DRIVER_MISSING); no GPU (DRIVER_CALL)
  //          INVALID      the value of an option is not one of its type (CONFIG)
  static Result<std::unique_ptr<SubgraphPlugin>> create(Host host) {
    auto made = std::make_unique<SubgraphPlugin>(host);
    GANTRY_CHECK(made->services.read_options());
    GANTRY_TRY(const Driver* const driver, made->services.driver());
    GANTRY_CHECK(driver->check_device());
    GANTRY_CHECK(Library::open(made->services));
    return made;
  }
  using SubgraphHost::SubgraphHost;
};

struct CublasJson {
  static constexpr const char* type_key = "cublas_json";
  static auto open(Services& services) { return services.cublaslt(); }
};
struct CudnnJson {
  static constexpr const char* type_key = "cudnn_json";
  static auto open(Services& services) { return services.cudnn(); }
};

}  // namespace gantry::cuda_libraries
