// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/error_kind.hpp>

namespace gantry::contrib {

Result<Value> Plugin::NamedFunction::call(const Call& call) const {
  return with_kind(services->host, guard([&] {
                     return row->run(*services, {row->usage, call.env, call.args});
                   }));
}

Result<std::unique_ptr<Plugin>> Plugin::create(Host host) {
  GANTRY_TRY(const std::uint64_t limit, memory_limit_of(host));
  return std::make_unique<Plugin>(host, limit);
}

Plugin::Plugin(Host host, std::uint64_t memory_limit)
    : services_{host, std::make_shared<StorageMemory>(GANTRY_PLUGIN_ID, memory_limit),
                Threads(host), Output(host)} {
  for (const auto rows : {matmul_functions(), random_functions(), run_functions(), sort_functions(),
                          tensor_functions()}) {
    for (const FunctionRow& row : rows)
      functions_.emplace(row.name, NamedFunction{&services_, &row});
  }
}

}  // namespace gantry::contrib
