// SPDX-License-Identifier: Apache-2.0
//
// The functions of gantry_host that a plugin calls outside a call of its own, and the arguments
// that they refuse.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/native/device_numbers.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>

#include <optional>

namespace gantry {
namespace {

using test::program_plugin;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr gantry_function_table kNothing = {
    .struct_size = sizeof(gantry_function_table),
    .call = [](void*, const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
               gantry_status*) -> gantry_code { return GANTRY_OK; }};
constexpr gantry_module_table kEmpty = {
    .struct_size = sizeof(gantry_module_table),
    .type_name = "empty",
    .destroy = [](void*) {},
    .get_function = [](void*, gantry_bytes, gantry_function*, gantry_status*) -> gantry_code {
      return GANTRY_NOT_FOUND;
    }};

class HostTable : public test::PluginInUse {
 protected:
  explicit HostTable(const char* log_level = "") {
    RuntimeOptions options;
    options.log_level = log_level;
    options.log_sink = [this](std::int32_t level, std::string_view line) {
      lines.push_back(concat(level, ' ', line));
    };
    runtime = with_plugin(std::move(options));
    module = runtime->load(file_of({{"test.block", "x"}})).value();
    host = program_plugin().host;
    lines.clear();
  }

  // Calls a function of the table.
  //
  // returns  OK, or the error that it reports
  template <class Call>
  static Status done(Call call) {
    StatusBuffer status;
    const gantry_code code = status.call(call);
    if (code == GANTRY_OK) return {};
    return status.error(code, "the host");
  }
  Value text(std::string_view content) const {
    Value made;
    EXPECT_EQ(
        host->text_new(host, GANTRY_STRING, {content.data(), content.size()}, made.slot(), nullptr),
        GANTRY_OK);
    return made;
  }
  Status module_of(std::int32_t device_type) const {
    Value made;
    return done([&](gantry_status* status) {
      return host->module_new(host, nullptr, {nullptr, &kEmpty}, device_type, made.slot(), status);
    });
  }
  Status function_of(std::int32_t device_type) const {
    Value made;
    return done([&](gantry_status* status) {
      return host->function_new(host, nullptr, {nullptr, &kNothing}, device_type, made.slot(),
                                status);
    });
  }

  std::vector<std::string> lines;
  std::optional<Runtime> runtime;
  Module module;
  const gantry_host* host = nullptr;
};

class HostLog : public HostTable {
 protected:
  HostLog() : HostTable("debug") {}
};

TEST_F(HostLog, HasThePluginsNameAndItsLevel) {
  host->log(host, GANTRY_LOG_WARNING, gantry_text("hot"));
  host->log(host, GANTRY_LOG_DEBUG, gantry_text("cold"));

  EXPECT_THAT(lines, ElementsAre("1 test.program: hot", "3 test.program: cold"));
}

TEST_F(HostLog, ReplacesLevelsOutOfRangeByTheNearest) {
  host->log(host, -1, gantry_text("low"));
  host->log(host, 4, gantry_text("high"));

  EXPECT_THAT(lines, ElementsAre("0 test.program: low", "3 test.program: high"));
}

TEST_F(HostTable, LogsNothingAboveTheLevelOfTheRuntime) {
  host->log(host, GANTRY_LOG_INFO, gantry_text("hidden"));
  host->log(host, GANTRY_LOG_WARNING, gantry_text("shown"));

  EXPECT_THAT(lines, ElementsAre("1 test.program: shown"));
}

TEST_F(HostTable, IsNotCancelledWithoutATask) {
  const gantry_env env{};

  EXPECT_EQ(host->is_cancelled(host, nullptr), 0);
  EXPECT_EQ(host->is_cancelled(host, &env), 0);
}

TEST_F(HostTable, AcceptsBytesThatAreNotUtf8) {
  Value made;

  EXPECT_EQ(host->text_new(host, GANTRY_BYTES, gantry_text("caf\xe9"), made.slot(), nullptr),
            GANTRY_OK);
}

TEST_F(HostTable, ReturnsTheItemsOfArraysAndMaps) {
  const gantry_value pair[] = {int_value(3), int_value(4)};
  for (const std::int32_t kind : {GANTRY_ARRAY, GANTRY_MAP}) {
    Value made;
    ASSERT_EQ(host->items_new(host, kind, pair, 2, made.slot(), nullptr), GANTRY_OK);
    const gantry_value* items = nullptr;
    std::uint64_t count = 0;

    ASSERT_EQ(host->items_get(host, made.get().object, &items, &count, nullptr), GANTRY_OK);

    ASSERT_EQ(count, 2u);
    EXPECT_EQ(items[0].i, 3);
    EXPECT_EQ(items[1].i, 4);
  }
}

TEST_F(HostTable, WritesNoObjectIfItRefusesItsContent) {
  const gantry_value key = int_value(3);
  gantry_value out = int_value(7);

  const Status refused = done([&](gantry_status* status) {
    return host->items_new(host, GANTRY_MAP, &key, 1, &out, status);
  });

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid);
  EXPECT_EQ(out.kind, GANTRY_INT);
  EXPECT_EQ(out.i, 7);
}

TEST_F(HostTable, MakesNoItemsOfValuesAtAddress0) {
  gantry_value items[] = {int_value(1), {}}, out{};
  items[1].kind = GANTRY_TENSOR;

  const Status refused = done([&](gantry_status* status) {
    return host->items_new(host, GANTRY_ARRAY, items, 2, &out, status);
  });

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(refused.error().message, "items_new: items[1] is a tensor at address 0");
}

TEST_F(HostTable, ReturnsNoItemsOfOtherObjects) {
  const Value long_text = text("a text of an object");
  const gantry_value* items = nullptr;
  std::uint64_t count = 0;
  const auto items_of = [&](gantry_object* object) {
    return done([&](gantry_status* status) {
      return host->items_get(host, object, &items, &count, status);
    });
  };

  const Status of_text = items_of(long_text.get().object), of_null = items_of(nullptr);

  EXPECT_EQ(of_text.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(of_text.error().message,
            "items_get: the object is of kind 65, expected an array (kind 71) or a map (kind 72)");
  EXPECT_EQ(of_null.error().message,
            "items_get: the object is NULL, expected an array (kind 71) or a map (kind 72)");
}

TEST_F(HostTable, RefusesObjectTypesWithoutNameOrDestroy) {
  constexpr auto nothing = [](void*) {};
  constexpr std::uint32_t size = sizeof(gantry_object_type);
  const gantry_object_type no_name{size, 0, nullptr, nothing}, no_destroy{size, 0, "a", nullptr},
      cut{offsetof(gantry_object_type, destroy), 0, "a", nothing};
  for (const gantry_object_type* type :
       std::initializer_list<const gantry_object_type*>{nullptr, &no_name, &no_destroy, &cut}) {
    Value made;

    const Status refused = done([&](gantry_status* status) {
      return host->object_new(host, type, nullptr, made.slot(), status);
    });

    EXPECT_EQ(refused.error().code, Code::bug);
    EXPECT_EQ(refused.error().reason, "TABLE_INCOMPLETE");
    EXPECT_EQ(refused.error().message,
              "object_new: plugin test.program passes a type without `name` or `destroy`");
  }
}

TEST_F(HostTable, AcceptsDeviceTypesUpToTheLast) {
  EXPECT_TRUE(function_of(0).ok());
  EXPECT_TRUE(function_of(127).ok());
  EXPECT_TRUE(module_of(127).ok());
}

TEST_F(HostTable, RefusesDeviceTypesOutOfRange) {
  EXPECT_EQ(function_of(-1).error().message, "function_new: device type is -1, range is 0 to 127");
  EXPECT_EQ(module_of(128).error().message, "module_new: device type is 128, range is 0 to 127");
}

TEST_F(HostTable, CallsOnlyFunctions) {
  gantry_value result{};
  const Value other = text("a text of an object");
  for (gantry_object* object : {static_cast<gantry_object*>(nullptr), other.get().object}) {
    const Status refused = done([&](gantry_status* status) {
      return host->call(host, object, nullptr, nullptr, 0, &result, status);
    });

    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().message, "call: the object is not a function");
  }
}

TEST_F(HostTable, FindsAndCallsAFunctionOfAModule) {
  gantry_object* function = nullptr;
  Value result;

  ASSERT_EQ(
      host->find(host, module.get(), GANTRY_FIND_SELF, gantry_text("text"), &function, nullptr),
      GANTRY_OK);
  const gantry_code code = host->call(host, function, nullptr, nullptr, 0, result.slot(), nullptr);
  gantry_release(function);

  EXPECT_EQ(code, GANTRY_OK);
  EXPECT_EQ(value_text(result.get()), "x");
}

TEST_F(HostTable, FindsNoFunctionThatAModuleDoesNotHave) {
  gantry_object* function = nullptr;

  EXPECT_EQ(
      host->find(host, module.get(), GANTRY_FIND_SELF, gantry_text("other"), &function, nullptr),
      GANTRY_NOT_FOUND);
  EXPECT_EQ(function, nullptr);
}

TEST_F(HostTable, ReturnsAnEmptyReferenceForAnOptionalFunctionThatNobodyHas) {
  const auto found = Host(host).find_optional(module.get(), GANTRY_FIND_SELF, "other");

  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->get(), nullptr);
}

TEST_F(HostTable, FindsAnOptionalFunctionOfAModule) {
  const auto found = Host(host).find_optional(module.get(), GANTRY_FIND_SELF, "text");

  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_NE(found->get(), nullptr);
}

TEST_F(HostTable, ReportsWhyTheLookUpOfAnOptionalFunctionFails) {
  const auto found = Host(host).find_optional(nullptr, GANTRY_FIND_SELF, "text");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::invalid);
  EXPECT_EQ(found.error().message, "find: the object is NULL, expected a module (kind 73)");
}

TEST_F(HostTable, DescribesOnlyModules) {
  gantry_module_info info{};
  info.struct_size = sizeof info;

  const Status refused =
      done([&](gantry_status* status) { return host->module_info(host, nullptr, &info, status); });

  EXPECT_EQ(refused.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(refused.error().message,
            "module_info: the object is NULL, expected a module (kind 73)");
}

TEST_F(HostTable, DescribesAModuleWithoutAPlugin) {
  const Module missing =
      runtime->load(file_of({{"test.block", "x"}, {"acme.npu", "x"}}), {.allow_missing = true})
          .value()
          .imports()
          .value()
          .front();
  gantry_module_info info{};
  info.struct_size = sizeof info;
  info.flags = 7;
  info.zero = 7;

  ASSERT_EQ(host->module_info(host, missing.get(), &info, nullptr), GANTRY_OK);

  EXPECT_EQ(info.flags, 0u);
  EXPECT_EQ(info.zero, 0u);
  EXPECT_EQ(std::string_view(info.type_key.data, info.type_key.size), "acme.npu");
}

// A parent's code and that of the modules that it creates have the same device numbers.
TEST_F(HostTable, CreatesModulesThatReachTheDevicesOfTheirParent) {
  const std::int32_t npu = program_plugin().device_number;
  const Module parent = runtime->load(file_of({{"test.block", "a"}, {"test.unit", "b"}})).value();
  Value made;
  std::int32_t type = 0;

  ASSERT_EQ(host->module_new(host, parent.get(), {nullptr, &kEmpty}, 0, made.slot(), nullptr),
            GANTRY_OK);
  ASSERT_EQ(host->device_type_in(host, made.get().object, kExtDev, &type, nullptr), GANTRY_OK);

  EXPECT_EQ(type, npu);
}

// Its imports refer to data of the parent's file.
TEST_F(HostTable, CreatesModulesThatKeepTheirParent) {
  Value made;
  Module parent = runtime->load(file_of({{"test.block", "a"}})).value();
  const int before = program_plugin().modules;
  ASSERT_EQ(host->module_new(host, parent.get(), {nullptr, &kEmpty}, 0, made.slot(), nullptr),
            GANTRY_OK);

  parent = {};
  EXPECT_EQ(program_plugin().modules, before);

  made = {};
  EXPECT_EQ(program_plugin().modules, before - 1);
}

TEST_F(HostTable, CreatesFunctionsThatKeepTheirParent) {
  Value made;
  Module parent = runtime->load(file_of({{"test.block", "a"}})).value();
  const int before = program_plugin().modules;
  ASSERT_EQ(host->function_new(host, parent.get(), {nullptr, &kNothing}, 0, made.slot(), nullptr),
            GANTRY_OK);

  parent = {};
  EXPECT_EQ(program_plugin().modules, before);

  made = {};
  EXPECT_EQ(program_plugin().modules, before - 1);
}

TEST_F(HostTable, CreatesNothingBelowAnObjectThatIsNotAModule) {
  const Value other = text("a text of an object");
  Value made;

  const Status function = done([&](gantry_status* status) {
    return host->function_new(host, other.get().object, {nullptr, &kNothing}, 0, made.slot(),
                              status);
  });

  EXPECT_EQ(function.error().message,
            "function_new: the object is of kind 65, expected a module (kind 73)");
}

TEST_F(HostTable, ReturnsTheDeviceOfAnIndex) {
  const std::int32_t npu = program_plugin().device_number;
  gantry_device found{};

  ASSERT_EQ(host->device_get(host, {npu, 1}, &found, nullptr), GANTRY_OK);

  EXPECT_EQ(found.self, &program_plugin());
  EXPECT_EQ(std::string_view(found.table->name), "test_npu");
  EXPECT_EQ(found.id.type, npu);
  EXPECT_EQ(found.id.index, 1);
}

TEST_F(HostTable, ReturnsNoDeviceOfAnIndexOutOfRange) {
  for (const std::int32_t index : {-1, 2}) {
    gantry_device found{};

    const Status refused = done([&](gantry_status* status) {
      return host->device_get(host, {program_plugin().device_number, index}, &found, status);
    });

    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::not_found);
    EXPECT_THAT(refused.error().message, HasSubstr(concat("device \"test_npu:", index,
                                                          "\" not found; test_npu has 2 devices")));
  }
}

TEST_F(HostTable, ReturnsNoNumberOfAnUnknownDevice) {
  std::int32_t type = 0;

  EXPECT_EQ(host->device_type(host, gantry_text("acme_npu"), &type, nullptr), GANTRY_NOT_FOUND);
}

TEST_F(HostTable, ReturnsTheDevicesThatRuntimesReturn) {
  const std::int32_t npu = program_plugin().device_number;

  EXPECT_EQ(runtime->device_table({npu, 1})->self, &program_plugin());
  EXPECT_EQ(runtime->device_table({npu, 2}).error().message,
            "device \"test_npu:2\" not found; test_npu has 2 devices");
}

}  // namespace
}  // namespace gantry
