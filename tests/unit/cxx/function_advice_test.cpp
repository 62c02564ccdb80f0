// SPDX-License-Identifier: Apache-2.0
#include <gantry/function_advice.hpp>

#include "tests/support/files.hpp"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

namespace gantry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The names that artifacts of TVM 0.16 to 0.27 look up. Group A runs on every CPU, B needs libraries of
// GPUs, C is refused.
std::vector<std::string> names_of_group(std::string_view group) {
  const auto bytes = test::read_file(test::golden("../../unit/cxx/function_names.tsv"));
  std::istringstream lines(std::string(bytes.begin(), bytes.end()));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (line.substr(tab + 1) == group) names.push_back(line.substr(0, tab));
  }
  return names;
}

TEST(FunctionAdvice, CoversEveryNameThatIsRefusedOrNeedsAGpu) {
  std::size_t count = 0;
  for (const std::string_view group : {"B", "C"}) {
    for (const std::string& name : names_of_group(group)) {
      ++count;
      // Names without a dot that are not FlashInfer's are the compiler's options.
      const bool is_option = name == "get_item" || name == "set_item";
      EXPECT_EQ(known_advice(name) == nullptr, is_option) << name;
    }
  }
  EXPECT_GT(count, 150u);
}

TEST(FunctionAdvice, ForAnUnknownNameIsToAddTheFunction) {
  EXPECT_THAT(advice_text("get_item"), HasSubstr("left to the program; add it before the load"));
  EXPECT_THAT(advice_text("acme.first"), HasSubstr("of no release of TVM"));
}

TEST(FunctionAdvice, HasOneLineForEachKindOfFunctions) {
  const std::string_view names[] = {"runtime.disco.allreduce", "runtime.disco.allgather",
                                    "flashinfer.single_decode"};

  const Error error = with_advice(not_found("missing"), names).error();

  EXPECT_EQ(
      error.message,
      "missing\n"
      "  \"runtime.disco.allreduce\" is communication of several workers, for which the model is "
      "compiled; compile it for one worker (without tensor or pipeline parallelism)\n"
      "  \"flashinfer.single_decode\" is a kernel of FlashInfer; compile without FlashInfer");
}

// A file chooses the names.
TEST(FunctionAdvice, IsShortForAnyNumberOfNames) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back(concat("name", i));
  const std::vector<std::string_view> views(names.begin(), names.end());

  const Error error = with_advice(not_found("missing"), views).error();

  EXPECT_THAT(error.message, HasSubstr("\n  \"name0\" is a function that the model's compiler "));
  EXPECT_THAT(error.message, Not(HasSubstr("\"name1\"")));
}

}  // namespace
}  // namespace gantry
