// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_end.hpp"

#include "core/base/reason.hpp"

#include <cstring>
#include <iterator>

namespace gantry {
namespace {

constexpr std::size_t kMaxLineBytes = 400;

// What the plugin was doing: "acme.npu 2.3.1 crashes <text>".
std::string_view activity_of(ProbeStage stage) {
  constexpr std::string_view texts[] = {
      "before it is opened", "while its library is opened (stage open)",
      "in gantry_plugin_query_v1 (stage query)", "in create (stage create)",
      "while its devices are counted (stage enumerate)"};
  static_assert(std::size(texts) == kProbeStages);
  return texts[static_cast<std::size_t>(stage)];
}

Error end_error(const ProbeEnd& end, std::string_view plugin) {
  const std::string_view where = activity_of(end.stage);
  switch (end.outcome) {
    case ProbeOutcome::aborted:
      return unavailable("plugin ", plugin, " aborts ", where, ", after ", end.elapsed_ms, " ms")
          .with_reason(reason::probe_aborted.tag);
    case ProbeOutcome::exited:
      return unavailable("plugin ", plugin, " ends its process with status ",
                         end.exit_status < 0 ? "unknown" : concat(end.exit_status), " ", where,
                         ", after ", end.elapsed_ms, " ms")
          .with_reason(reason::probe_exited.tag);
    case ProbeOutcome::timed_out:
      return unavailable("plugin ", plugin, " does not return within ", end.limit_ms, " ms ", where,
                         "; it was killed after ", end.elapsed_ms, " ms")
          .with_reason(reason::probe_timeout.tag);
    case ProbeOutcome::flooded:
      return unavailable("plugin ", plugin, " prints more than ", kMaxProbeOutput >> 20, " MiB ",
                         where, ", within ", end.elapsed_ms, " ms")
          .with_reason(reason::probe_output.tag);
    default:
      return unavailable("plugin ", plugin, " crashes by signal ", end.signal, " (",
                         ::strsignal(end.signal), ")",
                         end.address ? concat(" at address ", Hex{*end.address}) : "", " ", where,
                         ", after ", end.elapsed_ms, " ms")
          .with_reason(reason::probe_crashed.tag);
  }
}

}  // namespace

std::string_view name_of(ProbeStage stage) {
  constexpr std::string_view names[] = {"start", "open", "query", "create", "enumerate"};
  static_assert(std::size(names) == kProbeStages);
  return names[static_cast<std::size_t>(stage)];
}

std::string last_lines_of(std::string_view output) {
  std::string kept;
  for (std::size_t count = 0; count < kMaxProbeLines && !output.empty();) {
    const std::size_t start = output.find_last_of('\n') + 1;
    const std::string_view line = output.substr(start);
    output = output.substr(0, start == 0 ? 0 : start - 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    kept = concat(line.substr(0, kMaxLineBytes), kept.empty() ? "" : "\n", kept);
    ++count;
  }
  return kept;
}

Error probe_error(const ProbeEnd& end, std::string_view plugin, std::string_view manifest) {
  if (end.outcome == ProbeOutcome::refused) {
    Error error(static_cast<Code>(end.code), Message::lines(end.text));
    error.reason = end.reason;
    return std::move(error.at("while plugin ", plugin, " was probed in a child process, ",
                              activity_of(end.stage)));
  }
  Error error = end_error(end, plugin);
  if (end.last_lines.empty()) {
    error.at("it printed nothing");
  } else {
    error.at("its last output:");
    error.message.at_lines(end.last_lines);
  }
  if (end.is_left) {
    error.at("it has not ended since it was killed: the kernel has not returned from its call, ",
             "often to a driver");
  }
  if (end.outcome == ProbeOutcome::timed_out)
    error.at("if it needs more time, raise probe_timeout_ms in ", manifest);
  error.at("it ran in a child process; this process has not opened it");
  return error;
}

}  // namespace gantry
