// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/session.hpp"

#include "core/runtime/config.hpp"
#include "core/runtime/installed_plugins.hpp"

namespace gantry::cli {

Result<Runtime> open_runtime(const Globals& globals, bool trace) {
  RuntimeOptions options;
  options.config_file = globals.config;
  options.plugin_dirs = globals.plugins;
  options.threads = globals.threads;
  options.spin_us = globals.spin_us;
  options.log_level = globals.quiet ? "error" : globals.log;
  options.trace = trace;
  GANTRY_TRY(Runtime runtime, Runtime::create(std::move(options)));
  InstalledPlugins(runtime).warn_of_unknown_names();
  return runtime;
}

InputFiles input_files(const Globals& globals, std::initializer_list<std::string_view> files) {
  InputFiles inputs;
  inputs.add(globals.config.empty() ? kSystemConfigFile : std::string_view(globals.config));
  for (const std::string_view file : files) inputs.add(file);
  return inputs;
}

Result<std::vector<gantry_device_id>> device_ids(Runtime& runtime,
                                                 std::span<const std::string> names) {
  std::vector<gantry_device_id> ids;
  for (const std::string& name : names) {
    GANTRY_TRY(const gantry_device_id id, runtime.device(name));
    ids.push_back(id);
  }
  return ids;
}

Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices) {
  for (const gantry_device_id device : devices) GANTRY_CHECK(runtime.synchronize(device));
  return {};
}

}  // namespace gantry::cli
