// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/run_probe.hpp"

#include "core/base/process_end.hpp"
#include "core/base/text.hpp"
#include "core/plugins/probe/probe_record.hpp"

#include <gantry/quoted.hpp>

#include <chrono>
#include <csignal>
#include <optional>

namespace gantry {
namespace {

using std::chrono::milliseconds;

// From the start of the program to the plugin, on a host under load.
constexpr std::chrono::seconds kMaxStart(20);

ProgramStart start_of(const ProbeCommand& command) {
  ProgramStart start;
  start.program = command.helper;
  start.words = probe_arguments(command);
  start.words.insert(start.words.begin(), command.helper);
  start.environment = command.environment;
  static_assert(kProbeDescriptor == report_descriptor);
  start.reports = true;
  start.has_default_signals = true;
  return start;
}

// Judges how the program has ended. `refused` and `passed` are what it reports.
ProbeOutcome outcome_of(const ProgramEnd& end, const ProbeRecords& records) {
  switch (end.cause) {
    case ProgramEnd::Cause::timed_out:
      return ProbeOutcome::timed_out;
    case ProgramEnd::Cause::flooded:
      return ProbeOutcome::flooded;
    case ProgramEnd::Cause::signalled:
      return end.signal == SIGABRT ? ProbeOutcome::aborted : ProbeOutcome::crashed;
    default:
      break;
  }
  // Another part of this process may have waited for the program.
  const bool is_orderly = end.exit_status <= 0;
  if (is_orderly && records.passed) return ProbeOutcome::passed;
  return is_orderly && records.refused ? ProbeOutcome::refused : ProbeOutcome::exited;
}

ProbeEnd judge(const ProgramEnd& program, const ProbeRecords& records) {
  ProbeEnd end;
  end.outcome = outcome_of(program, records);
  end.stage = records.stage;
  end.elapsed_ms =
      static_cast<std::uint32_t>(std::chrono::ceil<milliseconds>(program.elapsed).count());
  end.signal = program.signal;
  if (program.signal != 0 && records.fault_signal == program.signal)
    end.address = records.fault_address;
  if (end.outcome == ProbeOutcome::exited) end.exit_status = program.exit_status;
  if (end.outcome == ProbeOutcome::refused) {
    end.code = records.code;
    end.reason = records.reason;
    end.text = records.text;
  }
  end.is_left = program.is_left;
  end.last_lines = last_lines_of(program.output);
  return end;
}

}  // namespace

std::vector<std::string> probe_arguments(const ProbeCommand& command) {
  std::vector<std::string> all{command.manifest, command.config_file, concat(command.memory_bytes),
                               concat(number_of(command.tier)), command.location};
  all.insert(all.end(), command.drop_ins.begin(), command.drop_ins.end());
  return all;
}

Result<ProbeCommand> read_probe_arguments(const std::vector<std::string>& arguments) {
  const auto bytes =
      arguments.size() < 5 ? std::nullopt : parse_number<std::uint64_t>(arguments[2]);
  const auto number = bytes ? parse_number<std::size_t>(arguments[3]) : std::nullopt;
  if (!number || *number == 0 || *number > tier_count)
    return invalid("expected MANIFEST CONFIG BYTES TIER LOCATION DROP-IN...");
  ProbeCommand command;
  command.manifest = arguments[0];
  command.config_file = arguments[1];
  command.memory_bytes = *bytes;
  command.tier = tiers[*number - 1].tier;
  command.location = arguments[4];
  command.drop_ins.assign(arguments.begin() + 5, arguments.end());
  return command;
}

Result<ProbeEnd> run_probe(const ProbeCommand& command, KilledChildren& killed) {
  // As while a plugin is opened in this process.
  const NoCancellation guard;
  ProgramLimits limits;
  limits.time = kMaxStart;
  limits.output_bytes = kMaxProbeOutput;
  limits.kill_time = milliseconds(command.kill_ms);
  ProbeRecords records;
  // The time limit is one for the plugin: it begins when its library is opened.
  const auto add = [&](std::string_view bytes) {
    const bool has_begun = records.stage != ProbeStage::start;
    records.add(bytes);
    ReportStep step;
    if (!has_begun && records.stage != ProbeStage::start)
      step.time = milliseconds(command.limit_ms);
    return step;
  };
  GANTRY_TRY(const ProgramEnd program, run_program(start_of(command), limits, add, &killed));
  ProbeEnd end = judge(program, records);
  end.limit_ms = command.limit_ms;
  // Nothing of the plugin has run.
  if (end.stage == ProbeStage::start && end.outcome != ProbeOutcome::refused) {
    return unavailable("program ", quoted(command.helper), " does not reach the plugin: ",
                       end.outcome == ProbeOutcome::timed_out ? "it was stopped"
                       : end.signal != 0 ? concat("it ended by signal ", end.signal)
                                         : concat("it ended with status ", end.exit_status),
                       end.last_lines.empty() ? "" : ", ", end.last_lines);
  }
  if (records.options.value_or(command.options) != command.options) {
    return unavailable("the options of the plugin in this process are not those that program ",
                       quoted(command.helper), " reads: the configuration was changed after this ",
                       "process read it; start this process again");
  }
  return end;
}

}  // namespace gantry
