// SPDX-License-Identifier: Apache-2.0
//
// Where messages go: a sink that the embedder gives, borrowed by everything that logs. No global logger.
#pragma once

#include <gantry/host.h>

#include <functional>
#include <string>
#include <string_view>

namespace gantry {

enum class LogLevel : std::int32_t {
  error = GANTRY_LOG_ERROR,
  warning = GANTRY_LOG_WARNING,
  info = GANTRY_LOG_INFO,
  debug = GANTRY_LOG_DEBUG,
};

// "warning" and so on; nullopt-like: false and `level` untouched for any other text.
bool parse_log_level(std::string_view text, LogLevel& level);
std::string_view name_of(LogLevel level);

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;

  // sink     called from any thread, one line each; empty: stderr, "gantry: warning: <text>"
  explicit Log(LogLevel level = LogLevel::warning, Sink sink = {});

  bool wants(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, std::string_view text) const;

  void warning(std::string_view text) const { write(LogLevel::warning, text); }
  void info(std::string_view text) const { write(LogLevel::info, text); }
  void debug(std::string_view text) const { write(LogLevel::debug, text); }

 private:
  LogLevel level_;
  Sink sink_;
};

}  // namespace gantry
