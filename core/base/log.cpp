// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"

#include <cstdio>
#include <utility>

namespace gantry {
namespace {
constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};
}  // namespace

bool parse_log_level(std::string_view text, LogLevel& level) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) {
      level = static_cast<LogLevel>(i);
      return true;
    }
  }
  return false;
}

std::string_view name_of(LogLevel level) {
  const auto index = static_cast<std::size_t>(level);
  return index < std::size(kNames) ? kNames[index] : "debug";
}

Log::Log(LogLevel level, Sink sink) : level_(level), sink_(std::move(sink)) {}

void Log::write(LogLevel level, const Message& text) const {
  if (!is_enabled(level)) return;
  if (sink_) return sink_(level, text.text());
  write_to_stderr(level, text.text());
}

void Log::write_to_stderr(LogLevel level, std::string_view text) {
  const std::string_view name = name_of(level);
  std::fprintf(stderr, "gantry: %.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(text.size()), text.data());
}

}  // namespace gantry
