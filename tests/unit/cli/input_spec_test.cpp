// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/input_spec.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

// What a value is, in a form that is easy to compare.
std::string shown(const InputValue& value) {
  if (const auto* file = std::get_if<FileValue>(&value.content))
    return concat("file ", file->path, file->member.empty() ? "" : " member ", file->member);
  if (const auto* fill = std::get_if<FillValue>(&value.content)) {
    constexpr const char* names[] = {"zeros", "ones", "random"};
    std::string text = names[static_cast<int>(fill->kind)];
    if (fill->kind != FillValue::Kind::random) return text;
    text += concat(" ", fill->seed);
    if (fill->range)
      text += concat(" [", static_cast<double>(fill->range->low), ", ",
                     static_cast<double>(fill->range->high), ")");
    return text;
  }
  if (const auto* numbers = std::get_if<NumbersValue>(&value.content))
    return "numbers " + numbers->text;
  if (const auto* file = std::get_if<NumbersFile>(&value.content)) return "text " + file->path;
  if (const auto* tuple = std::get_if<TupleValue>(&value.content)) {
    std::string text = "tuple";
    for (const InputValue& item : tuple->items) text += " (" + shown(item) + ")";
    return text;
  }
  return concat("argument ", std::get<ArgSpec>(value.content).index());
}

struct InputForm {
  std::string text, name, value;
};
void PrintTo(const InputForm& form, std::ostream* out) { *out << form.text; }

class InputSpecForm : public ::testing::TestWithParam<InputForm> {};

TEST_P(InputSpecForm, HasNameAndValue) {
  const auto input = parse_input(GetParam().text);

  ASSERT_TRUE(input.ok()) << input.error().message;
  EXPECT_EQ(input->name, GetParam().name);
  EXPECT_EQ(shown(input->value), GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, InputSpecForm,
    ::testing::Values(
        InputForm{"x=a=b.npy", "x", "file a=b.npy"}, InputForm{"x=a.bin", "x", "file a.bin"},
        InputForm{"x=a.npz:b", "x", "file a.npz member b"},
        InputForm{"x=a.npz:b:c", "x", "file a.npz member b:c"},
        InputForm{"x=a.npz:", "x", "file a.npz"}, InputForm{"a.npz", "", "file a.npz"},
        InputForm{"a.npy", "", "file a.npy"}, InputForm{"x=zeros", "x", "zeros"},
        InputForm{"x=./zeros", "x", "file ./zeros"},
        InputForm{"x=zeros.npy", "x", "file zeros.npy"}, InputForm{"x=ones", "x", "ones"},
        InputForm{"zeros", "", "zeros"}, InputForm{"x=random", "x", "random 0"},
        InputForm{"random:7", "", "random 7"},
        InputForm{"x=random:18446744073709551615", "x", "random 18446744073709551615"},
        InputForm{"x=random:7:-0.5:2", "x", "random 7 [-0.5, 2)"},
        InputForm{"x=random.npy", "x", "file random.npy"},
        InputForm{"x=1,2,3", "x", "numbers 1,2,3"}, InputForm{"x=-0.5", "x", "numbers -0.5"},
        InputForm{"x=nan,inf,-inf", "x", "numbers nan,inf,-inf"},
        InputForm{"x=true, false", "x", "numbers true, false"}, InputForm{"x=./1", "x", "file ./1"},
        InputForm{"x=1.npy", "x", "file 1.npy"}, InputForm{"x=@a.txt", "x", "text a.txt"},
        InputForm{"x=./@a.txt", "x", "file ./@a.txt"}, InputForm{"x=()", "x", "tuple"},
        InputForm{"x=(zeros; 1,2; (a.npy; @b))", "x",
                  "tuple (zeros) (numbers 1,2) (tuple (file a.npy) (text b))"},
        InputForm{R"|(x=(json:["a;b)", "\"("]; none;json:{"c": ";"}))|", "x",
                  "tuple (argument 7) (argument 0) (argument 7)"},
        InputForm{"x=none", "x", "argument 0"}, InputForm{"x=int:3", "x", "argument 1"},
        InputForm{"x=float:3", "x", "argument 2"}, InputForm{"x=str:a;b", "x", "argument 3"},
        InputForm{"x=shape:[2, 16]", "x", "argument 6"}));

struct BadInput {
  std::string text, message;
};
void PrintTo(const BadInput& bad, std::ostream* out) { *out << bad.text; }

class InvalidInputSpec : public ::testing::TestWithParam<BadInput> {};

TEST_P(InvalidInputSpec, IsRejectedWithTheWrongPart) {
  const auto input = parse_input(GetParam().text);

  ASSERT_FALSE(input.ok());
  EXPECT_EQ(input.error().code, Code::invalid);
  EXPECT_EQ(input.error().message, concat("input \"", GetParam().text, "\"", GetParam().message));
}

const std::string unknown =
    " has an unknown form, expected NAME=FILE.npy, NAME=FILE.npz:MEMBER, NAME=zeros, NAME=ones, "
    "NAME=random:SEED:LOW:HIGH, NAME=1,2,3, NAME=@FILE, or without NAME= FILE.npz or a word for "
    "all "
    "inputs";

INSTANTIATE_TEST_SUITE_P(
    Forms, InvalidInputSpec,
    ::testing::Values(
        BadInput{"x", unknown}, BadInput{"=a.npy", unknown}, BadInput{"x=", unknown},
        BadInput{"a.npz:b", unknown}, BadInput{"a.bin", unknown}, BadInput{"1,2", unknown},
        BadInput{"x=@", unknown}, BadInput{"x=(;)", unknown},
        BadInput{"x=1,,3", ": item 1 is \"\", expected a number"},
        BadInput{"x=1,2,x", ": item 2 is \"x\", expected a number"},
        BadInput{"x=random:-1",
                 ": seed is \"-1\", expected an integer from 0 to 18446744073709551615"},
        BadInput{"random:", ": seed is \"\", expected an integer from 0 to 18446744073709551615"},
        BadInput{"x=random:1:2",
                 " has 2 numbers after random, expected random, random:SEED or "
                 "random:SEED:LOW:HIGH"},
        BadInput{"x=random:1:2:3:4",
                 " has 4 numbers after random, expected random, random:SEED or "
                 "random:SEED:LOW:HIGH"},
        BadInput{"x=random:1:2:2",
                 ": LOW is \"2\" and HIGH \"2\", expected numbers with LOW < HIGH"},
        BadInput{"x=random:1:-inf:0",
                 ": LOW is \"-inf\" and HIGH \"0\", expected numbers with LOW < HIGH"},
        BadInput{"x=" + std::string(17, '(') + std::string(17, ')'),
                 " has more than 16 tuples within each other"}));

TEST(InputSpec, ReportsTheArgumentThatItContains) {
  EXPECT_EQ(parse_input("x=int:3.5").error().message,
            "argument \"int:3.5\": \"3.5\" is not a 64-bit integer");
}

TEST(InputSpec, ListsTheFilesThatItReads) {
  EXPECT_THAT(parse_input("x=(zeros; a.npz:b; (@c; 1))")->files(), ElementsAre("a.npz", "c"));
  EXPECT_THAT(parse_input("random")->files(), IsEmpty());
}

TEST(NumberIn, IsExactForIntegersOf64Bits) {
  EXPECT_EQ(static_cast<std::uint64_t>(*number_in("18446744073709551615")), UINT64_MAX);
  EXPECT_EQ(static_cast<std::int64_t>(*number_in("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(static_cast<double>(*number_in("1e-3")), 1e-3);
  for (const char* text : {"", "1 ", "0x1", "1e999", "True"}) EXPECT_FALSE(number_in(text)) << text;
}

TEST(ShapeSpec, HasNameAndExtents) {
  const auto input = parse_shape("x=4, 3,0");
  const auto typed = parse_shape("a=b=float32[2,3]");
  const auto scalar = parse_shape("x=int64[]");

  EXPECT_EQ(input->name, "x");
  EXPECT_FALSE(input->dtype);
  EXPECT_THAT(input->extents, ElementsAre(4, 3, 0));
  ASSERT_FALSE(typed.ok());
  ASSERT_TRUE(scalar->dtype);
  EXPECT_TRUE(same_dtype(*scalar->dtype, dtypes::int64));
  EXPECT_THAT(scalar->extents, IsEmpty());
}

TEST(ShapeSpec, RejectsWhatIsNoExtent) {
  const std::string form =
      " has an unknown form, expected NAME=4,3,224,224, NAME=float32[4,3] or EXTENT=4";
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, std::string>>{
           {"x", form},
           {"=4", form},
           {"x=", form},
           {"x=4,-1", ": extent 1 is \"-1\", expected an integer >= 0"},
           {"x=9223372036854775808",
            ": extent 0 is \"9223372036854775808\", expected an integer >= 0"},
           {"x=4x3", ": extent 0 is \"4x3\", expected an integer >= 0"}}) {
    const auto shape = parse_shape(text);
    ASSERT_FALSE(shape.ok()) << text;
    EXPECT_EQ(shape.error().message, concat("shape \"", text, "\"", message));
  }
  EXPECT_THAT(parse_shape("x=float33[1]").error().message,
              EndsWith("\n  in shape \"x=float33[1]\""));
}

}  // namespace
}  // namespace gantry::cli
