// SPDX-License-Identifier: Apache-2.0
//
// The plugin in use by a runtime, with its devices: payloads are loaded and golden calls are made.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/runtime/plugin_instance.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "tools/conformance/subject.hpp"

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::kit {

// A module of the plugin. The destructor destroys it.
struct LoadedModule {
  // Its table has every required function.
  gantry_module pair{};
  std::uint64_t consumed = 0;
  // for look-ups of the module
  Ref<ModuleNode> node;

  LoadedModule() = default;
  LoadedModule(LoadedModule&& other) noexcept
      : pair(std::exchange(other.pair, {})),
        consumed(other.consumed),
        node(std::move(other.node)) {}
  LoadedModule& operator=(LoadedModule&&) = delete;
  ~LoadedModule();
};

// A function of a module. The destructor destroys it.
struct LoadedFunction {
  // Its table has every required function; NULL: a function object.
  gantry_function pair{};

  LoadedFunction() = default;
  LoadedFunction(LoadedFunction&& other) noexcept : pair(std::exchange(other.pair, {})) {}
  LoadedFunction& operator=(LoadedFunction&&) = delete;
  ~LoadedFunction();
};

// Loads the modules that a golden payload imports.
//
// returns  not_run() if they cannot be loaded; one whose plugin is missing is a placeholder
Result<std::vector<Ref<ModuleNode>>> imports_of(RuntimeState& state, const Payload& payload);

class Stage {
 public:
  // Loads the modules that golden payloads import, too.
  //
  // returns  not_run() if the plugin cannot be opened or created, or such a module cannot be loaded
  static Result<std::unique_ptr<Stage>> open(const Subject& subject,
                                             const Observation& observed = {});

  RuntimeState& state() const { return *state_; }
  const LoadedPlugin& plugin() const { return *active_->plugin; }
  void* self() const { return instance_of(*active_).self(); }
  // The table that the plugin has received; a case may replace functions of it.
  gantry_host& host_table() const { return instance_of(*active_).host().table; }

  const gantry_loader_table& loader_for(const Payload& payload) const;
  // The device on which functions of the payload run; not_run() if this host has none.
  Result<std::shared_ptr<const Device>> device_for(const Payload& payload) const;

  // Loads bytes as the payload. A module that a failing loader writes is a failure of the case.
  Result<LoadedModule> load(const Payload& payload, std::span<const std::uint8_t> bytes,
                            gantry_object* pin) const;
  // The same; the blob and its texts are unmapped when load_binary returns.
  Result<LoadedModule> load_once(const Payload& payload, std::span<const std::uint8_t> bytes,
                                 gantry_object* pin) const;
  // The verdict of check_binary; nullopt: the loader has none.
  Result<std::optional<std::int32_t>> verdict(const Payload& payload,
                                              std::span<const std::uint8_t> bytes) const;
  // Looks a function up.
  Result<LoadedFunction> function(const LoadedModule& module, std::string_view name) const;

 private:
  Stage() = default;
  gantry_blob blob(const Payload& payload, std::span<const std::uint8_t> bytes,
                   gantry_object* pin) const;
  Result<LoadedModule> load(const Payload& payload, const gantry_blob& given) const;

  std::shared_ptr<RuntimeState> state_;
  std::shared_ptr<const ActivePlugin> active_;
  // by file and index
  std::map<std::pair<std::string, std::size_t>, std::vector<Ref<ModuleNode>>> imports_;
};

}  // namespace gantry::kit
