// SPDX-License-Identifier: Apache-2.0
//
// gantry.opencl - kernels exported for OpenCL, and the devices of the installed OpenCL drivers.
#include "plugin.hpp"

namespace gantry::opencl {
namespace {

DiskCache::Options cache_options(Host host) {
  const std::string directory = host.option_text("cache_directory");
  const auto is_on = host.option("cache");
  if (directory.empty() || (is_on && value_int(*is_on) == 0)) return {};
  return {.directory = directory + "/opencl",
          .log = [host](const Message& text) { host.log(GANTRY_LOG_WARNING, text); }};
}

}  // namespace

Plugin::Plugin(Host given)
    : host(given),
      driver(given),
      programs(given, driver, cache_options(given), given.option_text("build_options")) {}

}  // namespace gantry::opencl

GANTRY_PLUGIN(gantry::opencl::Plugin);
