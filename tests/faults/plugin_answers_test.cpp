// SPDX-License-Identifier: Apache-2.0
//
// A plugin that returns a wrong table, number, text or object is named in the error; the process
// continues.
#include "tests/faults/plugin_at_work.hpp"
#include "tests/support/built_plugins.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace gantry {
namespace {

using test::Breaker;
using test::breaker;
using Plugin = test::PluginAtWork;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One wrong table or result per row.
struct Wrong {
  const char* name;
  void (*breaks)(Breaker&);
  Code code;
  const char* reason;
  // expected in the error, with the plugin's name
  const char* text;
};

class PluginThatIsWrong : public Plugin, public testing::WithParamInterface<Wrong> {};

TEST_P(PluginThatIsWrong, IsNamed) {
  GetParam().breaks(breaker());

  const Status done = work();

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, GetParam().code) << done.error().message;
  EXPECT_EQ(done.error().reason, GetParam().reason) << done.error().message;
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("test.breaker"), HasSubstr(GetParam().text)));
}

gantry_code no_function(void*, gantry_bytes, gantry_function*, gantry_status*) {
  return GANTRY_NOT_FOUND;
}
void nothing(void*) {}
constexpr gantry_module_table kShortModule = {
    .struct_size = 16, .type_name = "short", .destroy = nothing, .get_function = no_function};
constexpr gantry_module_table kNoGetFunction = {
    .struct_size = sizeof(gantry_module_table), .type_name = "no_get_function", .destroy = nothing};
constexpr gantry_module_table kNoDestroy = {.struct_size = sizeof(gantry_module_table),
                                            .type_name = "no_destroy",
                                            .get_function = no_function};
constexpr gantry_function_table kShortFunction = {
    .struct_size = 8,
    .call = [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
               gantry_status*) -> gantry_code { return GANTRY_OK; }};
constexpr gantry_function_table kNoCall = {.struct_size = sizeof(gantry_function_table)};
constexpr gantry_function_info kShortInfo = {.struct_size = 8};

// The correct device table with one field changed.
template <auto change>
const gantry_device_table* changed_device() {
  static const gantry_device_table table = [] {
    gantry_device_table made = test::right_device_table();
    change(made);
    return made;
  }();
  return &table;
}
alignas(64) char block[128];

gantry_code answer(gantry_value* result, std::int32_t kind, std::int64_t bits = 0) {
  result->kind = kind;
  result->i = bits;
  return GANTRY_OK;
}

INSTANTIATE_TEST_SUITE_P(
    By, PluginThatIsWrong,
    testing::Values(
        Wrong{"AShortModuleTable", [](Breaker& b) { b.module_table = &kShortModule; },
              Code::malformed, "STRUCT_SIZE",
              "gantry_module_table has struct_size 16, minimum is 64"},
        Wrong{"AModuleWithoutGetFunction", [](Breaker& b) { b.module_table = &kNoGetFunction; },
              Code::malformed, "FUNCTION_MISSING", "get_function"},
        Wrong{"AModuleWithoutDestroy", [](Breaker& b) { b.module_table = &kNoDestroy; },
              Code::malformed, "FUNCTION_MISSING", "destroy"},
        Wrong{"AShortFunctionTable", [](Breaker& b) { b.function_table = &kShortFunction; },
              Code::bug, "TABLE_INCOMPLETE", "returns a function without `call`"},
        Wrong{"AFunctionWithoutCall", [](Breaker& b) { b.function_table = &kNoCall; }, Code::bug,
              "TABLE_INCOMPLETE", "returns a function without `call`"},
        Wrong{"AFunctionWithoutTable", [](Breaker& b) { b.function_without_table = true; },
              Code::bug, "TABLE_INCOMPLETE", "returns a function without `call`"},
        Wrong{"AShortFunctionInfo", [](Breaker& b) { b.function_info = &kShortInfo; },
              Code::malformed, "STRUCT_SIZE",
              "gantry_function_info has struct_size 8, minimum is 40"},
        Wrong{"NoFunctionInfo", [](Breaker& b) { b.function_info = nullptr; }, Code::malformed,
              "FUNCTION_MISSING", "gantry_function_info is empty"},
        Wrong{"ConsumingTooMuch", [](Breaker& b) { b.consumed = 100000; }, Code::bug,
              "BLOB_CONSUMED", "reports that it has consumed 100000 bytes"},
        Wrong{"ConsumingNothing", [](Breaker& b) { b.consumed = 0; }, Code::bug, "BLOB_CONSUMED",
              "reports that it has consumed 0 bytes"},
        Wrong{"ACodeThatIsNone",
              [](Breaker& b) { b.fails_in = "load_binary", b.code = 99, b.error_text = "?"; },
              Code::bug, "STATUS_CODE", "returns 99, which is not a code"},
        Wrong{"ANegativeCode",
              [](Breaker& b) { b.fails_in = "create", b.code = -1, b.error_text = "?"; }, Code::bug,
              "CREATE_FAILED", "returns -1, which is not a code"},
        Wrong{"WritingAModuleAlthoughItFails",
              [](Breaker& b) {
                b.fails_in = "load_binary", b.error_text = "no", b.writes_although_it_fails = true;
              },
              Code::unavailable, "TEST", "writes a module although it fails"},
        Wrong{"WritingAFunctionAlthoughItFails",
              [](Breaker& b) {
                b.fails_in = "get_function", b.error_text = "no", b.writes_although_it_fails = true;
              },
              Code::unavailable, "TEST", "writes a function although it fails"},
        Wrong{"WritingAResultAlthoughItFails",
              [](Breaker& b) {
                b.call = [](gantry_value* result, gantry_status* status) -> gantry_code {
                  answer(result, GANTRY_INT);
                  return gantry_fail(status, GANTRY_INVALID, "TEST", "no");
                };
              },
              Code::invalid, "TEST", "writes a result although it fails"},
        Wrong{"AResultOfAReservedKind",
              [](Breaker& b) {
                b.call = [](gantry_value* result, gantry_status*) { return answer(result, 20, 8); };
              },
              Code::bug, "RESULT_KIND", "which is not a kind of result"},
        Wrong{"AnObjectAtAddressZero",
              [](Breaker& b) {
                b.call = [](gantry_value* result, gantry_status*) { return answer(result, 99); };
              },
              Code::bug, "RESULT_KIND", "returns an object of kind 99 at address 0"},
        Wrong{"AResultThatIsLent",
              [](Breaker& b) {
                b.call = [](gantry_value* result, gantry_status*) {
                  return answer(result, GANTRY_TENSOR_REF, 8);
                };
              },
              Code::bug, "RESULT_KIND", "which is not a kind of result"},
        Wrong{"MakingAFunctionWithoutCall",
              [](Breaker& b) {
                b.call = [](gantry_value* result, gantry_status* status) -> gantry_code {
                  const gantry_host* host = breaker().host;
                  return host->function_new(host, nullptr, {nullptr, &kNoCall}, 0, result, status);
                };
              },
              Code::bug, "TABLE_INCOMPLETE", "a global returns a function without `call`"},
        Wrong{
            "MakingAModuleWithAShortTable",
            [](Breaker& b) {
              b.call = [](gantry_value* result, gantry_status* status) -> gantry_code {
                const gantry_host* host = breaker().host;
                return host->module_new(host, nullptr, {nullptr, &kShortModule}, 0, result, status);
              };
            },
            Code::malformed, "STRUCT_SIZE", "gantry_module_table has struct_size 16"},
        Wrong{"ALoaderForADeviceThatIsNowhere", [](Breaker& b) { b.loader_device = "nowhere"; },
              Code::not_found, "", "device \"nowhere\" not found; devices: cpu, breaker"},
        Wrong{"ADeviceNumberThatIsNone",
              [](Breaker& b) {
                b.device_table = changed_device<[](auto& table) { table.type = 70; }>();
              },
              Code::invalid, "CREATE_FAILED", "number is 70, expected a DLPack number"},
        Wrong{"ADeviceCountBelowZero",
              [](Breaker& b) {
                b.device_table = changed_device<[](auto& table) {
                  table.count = [](void*, std::int32_t* count, gantry_status*) -> gantry_code {
                    return *count = -1, GANTRY_OK;
                  };
                }>();
              },
              Code::bug, "DEVICE_COUNT", "reports -1 devices"},
        Wrong{"MemoryThatIsNotThere",
              [](Breaker& b) {
                b.device_table = changed_device<[](auto& table) {
                  table.alloc = [](void*, std::int32_t, const gantry_alloc*, void**,
                                   gantry_status*) -> gantry_code { return GANTRY_OK; };
                }>();
              },
              Code::bug, "DEVICE_ALLOC", "alloc of 16 bytes succeeds but returns NULL"},
        Wrong{"MemoryBesideItsAlignment",
              [](Breaker& b) {
                b.device_table = changed_device<[](auto& table) {
                  table.flags = 0;
                  table.alloc = [](void*, std::int32_t, const gantry_alloc*, void** data,
                                   gantry_status*) -> gantry_code {
                    return *data = block + 8, GANTRY_OK;
                  };
                  table.free = [](void*, std::int32_t, void*) {};
                }>();
              },
              Code::bug, "DEVICE_ALLOC",
              "alloc of 16 bytes returns an address that is not a multiple of "},
        Wrong{"SayingNothing", [](Breaker& b) { b.fails_in = "load_binary"; }, Code::unavailable,
              "TEST", "fails as unavailable without a reason"},
        Wrong{"ATextThatIsNotUtf8",
              [](Breaker& b) { b.fails_in = "load_binary", b.error_text = "caf\xe9"; },
              Code::unavailable, "TEST", "caf\\xe9"},
        Wrong{"ATextThatIsNotUtf8InCreate",
              [](Breaker& b) { b.fails_in = "create", b.error_text = "\xff"; }, Code::unavailable,
              "CREATE_FAILED", "create of plugin test.breaker returns a text that is not UTF-8"},
        Wrong{"ATextThatIsNotUtf8InACall",
              [](Breaker& b) { b.fails_in = "call", b.error_text = "caf\xe9"; }, Code::unavailable,
              "TEST", "returns a text that is not UTF-8"},
        Wrong{"AResultThatIsNotUtf8", [](Breaker& b) { b.text = "caf\xe9"; }, Code::invalid,
              "TEXT_UTF8", "passes a string that is not UTF-8"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Plugin, IsNamedForATextThatIsNotUtf8AlsoIfAGraphCallsIt) {
  breaker().fails_in = "call";
  breaker().error_text = "caf\xe9";
  const Runtime made = runtime({test::built_plugins("graph")});
  const Module module = made.load(graph_file()).value();
  const Model model = made.model(module).value();
  const std::int64_t shape[] = {2, 2};
  const Tensor ones = made.tensor(shape, {2, 32, 1}).value();

  const auto ran = model.function().value().run({{"x", ones}, {"p0", ones}});

  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().reason, "TEST");
  EXPECT_THAT(ran.error().message.text(),
              AllOf(HasSubstr("caf\\xe9\n  a function of entry 1 \"test.break\""),
                    HasSubstr("(plugin test.breaker) returns a text that is not UTF-8"),
                    Not(HasSubstr("gantry.graph returns a text"))));
}

// Device attributes are listed for users: a table that breaks the rules adds a problem and does not
// fail the list.
struct WrongAttribute {
  const char* name;
  std::function<gantry_code(gantry_value*, gantry_status*)> attribute;
  const char* text;
};
class PluginWithAWrongAttribute : public Plugin,
                                  public testing::WithParamInterface<WrongAttribute> {};

TEST_P(PluginWithAWrongAttribute, IsNamedAmongTheProblems) {
  breaker().attribute = GetParam().attribute;
  Runtime made = runtime();

  const auto [devices, problems] = made.devices().value();

  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[1].name, "breaker");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0],
            concat("attribute name of device breaker (plugin test.breaker) ", GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    By, PluginWithAWrongAttribute,
    testing::Values(
        WrongAttribute{"Throwing",
                       [](auto*, auto*) -> gantry_code { throw std::runtime_error("thrown"); },
                       "throws: thrown"},
        WrongAttribute{"ACodeThatIsNone", [](auto*, auto*) -> gantry_code { return 77; },
                       "returns 77, which is not a code"},
        WrongAttribute{"AKindThatIsNone", [](auto* value, auto*) { return answer(value, 99, 8); },
                       "returns a value that is of kind 99, expected a number or a text"},
        WrongAttribute{"ALentText",
                       [](auto* value, auto*) { return answer(value, GANTRY_CSTRING, 8); },
                       "returns a value that is a string, expected a number or a text"},
        WrongAttribute{"ATextThatIsNotThere",
                       [](auto* value, auto*) { return answer(value, GANTRY_STRING); },
                       "returns a text at address 0"},
        WrongAttribute{"ATextThatIsNotUtf8",
                       [](gantry_value* value, gantry_status* status) {
                         const gantry_host* host = breaker().host;
                         const gantry_code code = host->text_new(
                             host, GANTRY_BYTES, gantry_text("no more caf\xe9"), value, status);
                         value->object->kind = value->kind = GANTRY_STRING;
                         return code;
                       },
                       "returns a text that is not UTF-8, no more caf\\xe9"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Plugin, HasAttributesThatAreTexts) {
  breaker().attribute = [](gantry_value* value, gantry_status* status) {
    const gantry_host* host = breaker().host;
    return host->text_new(host, GANTRY_STRING, gantry_text("a unit of 2026"), value, status);
  };
  Runtime made = runtime();

  const auto [devices, problems] = made.devices().value();

  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_THAT(devices[1].attributes,
              ::testing::Contains(::testing::Pair("name", "a unit of 2026")));
}

}  // namespace
}  // namespace gantry
