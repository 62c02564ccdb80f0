// SPDX-License-Identifier: Apache-2.0
//
// How the run of a plugin in a child process ended.
#pragma once

#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

// What the child process was doing, in order.
enum class ProbeStage : std::uint8_t {
  // the program starts; nothing of the plugin has run
  start,
  // dlopen(), which runs the constructors
  open,
  // gantry_plugin_query_v1
  query,
  // the table's create
  create,
  // count of its devices
  enumerate,
};
constexpr int kProbeStages = 5;
std::string_view name_of(ProbeStage stage);

enum class ProbeOutcome : std::uint8_t {
  passed,
  // a function of the plugin or the system's linker returned an error
  refused,
  // by a signal other than SIGABRT
  crashed,
  aborted,
  exited,
  timed_out,
  // printed more than kMaxProbeOutput
  flooded,
};
constexpr int kProbeOutcomes = 7;

// Output of a plugin during a probe; more ends it.
constexpr std::uint64_t kMaxProbeOutput = 8 << 20;

struct ProbeEnd {
  ProbeOutcome outcome = ProbeOutcome::passed;
  ProbeStage stage = ProbeStage::start;
  std::uint32_t elapsed_ms = 0;
  std::uint32_t limit_ms = 0;
  // of `exited`; -1: unknown, because another part of this process has waited for the child
  std::int32_t exit_status = 0;
  // of `crashed` and `aborted`
  std::int32_t signal = 0;
  // the address whose access raised the signal; nullopt: unknown
  std::optional<std::uint64_t> address;
  // of `refused`
  std::uint32_t code = 0;
  std::string reason, text;
  // it was killed and has not ended
  bool is_left = false;
  // the end of what the plugin printed, at most kMaxProbeLines lines
  std::string last_lines;

  // True if the plugin would have ended or blocked the process that opens it.
  bool is_harmful() const {
    return outcome != ProbeOutcome::passed && outcome != ProbeOutcome::refused;
  }
};

// lines of output that an error shows
constexpr std::size_t kMaxProbeLines = 5;

// Returns the end of an output: its last lines that are not blank.
std::string last_lines_of(std::string_view output);

// Returns the error for a run that did not pass.
//
// plugin    [in]   "acme.npu 2.3.1"
// manifest  [in]   the file in which the time limit can be raised
// returns   unavailable with reason PROBE_CRASHED, PROBE_ABORTED, PROBE_EXITED, PROBE_TIMEOUT or
//           PROBE_OUTPUT; if the plugin refused, its own code and reason
Error probe_error(const ProbeEnd& end, std::string_view plugin, std::string_view manifest);

}  // namespace gantry
