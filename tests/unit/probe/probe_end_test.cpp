// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/probe/probe_end.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace gantry {
namespace {

ProbeEnd end_of(ProbeOutcome outcome, ProbeStage stage) {
  ProbeEnd end;
  end.outcome = outcome;
  end.stage = stage;
  end.elapsed_ms = 12;
  end.limit_ms = 5000;
  return end;
}

struct EndText {
  std::string name;
  ProbeEnd end;
  std::string reason;
  std::string text;
};
void PrintTo(const EndText& text, std::ostream* out) { *out << text.name; }

EndText crash() {
  ProbeEnd end = end_of(ProbeOutcome::crashed, ProbeStage::open);
  end.signal = SIGSEGV;
  end.address = 0x10;
  return {"Crash", end, "PROBE_CRASHED",
          "plugin acme.npu 2.3.1 crashes by signal 11 (Segmentation fault) at address 0x10 while "
          "its library is opened (stage open), after 12 ms\n"
          "  it printed nothing\n"
          "  it ran in a child process; this process has not opened it"};
}
EndText crash_somewhere() {
  ProbeEnd end = end_of(ProbeOutcome::crashed, ProbeStage::query);
  end.signal = SIGKILL;
  return {"CrashWithoutAddress", end, "PROBE_CRASHED",
          "plugin acme.npu 2.3.1 crashes by signal 9 (Killed) in gantry_plugin_query_v1 (stage "
          "query), after 12 ms\n"
          "  it printed nothing\n"
          "  it ran in a child process; this process has not opened it"};
}
EndText abort() {
  ProbeEnd end = end_of(ProbeOutcome::aborted, ProbeStage::create);
  end.last_lines = "one\nt\x1bwo";
  return {"Abort", end, "PROBE_ABORTED",
          "plugin acme.npu 2.3.1 aborts in create (stage create), after 12 ms\n"
          "  its last output:\n"
          "  one\n"
          "  t\\x1bwo\n"
          "  it ran in a child process; this process has not opened it"};
}
EndText exit_status() {
  ProbeEnd end = end_of(ProbeOutcome::exited, ProbeStage::open);
  end.exit_status = 3;
  return {"Exit", end, "PROBE_EXITED",
          "plugin acme.npu 2.3.1 ends its process with status 3 while its library is opened (stage "
          "open), after 12 ms\n"
          "  it printed nothing\n"
          "  it ran in a child process; this process has not opened it"};
}
EndText timeout() {
  return {"Timeout", end_of(ProbeOutcome::timed_out, ProbeStage::enumerate), "PROBE_TIMEOUT",
          "plugin acme.npu 2.3.1 does not return within 5000 ms while its devices are counted "
          "(stage enumerate); it was killed after 12 ms\n"
          "  it printed nothing\n"
          "  if it needs more time, raise probe_timeout_ms in /acme.yaml\n"
          "  it ran in a child process; this process has not opened it"};
}
EndText left() {
  ProbeEnd end = end_of(ProbeOutcome::timed_out, ProbeStage::create);
  end.is_left = true;
  return {
      "TimeoutOfAProcessThatIsLeft", end, "PROBE_TIMEOUT",
      "plugin acme.npu 2.3.1 does not return within 5000 ms in create (stage create); it was "
      "killed after 12 ms\n"
      "  it printed nothing\n"
      "  it has not ended since it was killed: the kernel has not returned from its call, often "
      "to a driver\n"
      "  if it needs more time, raise probe_timeout_ms in /acme.yaml\n"
      "  it ran in a child process; this process has not opened it"};
}
EndText flood() {
  return {"Flood", end_of(ProbeOutcome::flooded, ProbeStage::create), "PROBE_OUTPUT",
          "plugin acme.npu 2.3.1 prints more than 8 MiB in create (stage create), within 12 ms\n"
          "  it printed nothing\n"
          "  it ran in a child process; this process has not opened it"};
}

class ProbeErrorOf : public ::testing::TestWithParam<EndText> {};

TEST_P(ProbeErrorOf, NamesStageTimeAndWhatToDo) {
  const Error error = probe_error(GetParam().end, "acme.npu 2.3.1", "/acme.yaml");

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, GetParam().reason);
  EXPECT_EQ(error.message, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(All, ProbeErrorOf,
                         ::testing::Values(crash(), crash_somewhere(), abort(), exit_status(),
                                           timeout(), left(), flood()),
                         [](const auto& test) { return test.param.name; });

TEST(ProbeError, OfARefusalIsThatOfThePlugin) {
  ProbeEnd end = end_of(ProbeOutcome::refused, ProbeStage::create);
  end.code = static_cast<std::uint32_t>(Code::exhausted);
  end.reason = "MEMORY";
  end.text = "fake: out of memory";

  const Error error = probe_error(end, "acme.npu 2.3.1", "/acme.yaml");

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_EQ(error.reason, "MEMORY");
  EXPECT_EQ(
      error.message,
      "fake: out of memory\n"
      "  while plugin acme.npu 2.3.1 was probed in a child process, in create (stage create)");
}

TEST(LastLines, AreTheLastThatAreNotBlank) {
  EXPECT_EQ(last_lines_of(""), "");
  EXPECT_EQ(last_lines_of("\n\n"), "");
  EXPECT_EQ(last_lines_of("a"), "a");
  EXPECT_EQ(last_lines_of("a\n\n  \nb\n"), "a\nb");
  EXPECT_EQ(last_lines_of("1\n2\n3\n4\n5\n6\n7\n"), "3\n4\n5\n6\n7");
}

TEST(LastLines, AreCut) { EXPECT_EQ(last_lines_of(std::string(1000, 'x')), std::string(400, 'x')); }

}  // namespace
}  // namespace gantry
