// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using TypedWords = std::vector<std::string>;

const CommandText tool{
    .name = "tool",
    .options = {{.names = {"-h", "--help"}},
                {.names = {"--dir"}, .value = "DIR", .repeatable = true},
                {.names = {"-l", "--log"}, .value = "LEVEL", .choices = {"error", "info"}},
                {.names = {"-q", "--quiet"}},
                {.names = {"-V", "--version"}}},
    .commands = {{.name = "run",
                  .description = "runs",
                  .options = {{.names = {"-h", "--help"}},
                              {.names = {"--device"}, .value = "NAME[:N]", .repeatable = true},
                              {.names = {"--repeat"}, .value = "N"}},
                  .arguments = {{.value = "FILE"}}},
                 {.name = "remove", .arguments = {{.value = "ID", .repeatable = true}}},
                 {.name = "plugins", .commands = {{.name = "list"}, {.name = "doctor"}}},
                 {.name = "help", .arguments = {{.value = "COMMAND", .repeatable = true}}}}};

TypedWords words_for(const TypedWords& words) {
  TypedWords found;
  for (const CompletedWord& each : complete(tool, words).words) found.push_back(each.word);
  return found;
}

TEST(Completion, OffersCommandsForAnEmptyWord) {
  EXPECT_THAT(words_for({""}), ElementsAre("run", "remove", "plugins", "help"));
  EXPECT_THAT(words_for({"plugins", ""}), ElementsAre("list", "doctor"));
}

TEST(Completion, OffersOnlyWhatBeginsWithTheWord) {
  EXPECT_THAT(words_for({"r"}), ElementsAre("run", "remove"));
  EXPECT_THAT(words_for({"run", "--re"}), ElementsAre("--repeat"));
  EXPECT_THAT(words_for({"--log", "in"}), ElementsAre("info"));
}

TEST(Completion, OffersTheOptionsOfACommandAndTheGlobalOnes) {
  EXPECT_THAT(words_for({"run", "--"}),
              ElementsAre("--help", "--device", "--repeat", "--dir", "--log", "--quiet"));
  EXPECT_THAT(words_for({"-"}), ElementsAre("-h", "--help", "--dir", "-l", "--log", "-q", "--quiet",
                                            "-V", "--version"));
}

TEST(Completion, OffersAnOptionAgainOnlyIfItMayBeRepeated) {
  EXPECT_THAT(words_for({"--log", "info", "-q", "run", "--device", "cpu", "--repeat=3", "--"}),
              ElementsAre("--help", "--device", "--dir"));
}

TEST(Completion, OffersTheFixedValuesOfAnOption) {
  EXPECT_THAT(words_for({"run", "-l", ""}), ElementsAre("error", "info"));
  EXPECT_THAT(words_for({"run", "--log=e"}), ElementsAre("--log=error"));
}

// The value of an option is neither a command nor an option.
TEST(Completion, SkipsTheValuesOfOptions) {
  EXPECT_THAT(words_for({"--dir", "run", ""}), ElementsAre("run", "remove", "plugins", "help"));
  EXPECT_THAT(words_for({"--dir", "--", "r"}), ElementsAre("run", "remove"));
  EXPECT_THAT(words_for({"-lerror", "r"}), ElementsAre("run", "remove"));
  EXPECT_THAT(words_for({"-ql", "error", "r"}), ElementsAre("run", "remove"));
}

TEST(Completion, ReturnsTheKindOfAValue) {
  const auto kind = [](const TypedWords& words) { return complete(tool, words).value; };

  EXPECT_EQ(kind({"run", ""}), CompletedValue::file);
  EXPECT_EQ(kind({"run", "--device", ""}), CompletedValue::device);
  EXPECT_EQ(kind({"run", "--device=o"}), CompletedValue::device);
  EXPECT_EQ(kind({"--dir", ""}), CompletedValue::directory);
  EXPECT_EQ(kind({"remove", "a.b", ""}), CompletedValue::plugin);
  EXPECT_EQ(kind({"run", "--repeat", ""}), CompletedValue::none);
}

TEST(Completion, OffersOptionsForAnEmptyWordIfNothingElseCanFollow) {
  EXPECT_THAT(
      words_for({"run", "model.so", ""}),
      ElementsAre("-h", "--help", "--device", "--repeat", "--dir", "-l", "--log", "-q", "--quiet"));
  EXPECT_THAT(words_for({"run", "model.so", "m"}), IsEmpty());
}

TEST(Completion, OffersOnlyArgumentsAfterTwoDashes) {
  EXPECT_THAT(words_for({"run", "--", "-"}), IsEmpty());
  EXPECT_EQ(complete(tool, TypedWords{"run", "--", "-"}).value, CompletedValue::file);
}

TEST(Completion, OffersCommandsAsArgumentsOfHelp) {
  EXPECT_THAT(words_for({"help", "p"}), ElementsAre("plugins"));
  EXPECT_THAT(words_for({"help", "plugins", ""}), ElementsAre("list", "doctor"));
  EXPECT_THAT(words_for({"help", "no", ""}), IsEmpty());
}

TEST(Completion, OffersNothingAfterAnUnknownCommandOrOption) {
  EXPECT_THAT(words_for({"no", ""}), IsEmpty());
  EXPECT_THAT(words_for({"run", "--no="}), IsEmpty());
  EXPECT_THAT(words_for({}), IsEmpty());
}

TEST(Completion, KeepsTheValuesOfEarlierOptions) {
  EXPECT_THAT(complete(tool, TypedWords{"--dir", "a", "run", "--dir=b", "-lerror", ""}).given,
              ElementsAre(Pair("--dir", "a"), Pair("--dir", "b"), Pair("--log", "error")));
}

TEST(Completion, AddsValuesWithTheirPrefix) {
  Completion completion = complete(tool, TypedWords{"run", "--device=c"});

  add_values(TypedWords{"cpu", "cuda", "vulkan"}, completion);

  EXPECT_EQ(to_lines(completion), "--device=cpu\n--device=cuda\n");
}

// Names of manifests; a shell would interpret them.
TEST(Completion, OmitsValuesThatAShellWouldInterpret) {
  Completion completion = complete(tool, TypedWords{"remove", ""});

  add_values(TypedWords{"a.b", "$(reboot)", "a b", "x\ny", "`id`"}, completion);

  EXPECT_EQ(to_lines(completion), "a.b\n");
}

TEST(Completion, IsPrintedWithDescriptionsAndWithTheKindThatTheShellCompletes) {
  EXPECT_EQ(to_lines(complete(tool, TypedWords{"ru"})), "run\truns\n");
  EXPECT_EQ(to_lines(complete(tool, TypedWords{"run", "m"})), ":files\n");
  EXPECT_EQ(to_lines(complete(tool, TypedWords{"--dir", ""})), ":directories\n");
}

}  // namespace
}  // namespace gantry::cli
