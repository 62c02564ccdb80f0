// SPDX-License-Identifier: Apache-2.0
//
// Errors of payload files.
#include "kit_run.hpp"

#include <gmock/gmock.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;

struct WrongFile {
  const char* name;
  const char* payload;
  const char* text;
};

constexpr WrongFile kWrongFiles[] = {
    {"UnknownKey", "{key: other, hex: \"00\"}",
     "payloads.yaml:3:11: payloads[0].key: is \"other\", "},
    {"NoBytes", "{key: test.kit}",
     "payloads[0].key: the payload has none or several of hex, file and artifact, expected one"},
    {"TwoSources", "{key: test.kit, hex: \"00\", file: x.bin}",
     "the payload has none or several of hex, file and artifact, expected one"},
    {"WrongDigit", "{key: test.kit, hex: \"0g\"}",
     "payloads[0].hex: contains \"g\", expected 0-9, a-f and blanks"},
    {"OddDigits", "{key: test.kit, hex: \"000\"}", "payloads[0].hex: has an odd number of digits"},
    {"MissingFile", "{key: test.kit, file: nowhere.bin}", "nowhere.bin"},
    {"UnknownField", "{key: test.kit, hex: \"00\", more: 1}", "payloads[0].more: "},
    {"RefusedWithoutAWord", "{key: test.kit, hex: \"00\", refused: []}",
     "payloads[0].refused: is empty, expected words of the error"},
    {"TwoKinds",
     "{key: test.kit, hex: \"00\", calls: [{function: f, arguments: [{int: 1, text: a}]}]}",
     "payloads[0].calls[0].arguments[0].text: the value has 2 keys, expected one of none, int, "
     "bool, float, "
     "text, tensor, buffer"},
    {"ElementType",
     "{key: test.kit, hex: \"00\", calls: [{function: f, arguments: [{tensor: {dtype: float16, "
     "shape: [1], values: [1]}}]}]}",
     "dtype: is float16, expected int4 to int64, uint4 to uint64, float32 or float64"},
    {"RunWithoutOutputs", "{key: test.kit, hex: \"00\", runs: [{inputs: {x: {int: 1}}}]}",
     "payloads[0].runs[0].outputs: required key is missing"},
    {"RunWithABuffer",
     "{key: test.kit, hex: \"00\", runs: [{inputs: {x: {buffer: {dtype: int8, shape: [1], values: "
     "[1]}}}, outputs: []}]}",
     "payloads[0].runs[0].inputs.x.tensor: is a buffer or has `after`, which models do not take"},
    {"TooFewNumbers",
     "{key: test.kit, hex: \"00\", calls: [{function: f, arguments: [{tensor: {dtype: float32, "
     "shape: [2, 2], values: [1]}}]}]}",
     "values: has 1 numbers, the shape has 4"},
    {"TooManyElements",
     "{key: test.kit, hex: \"00\", calls: [{function: f, arguments: [{tensor: {dtype: float32, "
     "shape: [1000000, 1000000], values: [1]}}]}]}",
     "shape: has more than 1048576 elements"},
};

// Of builds, after a payload.
constexpr WrongFile kWrongBuilds[] = {
    {"UnknownOption", "{target: kit -mod=plain, source: a, broken: b}",
     "builds[0].target: option \"mod\" of target kind \"kit\" not found, did you mean \"mode\""},
    {"KindWithoutLanguages", "{target: llvm, source: a, broken: b}",
     "builds[0].target: is of kind \"llvm\", expected a kind of the manifest that has languages"},
    {"OtherLanguage", "{target: kit, language: c, source: a, broken: b}",
     "builds[0].language: is \"c\", kind \"kit\" is built from kit"},
    {"NothingBroken", "{target: kit, source: a}", "builds[0].broken: required key is missing"},
    {"ElementTypeOfAKernel",
     "{target: kit, source: a, broken: b, kernels: [{name: k, arguments: [flat32]}]}",
     "builds[0].kernels[0].arguments: "},
    {"RefusedTargetOfAnotherKind", "{target: kit, source: a, broken: b, refused_targets: [llvm]}",
     "builds[0].refused_targets: is of kind \"llvm\", expected a kind"},
};

class BuildsOfPayloadFile : public ::testing::TestWithParam<WrongFile> {};

TEST_P(BuildsOfPayloadFile, AreRefusedWithTheirLocation) {
  const TempDir temp;
  const std::filesystem::path file = temp / "payloads.yaml";
  write_file(file, "schema: \"1.0\"\npayloads: [{key: test.kit, hex: \"00\"}]\nbuilds:\n  - " +
                       std::string(GetParam().payload) + "\n");

  const KitRun run = run_kit({plugin_with_defect(temp.path(), "none"), "--payloads", file});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(Kit, BuildsOfPayloadFile, ::testing::ValuesIn(kWrongBuilds),
                         [](const auto& test) { return std::string(test.param.name); });

class PayloadFile : public ::testing::TestWithParam<WrongFile> {};

TEST_P(PayloadFile, IsRefusedWithItsLocation) {
  const TempDir temp;
  const std::filesystem::path file = temp / "payloads.yaml";
  write_file(file, "schema: \"1.0\"\npayloads:\n  - " + std::string(GetParam().payload) + "\n");

  const KitRun run = run_kit({plugin_with_defect(temp.path(), "none"), "--payloads", file});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(Kit, PayloadFile, ::testing::ValuesIn(kWrongFiles),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PayloadFileSchema, OfAnotherVersionIsRefused) {
  const TempDir temp;
  const std::filesystem::path file = temp / "payloads.yaml";
  write_file(file, "schema: \"2.0\"\npayloads: []\n");

  const KitRun run = run_kit({plugin_with_defect(temp.path(), "none"), "--payloads", file});

  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, HasSubstr("payloads.yaml:1:9: schema: is \"2.0\", expected \"1.0\""));
}

}  // namespace
}  // namespace gantry::test
