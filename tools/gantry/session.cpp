// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/session.hpp"

#include "core/runtime/config_check.hpp"
#include "core/runtime/state.hpp"

#include <array>

namespace gantry::cli {

Result<Runtime> open_runtime(const Globals& globals, bool trace) {
  RuntimeOptions options;
  options.config_file = globals.config;
  options.plugin_dirs = globals.plugins;
  options.threads = globals.threads;
  options.log_level = globals.quiet ? "error" : globals.log;
  options.trace = trace;
  GANTRY_TRY(Runtime runtime, Runtime::create(std::move(options)));
  const RuntimeState& state = runtime.state();
  for (const std::string& line : unknown_names(state.config, *state.plugins)) {
    state.log.warning(line);
  }
  return runtime;
}

std::vector<std::string> plugins_in_use(const Runtime& runtime) {
  std::vector<std::string> titles;
  for (const Candidate& candidate : runtime.state().plugins->in_use()) {
    titles.push_back(candidate.title());
  }
  return titles;
}

Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices) {
  for (const gantry_device_id id : devices) {
    GANTRY_TRY(const auto device, runtime.state().devices.get(id.type));
    if (device->table->synchronize == nullptr) continue;
    std::array<char, 1024> text{};
    gantry_status status{};
    status.struct_size = sizeof status;
    status.text = text.data();
    status.text_capacity = text.size();
    const gantry_code code = device->table->synchronize(device->self, id.index, nullptr, &status);
    if (code != GANTRY_OK) {
      return fail(static_cast<Code>(code), std::string_view(text.data(), status.text_size))
          .at("while waiting for device ", device->name, ":", id.index);
    }
  }
  return {};
}

}  // namespace gantry::cli
