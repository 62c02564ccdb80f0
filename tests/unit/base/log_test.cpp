// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace gantry {
namespace {

TEST(Log, DropsMessagesAboveItsLevel) {
  std::vector<std::string> lines;
  const Log log(LogLevel::info, [&](LogLevel level, std::string_view text) {
    lines.push_back(std::string(name_of(level)) + ": " + std::string(text));
  });

  log.warning("first");
  log.info("second");
  log.debug("third");

  EXPECT_THAT(lines, testing::ElementsAre("warning: first", "info: second"));
}

TEST(Log, WithoutASinkWritesToStandardError) {
  ::testing::internal::CaptureStderr();

  Log(LogLevel::info, nullptr).warning("text");

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "gantry: warning: text\n");
}

TEST(Log, ParsesLevelNames) {
  LogLevel level = LogLevel::error;

  EXPECT_TRUE(parse_log_level("debug", level));
  EXPECT_EQ(level, LogLevel::debug);
  EXPECT_FALSE(parse_log_level("Debug", level));
  EXPECT_EQ(level, LogLevel::debug);
}

}  // namespace
}  // namespace gantry
