// SPDX-License-Identifier: Apache-2.0
//
// `gantry report`: a page of one model, and of a file that cannot run.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Written {
  Outcome outcome;
  // empty: no file
  std::string page;
};

Written reported(std::vector<std::string> args) {
  const TempDir temp;
  const std::string output = (temp / "report.html").string();
  args.insert(args.begin(), {"--plugins", built_plugins("graph"), "report", "-o", output});
  Written written{run_gantry(args, {"PATH=/none"}), {}};
  if (std::filesystem::exists(output)) {
    const auto bytes = read_file(output);
    written.page.assign(bytes.begin(), bytes.end());
  }
  return written;
}

TEST(Report, HasWhatTheCommandsPrint) {
  const Written report = reported({"tvm-0.12/digits_mlp_c.so", "--", "--repeat", "3"});

  EXPECT_EQ(report.outcome.status, 0) << report.outcome.err;
  EXPECT_THAT(report.outcome.out, IsEmpty());
  EXPECT_THAT(report.page, HasSubstr("<th scope=\"row\">input</th><td>x  float32[1, 64]</td>"));
  EXPECT_THAT(report.page, HasSubstr("<h2>Times</h2>"));
  EXPECT_THAT(report.page, HasSubstr(" of 3 runs</td>"));
  EXPECT_THAT(report.page, HasSubstr(">fused_nn_softmax</text>"));
  EXPECT_THAT(report.page, HasSubstr("<h2>Operators by time</h2>"));
  EXPECT_THAT(report.page, HasSubstr("<h2>Time line of the last run of "));
  EXPECT_THAT(report.page, HasSubstr("<h2>Memory</h2>"));
  EXPECT_THAT(report.page, HasSubstr("CHOSEN   gantry.graph"));
  EXPECT_THAT(report.page, HasSubstr("<h2>Devices</h2>"));
  EXPECT_THAT(report.page, HasSubstr("GraphExecutorFactory    0x2c"));
  EXPECT_THAT(report.page, Not(HasSubstr("class=\"missing\"")));
}

// The page exists, because what fails is what it is for.
TEST(Report, StatesWhatFailed) {
  const Written report = reported({"tvm-0.12/axpy2_c.so"});

  EXPECT_EQ(report.outcome.status, 0) << report.outcome.err;
  EXPECT_THAT(report.page,
              HasSubstr("<li>no measurements: the command has failed with status 1</li>"));
  EXPECT_THAT(report.page, HasSubstr("<li>no drawing: &quot;tvm-0.12/axpy2_c.so&quot; is a shared "
                                     "library without a graph"));
  EXPECT_THAT(report.page, HasSubstr("<h2>The file</h2>"));
}

TEST(Report, IsNotWrittenOfAFileThatCannotBeRead) {
  const Written report = reported({"no/such.so"});

  EXPECT_EQ(report.outcome.status, 1);
  EXPECT_EQ(report.outcome.err, "gantry: no/such.so does not exist\n");
  EXPECT_THAT(report.page, IsEmpty());
}

}  // namespace
}  // namespace gantry::test
