// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/session.hpp"

#include "tools/gantry/common/exit_status.hpp"
#include "tools/gantry/common/work_line.hpp"

#include "core/base/escape.hpp"
#include "core/base/log.hpp"
#include "core/engine/embed/objects.hpp"
#include "core/engine/runtime/config_check.hpp"
#include "core/engine/runtime/config_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace gantry::cli {

namespace {

void warn_of_empty_directories(const std::vector<std::string>& directories,
                               const PluginSet& plugins) {
  for (const std::string& directory : directories) {
    const std::string name = concat("--plugins ", directory);
    const std::vector<SearchLocation>& all = plugins.found().locations;
    const auto location = std::ranges::find(all, name, &SearchLocation::name);
    std::error_code ignored;
    if (!std::filesystem::exists(directory, ignored)) {
      warn(concat(name, ": no such directory"));
    } else if (location != all.end() && location->files.empty()) {
      warn(concat(name, ": the directory has no manifest of a plugin"));
    }
  }
}

// Writes what a model prints.
void write_output(std::string_view text) {
  const std::string shown = escaped_lines(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

// Displays the work of plugins on a terminal. Lines of the log erase it.
void display_work(RuntimeOptions& options) {
  const auto line = std::make_shared<WorkLine>();
  options.work_sink = [line](std::uint64_t work, std::string_view text) { line->show(work, text); };
  options.log_sink = [line](std::int32_t level, std::string_view text) {
    line->write_lines([&] { Log::write_to_stderr(static_cast<LogLevel>(level), text); });
  };
  options.output_sink = [line](std::string_view text) {
    line->write_lines([&] { write_output(text); });
  };
}

}  // namespace

Result<Runtime> open_runtime(const Globals& globals, bool trace) {
  RuntimeOptions options{.config_file = globals.config,
                         .plugin_paths = globals.plugins,
                         .threads = globals.threads,
                         .spin_us = globals.spin_us,
                         .log_level = globals.quiet ? "error" : globals.log,
                         .trace = trace};
  // The command's own output, which may be a JSON document, is on stdout.
  options.output_sink = write_output;
  if (!globals.quiet && terminal_of(STDERR_FILENO).present) display_work(options);
  GANTRY_TRY(Runtime runtime, Runtime::create(options));
  const RuntimeState& state = *state_of(runtime.get());
  for (const std::string& line : unknown_names(state.config, *state.plugins))
    state.log.warning(line);
  if (!globals.quiet) warn_of_empty_directories(globals.plugins, *state.plugins);
  return runtime;
}

Result<std::shared_ptr<RuntimeState>> open_state(const Globals& globals) {
  GANTRY_TRY(const Runtime runtime, open_runtime(globals));
  return state_of(runtime.get());
}

InputFiles input_files(const Globals& globals, std::initializer_list<std::string_view> files) {
  InputFiles inputs;
  // open_runtime() reports a directory that cannot be read.
  if (const auto configuration = config_files({.file = globals.config}); configuration.ok())
    for (const std::string& file : *configuration) inputs.add(file);
  for (const std::string_view file : files) inputs.add(file);
  return inputs;
}

Result<std::vector<gantry_device_id>> device_ids(const Runtime& runtime,
                                                 std::span<const std::string> names) {
  std::vector<gantry_device_id> ids;
  for (const std::string& name : names) {
    GANTRY_TRY(const gantry_device_id id, runtime.device(name));
    ids.push_back(id);
  }
  return ids;
}

std::string run_title(const Session& session) { return concat("a run of ", session.subject()); }

Status synchronize(const Runtime& runtime, std::span<const gantry_device_id> devices) {
  for (const gantry_device_id device : devices) GANTRY_CHECK(runtime.synchronize(device));
  return {};
}

}  // namespace gantry::cli
