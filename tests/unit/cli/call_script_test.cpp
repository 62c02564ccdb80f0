// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/call_script.hpp"

#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <cmath>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class T>
const T& get(const ScriptValue& value) {
  return std::get<T>(value.content);
}

// A script with one call that has these arguments and further members.
std::string with_call(const std::string& args, const std::string& members = "") {
  return R"({"kind": "tir", "params": [], "calls": [{"func": "f", "args": [{"t": "int", "v": 1}]},
             {"func": "main", "args": [)" +
         args + "]" + members + "}]}";
}

ScriptCall second_call(const std::string& json) {
  auto script = parse_call_script(json);
  EXPECT_TRUE(script.ok()) << script.error().message;
  return script.ok() ? script->calls.at(1) : ScriptCall();
}

TEST(CallScript, HasArgumentsOfEachKind) {
  const ScriptCall call = second_call(with_call(R"(
      {"t": "none"}, {"t": "int", "v": -3}, {"t": "float", "v": 2.5}, {"t": "float", "v": 2},
      {"t": "bool", "v": true}, {"t": "str", "v": "a\u0000b"}, {"t": "str", "dir": "x.weights"},
      {"t": "shape", "v": [2, -1]},
      {"t": "tensor", "key": "k", "dtype": "bfloat16", "shape": []},
      {"t": "tuple", "v": [{"t": "tuple", "v": []}, {"t": "none"}]},
      {"t": "ref", "call": 0, "path": [1, 0]})"));

  ASSERT_EQ(call.args.size(), 11u);
  EXPECT_TRUE(std::holds_alternative<NoneScriptValue>(call.args[0].content));
  EXPECT_EQ(get<std::int64_t>(call.args[1]), -3);
  EXPECT_EQ(get<double>(call.args[2]), 2.5);
  EXPECT_EQ(get<double>(call.args[3]), 2.0);
  EXPECT_EQ(get<bool>(call.args[4]), true);
  EXPECT_EQ(get<std::string>(call.args[5]), std::string("a\0b", 3));
  EXPECT_EQ(get<DirectoryScriptValue>(call.args[6]).name, "x.weights");
  EXPECT_THAT(get<ShapeScriptValue>(call.args[7]).extents, ElementsAre(2, -1));
  EXPECT_EQ(get<TensorScriptValue>(call.args[8]).key, "k");
  EXPECT_TRUE(same_dtype(get<TensorScriptValue>(call.args[8]).dtype, dtypes::bfloat16));
  const auto& tuple = get<TupleScriptValue>(call.args[9]).items;
  EXPECT_TRUE(get<TupleScriptValue>(tuple.at(0)).items.empty());
  EXPECT_TRUE(std::holds_alternative<NoneScriptValue>(tuple.at(1).content));
  EXPECT_EQ(get<RefScriptValue>(call.args[10]).call, 0u);
  EXPECT_THAT(get<RefScriptValue>(call.args[10]).path, ElementsAre(1, 0));
  EXPECT_FALSE(call.is_recorded());
}

TEST(CallScript, HasAnArgumentOfAllParams) {
  const auto script = parse_call_script(
      R"({"kind": "relax", "params": ["w"], "calls": [{"func": "f", "args": [{"t": "params"}]}]})");

  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_TRUE(std::holds_alternative<ParamsScriptValue>(script->calls.at(0).args.at(0).content));
}

TEST(CallScript, HasResultsErrorsAndChangedArguments) {
  const ScriptCall object =
      second_call(with_call("", R"(, "global": true, "ret": {"t": "object", "type": "Cache"})"));
  const ScriptCall after = second_call(
      with_call(R"({"t": "none"})", R"(, "ret": {"t": "any"}, "after": {"0": {"t": "none"}})"));
  const ScriptCall error =
      second_call(with_call("", R"(, "error": {"kind": "ValueError", "message": "m"})"));
  const ScriptCall any = second_call(with_call("", R"(, "error": {"any": true})"));

  EXPECT_TRUE(object.is_global);
  EXPECT_EQ(get<ObjectScriptValue>(*object.result).type, "Cache");
  EXPECT_TRUE(std::holds_alternative<AnyScriptValue>(after.result->content));
  EXPECT_EQ(after.after.size(), 1u);
  EXPECT_EQ(error.error->kind, "ValueError");
  EXPECT_EQ(error.error->message, "m");
  EXPECT_EQ(any.error->kind, "");
  EXPECT_TRUE(any.is_recorded());
}

TEST(CallScript, HasFloatsThatJsonLacks) {
  const ScriptCall call = second_call(with_call(
      R"({"t": "float", "v": "nan"}, {"t": "float", "v": "inf"}, {"t": "float", "v": "-inf"})"));

  EXPECT_TRUE(std::isnan(get<double>(call.args.at(0))));
  EXPECT_EQ(get<double>(call.args.at(1)), INFINITY);
  EXPECT_EQ(get<double>(call.args.at(2)), -INFINITY);
}

// The text of a script is read as the same script.
TEST(CallScript, IsWrittenAsItIsRead) {
  const std::string json = with_call(
      R"({"t": "none"}, {"t": "int", "v": -3}, {"t": "float", "v": 2.0}, {"t": "float", "v": "-inf"},
         {"t": "float", "v": "nan"}, {"t": "bool", "v": false}, {"t": "str", "v": "\u00e4"},
         {"t": "str", "dir": "d"}, {"t": "shape", "v": [2]},
         {"t": "tensor", "key": "k", "dtype": "bool", "shape": [3]},
         {"t": "tuple", "v": [{"t": "none"}]}, {"t": "ref", "call": 0, "path": [1]})",
      R"(, "global": true, "ret": {"t": "tuple", "v": [{"t": "any"}, {"t": "object"}]},
         "after": {"1": {"t": "int", "v": 4}}, "note": "n")");
  const std::string error = with_call("", R"(, "error": {"kind": "K", "message": "m"})");

  for (const std::string& text : {json, error}) {
    const std::string once = call_script_text(parse_call_script(text).value());
    EXPECT_EQ(call_script_text(parse_call_script(once).value()), once);
    EXPECT_EQ(parse_call_script(once)->calls.size(), 2u);
  }
  EXPECT_THAT(call_script_text(parse_call_script(json).value()), HasSubstr("\"dtype\": \"bool\""));
}

struct BadScript {
  std::string name;
  std::string json;
  std::string message;
};

class InvalidCallScript : public ::testing::TestWithParam<BadScript> {};

TEST_P(InvalidCallScript, IsRefusedWithTheField) {
  const auto script = parse_call_script(GetParam().json);

  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.error().code, Code::malformed);
  EXPECT_EQ(script.error().reason, "CALL_SCRIPT");
  EXPECT_EQ(script.error().message, "call script" + GetParam().message);
  EXPECT_NE(script.error().offset, no_offset);
}

std::string call_of(const std::string& call) {
  return R"({"kind": "tir", "calls": [)" + call + "]}";
}
std::string arg_of(const std::string& arg) { return with_call(arg); }
std::string ret_of(const std::string& ret) { return with_call("", ", \"ret\": " + ret); }

INSTANTIATE_TEST_SUITE_P(
    Documents, InvalidCallScript,
    ::testing::Values(
        BadScript{"NoJson", "x", " is not JSON: \"x\" follows \"\""},
        BadScript{"NoObject", "[]", ": the document is a list, expected an object"},
        BadScript{"NoKind", "{}", ": the document has no \"kind\""},
        BadScript{"OtherKind", R"({"kind": "vm"})",
                  ": kind is \"vm\", expected \"relax\" or \"tir\""},
        BadScript{"FileIsNoText", R"({"kind": "tir", "file": 3})",
                  ": file is 3, expected a string"},
        BadScript{"ParamsAreNoList", R"({"kind": "tir", "params": "a"})",
                  ": params is \"a\", expected a list"},
        BadScript{"EmptyParam", R"({"kind": "tir", "params": [""]})",
                  ": params[0] is \"\", expected a name"},
        BadScript{"NoCalls", R"({"kind": "tir"})", ": the document has no \"calls\""},
        BadScript{"EmptyCalls", R"({"kind": "tir", "calls": []})",
                  ": calls is empty, and the document has no \"expected_from\""},
        BadScript{"PathInExpectedFrom", R"({"kind": "tir", "expected_from": "../x", "calls": []})",
                  ": expected_from is \"../x\", expected the name of a script in the same "
                  "directory"},
        BadScript{"CallIsNoObject", call_of("1"), ": calls[0] is 1, expected an object"},
        BadScript{"NoFunction", call_of("{}"), ": calls[0] has no \"func\""},
        BadScript{"NulInFunction", call_of(R"({"func": "a\u0000", "args": []})"),
                  ": calls[0].func is \"a\\x00\", expected a name"},
        BadScript{"GlobalIsNoBoolean", call_of(R"({"func": "f", "global": 1, "args": []})"),
                  ": calls[0].global is 1, expected true or false"},
        BadScript{"NoArguments", call_of(R"({"func": "f"})"), ": calls[0] has no \"args\""},
        BadScript{"ResultAndError",
                  with_call("", R"(, "ret": {"t": "none"}, "error": {"any": true})"),
                  ": calls[1] has both \"ret\" and \"error\""},
        BadScript{"NoErrorKind", with_call("", R"(, "error": {"message": "m"})"),
                  ": calls[1].error has no \"kind\""},
        BadScript{"NoErrorMessage", with_call("", R"(, "error": {"kind": "K"})"),
                  ": calls[1].error has no \"message\""},
        BadScript{"NotAnyError", with_call("", R"(, "error": {"any": false})"),
                  ": calls[1].error.any is false, expected true"},
        BadScript{
            "AfterOfNoArgument",
            with_call(R"({"t": "none"})", R"(, "after": {"1": {"t": "none"}})"),
            ": calls[1].after has the key \"1\", expected the number of an argument, argument "
            "count is 1"},
        BadScript{
            "AfterOfAName", with_call(R"({"t": "none"})", R"(, "after": {"0x": {"t": "none"}})"),
            ": calls[1].after has the key \"0x\", expected the number of an argument, argument "
            "count is 1"}),
    [](const auto& test) { return test.param.name; });

constexpr const char* arguments =
    ", expected none, int, float, bool, str, shape, tensor, tuple, ref or params";
constexpr const char* results =
    ", expected none, int, float, bool, str, shape, tensor, tuple, object or any";

INSTANTIATE_TEST_SUITE_P(
    Values, InvalidCallScript,
    ::testing::Values(
        BadScript{"NoObject", arg_of("3"), ": calls[1].args[0] is 3, expected an object"},
        BadScript{"NoType", arg_of("{}"), ": calls[1].args[0] has no \"t\""},
        BadScript{"ObjectAsArgument", arg_of(R"({"t": "object"})"),
                  std::string(": calls[1].args[0].t is \"object\"") + arguments},
        BadScript{"AnyAsArgument", arg_of(R"({"t": "any"})"),
                  std::string(": calls[1].args[0].t is \"any\"") + arguments},
        BadScript{"RefAsResult", ret_of(R"({"t": "ref", "call": 0})"),
                  std::string(": calls[1].ret.t is \"ref\"") + results},
        BadScript{"ParamsAsResult", ret_of(R"({"t": "params"})"),
                  std::string(": calls[1].ret.t is \"params\"") + results},
        BadScript{"DirectoryAsResult", ret_of(R"({"t": "str", "dir": "d"})"),
                  ": calls[1].ret has no \"v\""},
        BadScript{"ParamsWithoutNames", call_of(R"({"func": "f", "args": [{"t": "params"}]})"),
                  ": calls[0].args[0] is \"params\", and the document names no \"params\""},
        BadScript{"ParamsOfAnEmptyList",
                  R"({"kind":"relax","params":[],"calls":[{"func":"f","args":[{"t":"params"}]}]})",
                  ": calls[0].args[0] is \"params\", and the document names no \"params\""},
        BadScript{"NoValue", arg_of(R"({"t": "int"})"), ": calls[1].args[0] has no \"v\""},
        BadScript{"FractionAsInt", arg_of(R"({"t": "int", "v": 2.5})"),
                  ": calls[1].args[0].v is 2.5, expected a 64-bit integer"},
        BadScript{"IntAbove64Bits", arg_of(R"({"t": "int", "v": 9223372036854775808})"),
                  ": calls[1].args[0].v is 9223372036854775808, expected a 64-bit integer"},
        BadScript{"TextAsFloat", arg_of(R"({"t": "float", "v": "1"})"),
                  ": calls[1].args[0].v is \"1\", expected a number, \"nan\", \"inf\" or \"-inf\""},
        BadScript{"NumberAsBool", arg_of(R"({"t": "bool", "v": 1})"),
                  ": calls[1].args[0].v is 1, expected true or false"},
        BadScript{"NumberAsText", arg_of(R"({"t": "str", "v": null})"),
                  ": calls[1].args[0].v is null, expected a string"},
        BadScript{"TextInShape", arg_of(R"({"t": "shape", "v": [1, "n"]})"),
                  ": calls[1].args[0].v[1] is \"n\", expected a 64-bit integer"},
        BadScript{"ItemOfATuple", arg_of(R"({"t": "tuple", "v": [{"t": "none"}, 4]})"),
                  ": calls[1].args[0].v[1] is 4, expected an object"},
        BadScript{"NoKey", arg_of(R"({"t": "tensor"})"), ": calls[1].args[0] has no \"key\""},
        BadScript{"UnknownType",
                  arg_of(R"({"t": "tensor", "key": "k", "dtype": "float", "shape": []})"),
                  ": calls[1].args[0].dtype is \"float\", expected a type, for example "
                  "\"float32\""},
        BadScript{"TypeOfHalfAByte",
                  arg_of(R"({"t": "tensor", "key": "k", "dtype": "int4", "shape": []})"),
                  ": calls[1].args[0].dtype is \"int4\", expected a type of whole bytes and one "
                  "lane"},
        BadScript{"NegativeExtent",
                  arg_of(R"({"t": "tensor", "key": "k", "dtype": "int8", "shape": [-1]})"),
                  ": calls[1].args[0].shape[0] is -1, expected an integer from 0 to "
                  "9223372036854775807"},
        BadScript{"RefOfALaterCall", arg_of(R"({"t": "ref", "call": 1})"),
                  ": calls[1].args[0].call is 1, expected an integer from 0 to 0"},
        BadScript{"RefOfTheFirstCall",
                  call_of(R"({"func": "f", "args": [{"t": "ref", "call": 0}]})"),
                  ": calls[0].args[0] refers to a call before the first"},
        BadScript{"NegativePath", arg_of(R"({"t": "ref", "call": 0, "path": [-1]})"),
                  ": calls[1].args[0].path[0] is -1, expected an integer from 0 to "
                  "9223372036854775807"}),
    [](const auto& test) { return test.param.name; });

TEST(CallScript, IsRefusedIfItIsNestedTooDeep) {
  std::string arg = R"({"t": "none"})";
  for (int i = 0; i < 40; ++i) arg = R"({"t": "tuple", "v": [)" + arg + "]}";

  EXPECT_EQ(parse_call_script(arg_of(arg)).error().message, "call script is nested deeper than 64");
}

class CallScriptFiles : public ::testing::Test {
 protected:
  void write_array(gantry_dtype dtype, std::vector<std::int64_t> shape,
                   std::vector<std::uint8_t> bytes) {
    const NpzItem item{"k", dtype, shape, bytes};
    ASSERT_TRUE(test::write_npz(dir / "x.npz", {&item, 1}).ok());
  }
  Result<CallScript> read(const std::string& arg) {
    test::write_file(dir / "x.json", arg_of(arg));
    return read_call_script(dir / "x.json");
  }

  test::TempDir dir;
};

TEST_F(CallScriptFiles, StoreTypesThatNumPyLacksAsIntegers) {
  write_array(dtypes::uint16, {2}, {1, 2, 3, 4});

  const auto script = read(R"({"t": "tensor", "key": "k", "dtype": "bfloat16", "shape": [2]})");

  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_THAT(script->arrays.at("k").bytes, ElementsAre(1, 2, 3, 4));
}

TEST_F(CallScriptFiles, StoreBooleans) {
  write_array({6, 8, 1}, {2}, {0, 1});

  const auto script = read(R"({"t": "tensor", "key": "k", "dtype": "bool", "shape": [2]})");

  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_THAT(script->arrays.at("k").bytes, ElementsAre(0, 1));
}

TEST_F(CallScriptFiles, AreRefusedIfAnArrayIsMissing) {
  write_array(dtypes::uint8, {1}, {1});

  const auto script = read(R"({"t": "tensor", "key": "j", "dtype": "uint8", "shape": [1]})");

  EXPECT_EQ(script.error().code, Code::malformed);
  EXPECT_EQ(script.error().reason, "CALL_SCRIPT");
  EXPECT_THAT(script.error().message.text(), StartsWith("call script: the array \"j\" is not in "));
}

TEST_F(CallScriptFiles, AreRefusedIfAnArrayIsOfAnotherTypeOrShape) {
  write_array(dtypes::uint8, {2}, {1, 2});

  const auto type = read(R"({"t": "tensor", "key": "k", "dtype": "bfloat16", "shape": [2]})");
  const auto shape = read(R"({"t": "tensor", "key": "k", "dtype": "uint8", "shape": [2, 1]})");

  EXPECT_THAT(
      type.error().message.text(),
      StartsWith("call script: the array \"k\" is uint8[2], expected uint16[2] for a tensor "
                 "of bfloat16\n  while reading "));
  EXPECT_EQ(shape.error().reason, "CALL_SCRIPT");
  EXPECT_THAT(shape.error().message.text(),
              StartsWith("call script: the array \"k\" is uint8[2], expected uint8[2, 1] for a "
                         "tensor of uint8\n"));
}

TEST_F(CallScriptFiles, MayBeOfAnotherScript) {
  test::write_file(dir / "x.json", arg_of(R"({"t": "none"})"));
  test::write_file(dir / "y.json",
                   R"({"kind": "relax", "file": "y.so", "expected_from": "x", "calls": []})");
  test::write_file(dir / "z.json", R"({"kind": "relax", "expected_from": "y", "calls": []})");

  const auto script = read_call_script(dir / "y.json");
  const auto chain = read_call_script(dir / "z.json");

  ASSERT_TRUE(script.ok()) << script.error().message;
  EXPECT_EQ(script->calls.size(), 2u);
  EXPECT_EQ(script->file, "y.so");
  EXPECT_THAT(files_of(*script), ElementsAre(dir / "y.json", dir / "x.json", dir / "x.npz"));
  EXPECT_EQ(chain.error().reason, "CALL_SCRIPT");
  EXPECT_THAT(chain.error().message.text(), HasSubstr("names as expected_from, has no calls"));
}

}  // namespace
}  // namespace gantry::cli
