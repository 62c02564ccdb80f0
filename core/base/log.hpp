// SPDX-License-Identifier: Apache-2.0
//
// Log messages go to a sink that the embedder provides. There is no global logger: components
// borrow a Log.
#pragma once

#include <gantry/host.h>
#include <gantry/message.hpp>

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

// Parses "error", "warning", "info" or "debug". Returns false for any other text and leaves `level`
// unchanged.
bool parse_log_level(std::string_view text, LogLevel& level);
std::string_view name_of(LogLevel level);

class Log {
 public:
  using Sink = std::function<void(LogLevel, std::string_view)>;

  // sink     called with the text of a Message, which may have several lines, from any thread;
  //          empty: writes "gantry: warning: <text>" to stderr
  explicit Log(LogLevel level = LogLevel::warning, Sink sink = {});

  bool is_enabled(LogLevel level) const { return level <= level_; }
  void write(LogLevel level, const Message& text) const;
  // The default sink.
  //
  // text     [in]   of a Message
  static void write_to_stderr(LogLevel level, std::string_view text);

  void warning(const Message& text) const { write(LogLevel::warning, text); }
  void info(const Message& text) const { write(LogLevel::info, text); }
  void debug(const Message& text) const { write(LogLevel::debug, text); }

 private:
  LogLevel level_;
  Sink sink_;
};

}  // namespace gantry
