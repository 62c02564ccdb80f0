// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

namespace gantry::cuda_libraries {

Result<const Driver*> Services::driver() {
  return driver_.get([&] { return Driver::open(host.option_text("driver")); });
}
Result<const Cublas*> Services::cublas() {
  return cublas_.get([&] { return Cublas::open(host.option_text("cublas")); });
}
Result<const CublasLt*> Services::cublaslt() {
  return cublaslt_.get([&] { return CublasLt::open(host.option_text("cublaslt")); });
}
Result<const Cudnn*> Services::cudnn() {
  return cudnn_.get([&] { return Cudnn::open(host.option_text("cudnn")); });
}
Result<const Curand*> Services::curand() {
  return curand_.get([&] { return Curand::open(host.option_text("curand")); });
}

Status Services::read_options() {
  constexpr std::int64_t default_mib = 32, max_mib = 4096;
  const auto option = host.option("workspace_mib");
  if (option && (option->kind != GANTRY_INT || option->i < 0 || option->i > max_mib)) {
    return invalid("option workspace_mib is not an integer from 0 to ", max_mib)
        .with_reason("CONFIG");
  }
  workspace_bytes = static_cast<std::uint64_t>(option ? option->i : default_mib) << 20;
  return {};
}

Result<std::unique_ptr<Plugin>> Plugin::create(Host host) {
  auto plugin = std::make_unique<Plugin>(host);
  GANTRY_CHECK(plugin->services.read_options());
  return plugin;
}

Plugin::Plugin(Host host) : services(host) {
  for (const auto rows : function_tables()) {
    for (const FunctionRow& row : rows)
      functions_.emplace(row.name, NamedFunction{&services, &row});
  }
}

}  // namespace gantry::cuda_libraries
