// SPDX-License-Identifier: Apache-2.0
#include "core/embed/runtime_options.hpp"

#include "core/base/call_destroy.hpp"
#include "core/embed/arguments.hpp"

#include <gantry/value.hpp>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

constexpr std::uint32_t known_flags =
    GANTRY_RUNTIME_ONLY_THESE_PLUGINS | GANTRY_RUNTIME_NO_PROBE | GANTRY_RUNTIME_TRACE;

class LogSink {
 public:
  explicit LogSink(const gantry_log_sink& sink) : sink_(sink) {}
  LogSink(LogSink&& other) noexcept : sink_(std::exchange(other.sink_, {})) {}
  LogSink& operator=(LogSink&&) = delete;
  ~LogSink() {
    if (sink_.destroy != nullptr) call_destroy("a log sink", [&] { sink_.destroy(sink_.self); });
  }

  bool writes() const { return sink_.write != nullptr; }
  void write(std::int32_t level, std::string_view line) const {
    sink_.write(sink_.self, level, bytes_of(line));
  }

 private:
  gantry_log_sink sink_;
};

}  // namespace

Result<RuntimeOptions> runtime_options(const gantry_runtime_options* given) {
  constexpr std::string_view function = "runtime_new";
  // Destroyed by every failure from here on.
  LogSink sink(known_members(given).log);
  GANTRY_TRY(const gantry_runtime_options known,
             read_options(given, known_flags, "gantry_runtime_options"));
  RuntimeOptions options;
  GANTRY_TRY(options.config_file, path_argument(known.config_file, function));
  if (known.plugin_path_count != 0)
    GANTRY_CHECK(check_pointer(known.plugin_paths, function, "plugin_paths"));
  for (std::uint32_t i = 0; i < known.plugin_path_count; ++i) {
    GANTRY_TRY(std::string path, path_argument(known.plugin_paths[i], function));
    std::error_code failed;
    // A path that does not exist is reported as a manifest is.
    const bool is_directory = std::filesystem::is_directory(path, failed);
    (is_directory ? options.plugin_dirs : options.plugin_files).push_back(std::move(path));
  }
  options.only_these_plugins = (known.flags & GANTRY_RUNTIME_ONLY_THESE_PLUGINS) != 0;
  options.probe = (known.flags & GANTRY_RUNTIME_NO_PROBE) == 0;
  options.trace = (known.flags & GANTRY_RUNTIME_TRACE) != 0;
  options.threads = known.threads;
  if (known.pool != nullptr) {
    GANTRY_TRY(const PoolObject* pool, pool_argument(known.pool, function));
    if (known.threads != 0) {
      return invalid(function, ": threads is ", known.threads,
                     ", and a pool is given, whose threads the runtime uses")
          .with_reason("ARGUMENT");
    }
    options.pool = pool->pool;
  }
  GANTRY_CHECK(check_text(known.log_level, function, "log_level"));
  options.log_level = view_of(known.log_level);
  if (sink.writes()) {
    options.log_sink = [kept = std::make_shared<const LogSink>(std::move(sink))](
                           std::int32_t level, std::string_view line) { kept->write(level, line); };
  }
  return options;
}

}  // namespace gantry
