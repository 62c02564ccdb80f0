// SPDX-License-Identifier: Apache-2.0
//
// gantry.dnnl - sub-graphs of operators, exported for oneDNN and for other vendors' libraries, on
// the CPU.
#include "plugin.hpp"

#include "failure_of.hpp"

#include "core/formats/type_key.hpp"

#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>
#include <gantry/tensor_text.hpp>

#include <omp.h>

#include <algorithm>
#include <iterator>

namespace gantry::dnnl_plugin {
namespace {

// The option of the plugin, else that of the runtime; 0: one for each CPU that OpenMP may use.
int thread_count(Host host) {
  for (const char* name : {"dnnl_threads", "threads"}) {
    const auto option = host.option(name);
    const auto count = option ? value_int(*option) : std::nullopt;
    if (count && *count > 0) return static_cast<int>(std::min<std::int64_t>(*count, 1024));
  }
  return omp_get_num_procs();
}

}  // namespace

Plugin::Plugin(Host given) : host(given), trace(given), threads(thread_count(given)) {}

Status Plugin::check_device(std::string_view type_key, std::size_t i,
                            const gantry_tensor& tensor) const {
  if (tensor.device.type == cpu_device_type) return {};
  const TypeKey* const key = find_type_key(type_key);
  // The module refuses the argument.
  if (key == nullptr || key->vendor.empty()) return {};
  return unsupported("argument ", i, " is ", tensor_text(tensor), " on ",
                     host.device_text(tensor.device), ", ", quoted(type_key),
                     " sub-graphs run here with tensors on cpu; with others they run on ",
                     key->device, ", by a plugin of ", key->vendor)
      .with_reason("ARGUMENT_DEVICE");
}

void Plugin::report_key(const std::string& type_key) {
  if (type_key == subgraph_key) return;
  {
    const std::lock_guard lock(mutex_);
    if (!reported_.insert(type_key).second) return;
  }
  host.log(GANTRY_LOG_WARNING, {quoted(type_key), " sub-graphs run on the CPU with ",
                                library_text(), ", because no other plugin for them was chosen"});
}

}  // namespace gantry::dnnl_plugin

GANTRY_PLUGIN(gantry::dnnl_plugin::Plugin);
