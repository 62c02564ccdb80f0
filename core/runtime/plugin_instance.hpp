// SPDX-License-Identifier: Apache-2.0
//
// One plugin, created for one runtime: what its functions are called with.
#pragma once

#include "core/plugin/plugin.hpp"
#include "core/runtime/host_table.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace gantry {

class PluginInstance {
 public:
  // Resolves its options, reserves the numbers of its devices, creates it and serves the devices.
  //
  // state    [in]   borrowed, outlives the instance
  // returns  the plugin's own error; CONFIG_KEY, CONFIG_VALUE; invalid where a device name or number is taken
  static Result<std::shared_ptr<PluginInstance>> create(RuntimeState& state,
                                                        std::shared_ptr<const LoadedPlugin> plugin,
                                                        const Manifest& manifest);
  // Destroys the plugin's self. Its last tensor, module and function are gone.
  ~PluginInstance();
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  const LoadedPlugin& plugin() const { return *plugin_; }
  void* self() const { return self_; }
  // Held by who loads a payload, unless the loader says that it can do several at once.
  std::mutex& load_mutex() { return load_mutex_; }

 private:
  PluginInstance() = default;

  PluginHost host_;
  std::shared_ptr<const LoadedPlugin> plugin_;
  void* self_ = nullptr;
  bool created_ = false;
  std::mutex load_mutex_;
};

}  // namespace gantry
