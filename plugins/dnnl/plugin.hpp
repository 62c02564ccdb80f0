// SPDX-License-Identifier: Apache-2.0
//
// The state of the plugin in one runtime.
#pragma once

#include "library_functions.hpp"
#include "onednn.hpp"
#include "program.hpp"

#include <gantry/plugin.hpp>
#include <gantry/subgraph_module.hpp>
#include <gantry/trace.hpp>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace gantry::dnnl_plugin {

struct Plugin {
  // The manifest names the other keys as its aliases.
  static constexpr const char* subgraph_key = "dnnl_json";
  using Loaders = Types<SubgraphModule<Plugin, Program>>;

  explicit Plugin(Host given);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  // Refuses a tensor of a call that is not in the memory of the CPU.
  //
  // type_key [in]   of the sub-graph
  // i        [in]   number of the argument
  // returns  UNSUPPORTED  the sub-graph is for the library of another vendor, on whose device the
  //                       tensor may be (ARGUMENT_DEVICE)
  Status check_device(std::string_view type_key, std::size_t i, const gantry_tensor& tensor) const;

  // Logs that sub-graphs of another vendor's library run here, once for each key.
  void report_key(const std::string& type_key);

  auto& named_functions() { return functions_; }

  Host host;
  Trace trace;
  int threads;
  ::dnnl::engine engine{::dnnl::engine::kind::cpu, 0};

 private:
  std::mutex mutex_;
  std::set<std::string> reported_;
  std::map<std::string_view, LibraryFunction> functions_ = library_functions(*this);
};

}  // namespace gantry::dnnl_plugin
