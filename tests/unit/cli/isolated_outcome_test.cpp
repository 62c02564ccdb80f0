// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/isolated_outcome.hpp"

#include <gtest/gtest.h>

namespace gantry::cli {
namespace {

TEST(IsolatedOutcome, KeepsAnError) {
  IsolatedOutcome outcome;
  outcome.status = Error(Code::malformed, Message("magic is 0x0"), 17)
                       .at("while reading \"a\\x01\"")
                       .with_reason("BLOB")
                       .native("errno", -2);
  outcome.warnings = {Message("not loaded: \xff")};

  const IsolatedOutcome read = read_outcome(text_of(outcome));

  ASSERT_FALSE(read.status.ok());
  const Error& error = read.status.error();
  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.message, outcome.status.error().message);
  EXPECT_EQ(error.offset, 17u);
  EXPECT_EQ(error.reason, "BLOB");
  EXPECT_EQ(error.native_domain, "errno");
  EXPECT_EQ(error.native_code, -2);
  ASSERT_EQ(read.warnings.size(), 1u);
  EXPECT_EQ(read.warnings[0], outcome.warnings[0]);
}

TEST(IsolatedOutcome, KeepsWarningsOfASuccess) {
  IsolatedOutcome outcome;
  outcome.warnings = {Message("first"), Message("second").at("a line of context")};

  const IsolatedOutcome read = read_outcome(text_of(outcome));

  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.warnings, outcome.warnings);
}

TEST(IsolatedOutcome, KeepsResults) {
  IsolatedOutcome outcome;
  outcome.results = {"", "two\nlines", "\xff"};
  outcome.warnings = {Message("first")};

  const IsolatedOutcome read = read_outcome(text_of(outcome));

  EXPECT_TRUE(read.status.ok());
  EXPECT_EQ(read.results, outcome.results);
  EXPECT_EQ(read.warnings, outcome.warnings);
}

TEST(IsolatedOutcome, IsUnavailableWithoutAWholeAnswer) {
  IsolatedOutcome outcome;
  outcome.results = {"one"};
  outcome.status = Error(Code::malformed, Message("magic is 0x0"));
  const std::string whole = text_of(outcome);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    const IsolatedOutcome read = read_outcome(std::string_view(whole).substr(0, size));
    ASSERT_FALSE(read.status.ok());
    EXPECT_EQ(read.status.error().code, Code::unavailable) << size;
  }
  const std::string other(whole.size(), '9');
  EXPECT_EQ(read_outcome(other).status.error().message, "the child process returned no outcome");
}

}  // namespace
}  // namespace gantry::cli
