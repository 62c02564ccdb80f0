// SPDX-License-Identifier: Apache-2.0
//
// Values, errors, modules and functions that a plugin creates.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/engine/module/module.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <optional>

namespace gantry {
namespace {

using test::PluginInUse;
using test::program_plugin;
using ::testing::HasSubstr;

// A module without functions.
constexpr gantry_module_table made_table = {
    .struct_size = sizeof(gantry_module_table),
    .type_name = "made",
    .destroy = [](void*) {},
    .get_function = [](void*, gantry_bytes, gantry_function*, gantry_status*) -> gantry_code {
      return GANTRY_NOT_FOUND;
    }};

TEST_F(PluginInUse, IsOpenedWhenAFileNeedsItAndDestroyedAfterItsLastModule) {
  std::optional<Module> module;
  {
    Runtime runtime = with_plugin();
    EXPECT_EQ(program_plugin().instances, 0);
    module = runtime.load(file_of({{"test.block", "hello"}})).value();
  }
  EXPECT_EQ(program_plugin().instances, 1);
  EXPECT_EQ(module->function("text").value()()->text().value(), "hello");

  module.reset();

  EXPECT_EQ(program_plugin().modules, 0);
  EXPECT_EQ(program_plugin().instances, 0);
}

// Calls host functions of the plugin inside its function "call".
#define IN_CALL(BODY)                                                             \
  [&](const gantry_env*, [[maybe_unused]] const gantry_value* args, std::int32_t, \
      [[maybe_unused]] gantry_value* result,                                      \
      [[maybe_unused]] gantry_status* status) -> gantry_code {                    \
    [[maybe_unused]] const gantry_host* const host = program_plugin().host;       \
    BODY return GANTRY_OK;                                                        \
  }

class HostMakes : public PluginInUse, public testing::WithParamInterface<std::size_t> {};

TEST_P(HostMakes, CanonicalValues) {
  Runtime runtime = with_plugin();
  const std::string text(GetParam(), 'x');

  const auto made =
      run(runtime, IN_CALL(return host->text_new(host, GANTRY_STRING, {text.data(), text.size()},
                                                 result, status);));

  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->value().kind, text.size() <= 7 ? GANTRY_SMALL_STRING : GANTRY_STRING);
  EXPECT_EQ(gantry_value_is_canonical(&made->value()), 1);
  EXPECT_EQ(made->text().value(), text);
}
INSTANTIATE_TEST_SUITE_P(Texts, HostMakes, testing::Values(0u, 1u, 7u, 8u, 100u));

TEST_F(PluginInUse, RaisesAnErrorObjectThatReachesTheCaller) {
  Runtime runtime = with_plugin();

  const auto failed =
      run(runtime, IN_CALL({
            gantry_error what{};
            what.kind = gantry_text("ValueError");
            what.message = gantry_text("n must be larger than 3");
            gantry_value error{};
            if (const gantry_code code = host->error_new(host, &what, &error, status)) return code;
            gantry_fail(status, GANTRY_INVALID, "RAISED", "ValueError: n must be larger than 3");
            status->error = error.object;
            return GANTRY_INVALID;
          }));

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().reason, "RAISED");
  ASSERT_TRUE(failed.error().raised);
  const gantry_value value{GANTRY_ERROR, 0, {.object = failed.error().raised.get()}};
  const gantry_bytes kind = gantry_value_error(&value)->kind;
  EXPECT_EQ(std::string(kind.data, kind.size), "ValueError");
}

TEST_F(PluginInUse, HoldsItsOwnObjectsAndIsDestroyedAfterThem) {
  static int destroyed_with;
  static constexpr gantry_object_type type{sizeof(gantry_object_type), 0, "test.Cache", [](void*) {
                                             destroyed_with = program_plugin().instances;
                                           }};
  destroyed_with = -1;
  Any object;
  {
    Runtime runtime = with_plugin();
    int number = 5;
    const auto made =
        run(runtime, IN_CALL({ return host->object_new(host, &type, &number, result, status); }));
    ASSERT_TRUE(made.ok()) << made.error().message;
    object = *made;
    void* self = nullptr;
    const gantry_value arg = object.value();
    const auto read = run(
        runtime, IN_CALL({ return host->object_get(host, args[0].object, &type, &self, status); }),
        {&arg, 1});
    EXPECT_TRUE(read.ok());
    EXPECT_EQ(self, &number);
  }
  EXPECT_EQ(destroyed_with, -1);

  object = {};

  EXPECT_EQ(destroyed_with, 1) << "the plugin is there when its object goes";
  EXPECT_EQ(program_plugin().instances, 0);
}

TEST_F(PluginInUse, CannotPassUnknownFlags) {
  Runtime runtime = with_plugin();
  gantry_tensor like{};
  like.device = {1, 0};
  like.dtype = {2, 32, 1};

  const auto tensor =
      run(runtime, IN_CALL({ return host->tensor_new(host, &like, {}, 1, result, status); }));
  const auto view =
      run(runtime, IN_CALL({ return host->tensor_view(host, &like, nullptr, 4, result, status); }));

  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, Code::unsupported);
  EXPECT_EQ(tensor.error().reason, "FLAGS");
  EXPECT_EQ(tensor.error().message, "tensor_new: flags are 0x1, this version defines none");
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().message, "tensor_view: flags are 0x4, this version defines none");
}

TEST_F(PluginInUse, CreatesModulesAndFunctionsOfADevice) {
  Runtime runtime = with_plugin();
  static constexpr gantry_function_table where_table{
      sizeof(gantry_function_table), 0, nullptr,
      [](void*, const gantry_env* env, const gantry_value*, std::int32_t, gantry_value* result,
         gantry_status*) -> gantry_code {
        result->kind = GANTRY_DEVICE;
        result->device = env->device;
        return GANTRY_OK;
      }};
  static constexpr gantry_module_table table = {
      .struct_size = sizeof(gantry_module_table),
      .flags = GANTRY_MODULE_SERIAL,
      .type_name = "made",
      .destroy = [](void*) {},
      .get_function = [](void* self, gantry_bytes, gantry_function* out,
                         gantry_status*) -> gantry_code {
        *out = {self, &where_table};
        return GANTRY_OK;
      }};
  std::int32_t npu = 0;
  gantry_module_info info{};
  info.struct_size = sizeof info;

  const auto module = run(
      runtime, IN_CALL({
        if (const gantry_code code = host->device_type(host, gantry_text("test_npu"), &npu, status))
          return code;
        return host->module_new(host, nullptr, {nullptr, &table}, npu, result, status);
      }));
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto on_device = module->module()->function("where").value()();
  const auto function =
      run(runtime, IN_CALL({
            return host->function_new(host, nullptr, {nullptr, &where_table}, npu, result, status);
          }));
  const auto called = function->function().value()();
  const gantry_value arg = module->value();
  const auto described =
      run(runtime, IN_CALL({ return host->module_info(host, args[0].object, &info, status); }),
          {&arg, 1});

  EXPECT_EQ(on_device->value().device.type, npu);
  EXPECT_EQ(called->value().device.type, npu);
  ASSERT_TRUE(described.ok());
  EXPECT_EQ(info.flags, std::uint32_t{GANTRY_MODULE_SERIAL});
  EXPECT_EQ(std::string(info.type_key.data, info.type_key.size), "made");
  EXPECT_EQ(info.device_type, npu);
}

TEST_F(PluginInUse, CannotPassADeviceTypeOutOfRange) {
  Runtime runtime = with_plugin();
  static constexpr gantry_function_table none{};

  const auto done =
      run(runtime, IN_CALL({
            return host->function_new(host, nullptr, {nullptr, &none}, 128, result, status);
          }));

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::invalid);
  EXPECT_EQ(done.error().reason, "DEVICE_TYPE");
  EXPECT_EQ(done.error().message, "function_new: device type is 128, range is 0 to 127");
}

// Like the graph executor: a function creates a module that shares its parent's imports and keeps
// it alive.
TEST_F(PluginInUse, CreatesModulesThatShareTheirParentsImports) {
  Runtime runtime = with_plugin();
  std::optional<Module> made;
  {
    const Module root =
        runtime.load(file_of({{"test.block", "root"}, {"test.block", "import"}})).value();
    program_plugin().call = [](const gantry_env*, const gantry_value* args, std::int32_t,
                               gantry_value* result, gantry_status* status) -> gantry_code {
      const gantry_host* host = program_plugin().host;
      return host->module_new(host, args[0].object, {nullptr, &made_table}, 0, result, status);
    };
    made = root.function("call").value()(root)->module().value();
  }

  EXPECT_EQ(made->type_key().value(), "made");
  EXPECT_EQ(made->function("text").value()()->text().value(), "import");
  made.reset();
  EXPECT_EQ(program_plugin().modules, 0);
}

TEST_F(PluginInUse, CreatesModulesWithTheDeviceNumbersOfTheirParent) {
  Runtime runtime = with_plugin();
  const Module root = runtime.load(file_of({{"test.block", "root"}})).value();
  auto& node = *reinterpret_cast<ModuleNode*>(root.get());
  const_cast<Artifact&>(*node.artifact).device_numbers = {{5, 32}};
  const gantry_host* host = program_plugin().host;
  Value made;
  std::int32_t type = 0;

  ASSERT_EQ(host->module_new(host, root.get(), {nullptr, &made_table}, 0, made.slot(), nullptr),
            GANTRY_OK);

  ASSERT_EQ(host->device_type_in(host, made.get().object, 5, &type, nullptr), GANTRY_OK);
  EXPECT_EQ(type, 32);
}

TEST_F(PluginInUse, ReceivesAnErrorThatNamesTheWrongArgument) {
  Runtime runtime = with_plugin();

  const auto done =
      run(runtime,
          [&](const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
              gantry_status* status) -> gantry_code {
            const gantry_host* host = program_plugin().host;
            gantry_value text{};
            if (const gantry_code code =
                    host->text_new(host, GANTRY_STRING, gantry_text("no module"), &text, status))
              return code;
            static constexpr gantry_module_table table = {};
            const gantry_code code =
                host->module_new(host, text.object, {nullptr, &table}, 0, result, status);
            gantry_release(text.object);
            return code;
          });

  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, Code::invalid);
  EXPECT_THAT(done.error().message,
              HasSubstr("module_new: the object is of kind 65, expected a module (kind 73)"));
}

}  // namespace
}  // namespace gantry
