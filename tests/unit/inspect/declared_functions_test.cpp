// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/declared_functions.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::HasSubstr;

// What the headers' macros return for a schema.
std::string metadata_of(std::string_view schema) {
  std::string text = R"({"type_schema":")";
  for (const char c : schema) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"}";
}

struct SchemaCase {
  std::string_view name, schema, expected;
};

// source   the golden libraries of tests/golden/data/tvm-ffi, and the headers of both releases
constexpr SchemaCase signatures[] = {
    {"OneParameter", R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"float"}]})",
     "f(float) -> int"},
    {"NoParameter", R"({"type":"ffi.Function","args":[{"type":"None"}]})", "f() -> None"},
    {"NamedGroups",
     R"({"type":"ffi.Function","named_args":{"return":[{"type":"None"}],)"
     R"("params":[{"type":"DLTensor*"},{"type":"float"},{"type":"ffi.Tensor"}]}})",
     "f(Tensor, float, Tensor) -> None"},
    {"NoNamedParameter",
     R"({"type":"ffi.Function","named_args":{"return":[{"type":"Any"}],"params":[]}})",
     "f() -> Any"},
    {"UnknownParameters", R"({"type":"ffi.Function","named_args":{"return":[{"type":"bool"}]}})",
     "f(...) -> bool"},
    {"UnknownTypes", R"({"type":"ffi.Function"})", "f(...)"},
    {"Texts",
     R"({"type":"ffi.Function","args":[{"type":"ffi.String"},{"type":"const char*"},)"
     R"({"type":"std::string"},{"type":"ffi.Bytes"},{"type":"DataType"},{"type":"Device"}]})",
     "f(str, str, bytes, dtype, Device) -> str"},
    {"Containers",
     R"({"type":"ffi.Function","args":[{"type":"ffi.Map","args":[{"type":"ffi.String"},)"
     R"({"type":"Any"}]},{"type":"Optional","args":[{"type":"ffi.Array","args":[{"type":"int"}]}]},)"
     R"({"type":"Tuple","args":[{"type":"int"},{"type":"ffi.Shape"}]},)"
     R"({"type":"Variant","args":[{"type":"int"},{"type":"ffi.String"}]},)"
     R"({"type":"std::array","args":[{"type":"int"},3]}]})",
     "f(Optional[Array[int]], tuple[int, ffi.Shape], Union[int, str], std::array[int, 3]) -> "
     "Map[str, Any]"},
    {"Callables",
     R"({"type":"ffi.Function","args":[{"type":"ffi.Function"},{"type":"ffi.Function","args":)"
     R"([{"type":"int"},{"type":"float"}]},{"type":"std::function","args":[{"type":"int"},)"
     R"([{"type":"bool"},{"type":"Any"}]]},{"type":"ffi.Function","named_args":{"return":)"
     R"([{"type":"int"}]}}]})",
     "f(Callable[[float], int], Callable[[bool, Any], int], Callable[..., int]) -> Callable"},
    {"CallableWithoutAResult",
     R"({"type":"ffi.Function","named_args":{"return":[{"type":"ffi.Function","named_args":)"
     R"({"params":[{"type":"void*"}]}}],"params":[{"type":"ObjectRValueRef","args":)"
     R"([{"type":"ffi.Array"}]}]}})",
     "f(Object[Array]) -> Callable[[ctypes.c_void_p], Any]"},
    {"OwnTypes",
     R"({"type":"ffi.Function","args":[{"type":"example.Counter"},{"type":"ffi.Object"},)"
     R"({"type":"ffi.reflection.AccessPath"}]})",
     "f(Object, ffi.reflection.AccessPath) -> example.Counter"}};

class SignatureText : public ::testing::TestWithParam<SchemaCase> {};

TEST_P(SignatureText, IsThatOfTheSchema) {
  const auto text = signature_text("f", metadata_of(GetParam().schema));
  const auto object =
      signature_text("f", gantry::concat(R"({"type_schema":)", GetParam().schema, "}"));

  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, GetParam().expected);
  ASSERT_TRUE(object.ok()) << object.error().message;
  EXPECT_EQ(*object, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(Schemas, SignatureText, ::testing::ValuesIn(signatures),
                         [](const auto& test) { return std::string(test.param.name); });

constexpr SchemaCase refusals[] = {
    {"NoJson", "f(int)", "type schema is not JSON"},
    {"Truncated", R"({"type":"ffi.Function","args":[)", "type schema is not JSON: ends after"},
    {"AList", "[]", "type schema: type is a list, expected an object"},
    {"NoFunction", R"({"type":"int"})", "type schema: type is \"int\", expected a function"},
    {"NoType", "{}", "type schema: object has no \"type\""},
    {"NumericType", R"({"type":1})", "type schema: \"type\" is a number, expected a name"},
    {"EmptyType", R"({"type":"ffi.Function","args":[{"type":""}]})",
     "type schema: \"type\" is empty, expected a name"},
    {"ArgsNoList", R"({"type":"ffi.Function","args":{}})",
     "type schema: \"args\" is an object, expected a list"},
    {"ArgNoType", R"({"type":"ffi.Function","args":[null]})",
     "type schema: type is null, expected an object"},
    {"CountNoType", R"({"type":"ffi.Function","args":[{"type":"Tuple","args":[3]}]})",
     "type schema: type is a number, expected an object"},
    {"ListNoType", R"({"type":"ffi.Function","args":[{"type":"int"},[{"type":"bool"}]]})",
     "type schema: type is a list, expected an object"},
    {"GroupsNoObject", R"({"type":"ffi.Function","named_args":[]})",
     "type schema: \"named_args\" is a list, expected an object"},
    {"TwoResults",
     R"({"type":"ffi.Function","named_args":{"return":[{"type":"int"},{"type":"int"}]}})",
     "type schema: \"return\" has 2 types, expected 1"},
    {"ParametersInAParameter",
     R"({"type":"ffi.Function","args":[{"type":"int"},{"type":"int"},[{"type":"int"}]]})",
     "type schema: type is a list, expected an object"}};

class SignatureRefusal : public ::testing::TestWithParam<SchemaCase> {};

TEST_P(SignatureRefusal, StatesWhatIsWrong) {
  const auto text = signature_text("f", metadata_of(GetParam().schema));

  ASSERT_FALSE(text.ok()) << *text;
  EXPECT_EQ(text.error().code, Code::malformed);
  EXPECT_THAT(text.error().message.text(), HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(Schemas, SignatureRefusal, ::testing::ValuesIn(refusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SignatureOfMetadata, IsRefusedWithoutASchema) {
  EXPECT_EQ(signature_text("f", "[1]").error().message, "metadata has no \"type_schema\"");
  EXPECT_THAT(signature_text("f", "").error().message.text(), HasSubstr("metadata is not JSON"));
}

TEST(SignatureOfMetadata, IsBounded) {
  const std::string open = R"({"type":"Optional","args":[)", close = "]}";
  std::string inner = R"({"type":"int"})";
  for (int i = 0; i < 40; ++i) inner = open + inner + close;
  const std::string deep = gantry::concat(R"({"type":"ffi.Function","args":[)", inner, "]}");

  EXPECT_THAT(signature_text("f", metadata_of(deep)).error().message.text(),
              HasSubstr("is nested deeper than 64"));
}

}  // namespace
}  // namespace gantry
