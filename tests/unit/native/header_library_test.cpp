// SPDX-License-Identifier: Apache-2.0
//
// Libraries with tvm-ffi's C++ headers. tests/golden/call_script_test.cpp plays recorded calls of such
// libraries.
#include "core/engine/native/ffi/dtype_names.hpp"
#include "core/engine/native/ffi/library_values.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/tensor/map.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;

class HeaderApi : public ::testing::TestWithParam<const char*> {
 protected:
  HostWorld world{1};
  Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_api.so"));
};

// The fixture returns the line of the check that fails.
TEST_P(HeaderApi, HasTheStatedMeanings) {
  const auto result = call_named(node, GetParam());

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->get().kind, GANTRY_INT);
  EXPECT_EQ(result->get().i, 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, HeaderApi,
                         ::testing::Values("opened", "versions", "types", "attributes", "objects",
                                           "values", "integers", "integer_keys", "dtypes", "errors",
                                           "functions", "global_names", "tensors", "environment",
                                           "handles"),
                         [](const auto& test) { return std::string(test.param); });

TEST(HeaderLibraries, ShareNothingBetweenRuntimes) {
  HostWorld first(1), second(1);
  const Ref<ModuleNode> here = first.load_whole(fixture("tvm_ffi_api.so"));
  const Ref<ModuleNode> there = second.load_whole(fixture("tvm_ffi_api.so"));

  EXPECT_EQ(call_named(here, "functions")->get().i, 0);
  EXPECT_EQ(call_named(there, "functions")->get().i, 0);
  EXPECT_NE(first.globals->find("test.api.global").get(),
            second.globals->find("test.api.global").get());
  EXPECT_EQ(first.services.types->find("test.Base"), 128);
  EXPECT_EQ(second.services.types->find("test.Base"), 128);
}

TEST(HeaderLibraries, ReceiveTheContextSymbolsOfEarlierOnes) {
  HostWorld world(1);
  const Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_api.so"));
  EXPECT_NE(call_named(node, "context_symbol")->get().i, 0);
  ASSERT_EQ(call_named(node, "environment")->get().i, 0);

  const Ref<ModuleNode> later = world.load_whole(fixture("tvm_ffi_api.so"));

  EXPECT_EQ(call_named(later, "context_symbol")->get().i, 0);
}

TEST(HeaderLibraries, StayOpenWhileAFunctionOfThemExists) {
  HostWorld world(1);
  Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_api.so"));
  Value made = std::move(*call_named(node, "function_of_library"));
  node = {};

  auto& function = *reinterpret_cast<FunctionObject*>(made.get().object);
  const auto result = call(function, nullptr, {});

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->get().i, 100);
}

TEST(HeaderLibraries, FindTextsByAddressInArrays) {
  HostWorld world(1);
  const Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_api.so"));
  const Value first = new_text(GANTRY_STRING, "x").value();
  const Value second = new_text(GANTRY_STRING, "abc").value();
  const gantry_value texts[] = {first.get(), second.get()};
  const Value list = owned_value(new_items(GANTRY_ARRAY, texts).value());

  const auto found = call_named(node, "contains", {list.get()});

  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->get().i, 10) << "\"abc\" is in the array, \"abcd\" is not";
}

TEST(HeaderLibraries, NeedNoLibraryOfTvmFfiAndShareNoVariable) {
  HostWorld first(1), second(1);
  const Ref<ModuleNode> here = first.load_whole(fixture("tvm_ffi_linked.so"));
  const Ref<ModuleNode> there = second.load_whole(fixture("tvm_ffi_linked.so"));

  EXPECT_EQ(call_named(here, "count")->get().i, 1);
  EXPECT_EQ(call_named(there, "count")->get().i, 1);
  EXPECT_EQ(call_named(here, "count")->get().i, 2);
  EXPECT_EQ(call_named(here, "type")->get().i, 128);
  // A later library that needs the real one must not get a stand-in.
  EXPECT_EQ(dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD), nullptr);
}

bool is_mapped(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0;
}

// A function that keeps its argument.
gantry_code keep_argument(void* self, const gantry_env*, const gantry_value* args, std::int32_t,
                          gantry_value*, gantry_status*) {
  *static_cast<Value*>(self) = Value::share(args[0]);
  return GANTRY_OK;
}

TEST(HeaderLibraries, StayOpenWhileACalleeMayKeepAnObjectOfThem) {
  constexpr gantry_function_table table{sizeof(gantry_function_table), 0, nullptr, keep_argument};
  HostWorld world(1);
  Value kept;
  Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_linked.so"));
  const Value keeps = owned_value(new_function({&kept, &table}, {}, 0).value());

  ASSERT_TRUE(call_named(node, "pass_object", {keeps.get()}).ok());
  node = {};

  ASSERT_EQ(kept.get().kind, GANTRY_OBJECT);
  ASSERT_TRUE(is_mapped(reinterpret_cast<void*>(kept.get().object->deleter)));
  kept = Value();
}

TEST(HeaderLibraries, AreClosedAfterCallsThatLeaveNoObjectOfThem) {
  HostWorld world(1);
  std::int64_t shape[] = {3};
  const gantry_tensor like{nullptr, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0};
  const Value tensor = owned_value(tensor_new(world.devices, like).value());
  const Value array = owned_value(new_items(GANTRY_ARRAY, {&tensor.get(), 1}).value());
  Ref<ModuleNode> node = world.load_whole(fixture("tvm_ffi_linked.so"));
  const auto* const address = reinterpret_cast<const void*>(
      static_cast<std::intptr_t>(call_named(node, "address")->get().i));
  ASSERT_TRUE(is_mapped(address));

  const Value made = std::move(*call_named(node, "new_tensor"));
  EXPECT_EQ(made.get().kind, GANTRY_TENSOR);
  EXPECT_EQ(call_named(node, "echo", {tensor.get()})->get().object, tensor.get().object);
  EXPECT_EQ(call_named(node, "echo", {array.get()})->get().object, array.get().object);
  node = {};

  EXPECT_FALSE(is_mapped(address));
}

// The last handle of a runtime is released while one of its functions runs.
struct Ending {
  std::shared_ptr<int> handle;
  std::weak_ptr<int> life;
};
int end_runtime(void* self, const gantry_value*, std::int32_t, gantry_value* result) {
  auto& ending = *static_cast<Ending*>(self);
  ending.handle = nullptr;
  *result = int_value(ending.life.expired() ? 0 : 1);
  return 0;
}

TEST(LibraryFunctions, KeepTheirRuntimeDuringACall) {
  HostWorld world(1);
  Ending ending{std::make_shared<int>(), {}};
  ending.life = ending.handle;
  world.services.life = ending.life;
  const Ref<FunctionObject> function =
      ffi::new_library_function(&ending, end_runtime, nullptr, {&world.services, nullptr}).value();

  EXPECT_EQ(call(*function, nullptr, {})->get().i, 1);

  EXPECT_TRUE(ending.life.expired());
  const auto later = call(*function, nullptr, {});
  ASSERT_FALSE(later.ok());
  EXPECT_EQ(later.error().reason, "RUNTIME_ENDS");
  EXPECT_THAT(later.error().message.text(), HasSubstr("after its runtime has ended"));
}

TEST(TypeRegistry, GivesChildrenTheNumbersAfterTheirParent) {
  ffi::TypeRegistry types;

  const std::int32_t parent = *types.type({"a", -1, 1, 2, true, GANTRY_OBJECT});
  const std::int32_t other = *types.type({"b", -1, 1, 0, true, GANTRY_OBJECT});

  EXPECT_EQ(parent, 128);
  EXPECT_EQ(other, 131);
  EXPECT_EQ(*types.type({"a.1", -1, 2, 0, true, parent}), 129);
  EXPECT_EQ(*types.type({"a.2", -1, 2, 0, true, parent}), 130);
  // Beyond the slots.
  EXPECT_EQ(*types.type({"a.3", -1, 2, 0, true, parent}), 132);
  EXPECT_EQ(*types.type({"a.2", -1, 2, 0, true, parent}), 130);
  EXPECT_EQ(*types.type({"c", 100, 1, 0, true, GANTRY_OBJECT}), 100);
}

struct BadType {
  const char* name;
  ffi::TypeRequest request;
  const char* message;
};
class RefusedType : public ::testing::TestWithParam<BadType> {};

TEST_P(RefusedType, IsExplained) {
  ffi::TypeRegistry types;
  ASSERT_TRUE(types.type({"full", -1, 1, 0, false, GANTRY_OBJECT}).ok());

  const auto made = types.type(GetParam().request);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, RefusedType,
    ::testing::Values(
        BadType{"Parent", {"x", -1, 1, 0, true, 9999}, "type index 9999 is not registered"},
        BadType{
            "Depth", {"x", -1, 7, 0, true, GANTRY_OBJECT}, "type \"x\" has depth 7, expected 1"},
        BadType{"OtherIndex",
                {"ffi.Array", 75, 1, 0, true, GANTRY_OBJECT},
                "type \"ffi.Array\" has index 71, expected 75"},
        BadType{"TakenIndex",
                {"x", 71, 1, 0, true, GANTRY_OBJECT},
                "type index 71 is that of \"ffi.Array\""},
        BadType{"Slots",
                {"x", -1, 1, INT32_MAX, true, GANTRY_OBJECT},
                "type \"x\" reserves 2147483647 numbers for its children, maximum is 16777215"},
        BadType{"Numbers",
                {"x", -1, 1, 16777214, true, GANTRY_OBJECT},
                "type \"x\" needs 16777215 numbers, the runtime has 16777087 left"},
        BadType{"HighIndex",
                {"x", 128, 1, 0, true, GANTRY_OBJECT},
                "type \"x\" states index 128 and 0 more for its children, the maximum of stated "
                "indices is 127"},
        BadType{"HighChildren",
                {"x", 100, 1, 28, true, GANTRY_OBJECT},
                "type \"x\" states index 100 and 28 more for its children, the maximum of stated "
                "indices is 127"},
        BadType{"Overflow",
                {"x", -1, 2, 0, true, 128},
                "type \"x\" needs 1 numbers, \"full\" has 0 left for its children"}),
    [](const auto& test) { return test.param.name; });

TEST(TypeRegistry, CreatesNoColumnForAnUnknownType) {
  ffi::TypeRegistry types;

  EXPECT_FALSE(types.set_attribute(9999, "__attribute__", int_value(1)).ok());

  EXPECT_EQ(types.column("__attribute__"), nullptr);
}

// Twice as many registrations copy twice as much.
TEST(TypeRegistry, TakesWorkLinearInWhatIsRegistered) {
  const auto work_of = [](int count) {
    ffi::TypeRegistry types;
    for (int i = 1000; i < 1000 + count; ++i) {
      const std::string key = concat("type.", i);
      const std::int32_t index = *types.type({key, -1, 1, 0, true, GANTRY_OBJECT});
      const gantry_bytes name{key.data(), key.size()};
      ffi::FieldInfo field{};
      field.name = name;
      EXPECT_TRUE(types.add_field(128, field).ok());
      ffi::MethodInfo method{};
      method.name = name;
      EXPECT_TRUE(types.add_method(128, method).ok());
      EXPECT_TRUE(types.set_attribute(index, "__attribute__", int_value(i)).ok());
    }
    EXPECT_EQ(types.info(128)->field_count, count);
    EXPECT_EQ(types.column("__attribute__")->data[128 + count - 1].i, 1000 + count - 1);
    return types.work();
  };

  EXPECT_EQ(work_of(8000), 2 * work_of(4000));
}

TEST(GlobalFunctions, AreFoundAmongTenThousand) {
  GlobalFunctions globals;
  constexpr gantry_function_table table{sizeof(gantry_function_table), 0, nullptr,
                                        [](auto...) -> gantry_code { return GANTRY_OK; }};
  for (int i = 0; i < 10000; ++i)
    globals.set(concat("f", i), new_function({nullptr, &table}, {}, 0).value());
  const auto* const before = globals.find("f9999").get();

  globals.set("f9999", new_function({nullptr, &table}, {}, 0).value());

  EXPECT_NE(globals.find("f9999").get(), before);
  EXPECT_EQ(globals.names().size(), 10000u);
  EXPECT_FALSE(globals.find("f10000"));
}

struct DtypeName {
  const char* text;
  gantry_dtype dtype;
};

// What tvm-ffi 0.1.15 returns.
TEST(DtypeNames, AreThoseOfTvmFfi) {
  const DtypeName names[] = {{"", {3, 0, 0}},
                             {"void", {3, 0, 0}},
                             {"int", {0, 32, 1}},
                             {"u8", {1, 8, 1}},
                             {"f16", {2, 16, 1}},
                             {"bf16x2", {4, 16, 2}},
                             {"float", {2, 32, 1}},
                             {"float32xvscalex4", {2, 32, 65532}},
                             {"bool", {6, 8, 1}},
                             {"boolx4", {6, 8, 4}},
                             {"bool1", {6, 1, 1}},
                             {"handle", {3, 64, 1}},
                             {"bfloat", {4, 16, 1}},
                             {"float8_e4m3fnx4", {10, 8, 4}},
                             {"fp8_e5m2", {12, 8, 1}},
                             {"float8", {2, 8, 1}},
                             {"float4_e2m1fn_x2", {17, 4, 2}},
                             {"uint1", {1, 1, 1}},
                             {"handlex2", {3, 64, 2}},
                             {"float6_e3m2fn", {16, 6, 1}},
                             {"float8_e4m3b11fnuz", {9, 8, 1}},
                             {"int0", {0, 32, 1}},
                             {"int008", {0, 8, 1}},
                             {"f16x08", {2, 16, 8}},
                             {"f4_e2m1fn", {17, 4, 1}},
                             {"f8_e4m3", {8, 8, 1}}};
  for (const auto& [text, dtype] : names) {
    const auto found = ffi::dtype_of_name(text);
    ASSERT_TRUE(found.ok()) << text;
    EXPECT_EQ(found->code, dtype.code) << text;
    EXPECT_EQ(found->bits, dtype.bits) << text;
    EXPECT_EQ(found->lanes, dtype.lanes) << text;
  }
  for (const char* wrong : {"complex64", "int300", "i", "float32 ", "int-8", "e4m3", "custom[a]",
                            "float8_e4m3fn_x4", "fp6_e3m2fn_x2"})
    EXPECT_EQ(ffi::dtype_of_name(wrong).error().message, concat("unknown dtype `", wrong, "`"));
  for (const char* wrong : {"int32x0", "int32x", "int32x70000", "float32x-1"})
    EXPECT_THAT(ffi::dtype_of_name(wrong).error().message.text(), HasSubstr("Invalid lanes"));
}

TEST(DtypeNames, AreWrittenAsTvmFfiWritesThem) {
  const DtypeName names[] = {{"int32", {0, 32, 1}},        {"", {3, 0, 0}},
                             {"handle", {3, 64, 2}},       {"bool", {6, 8, 1}},
                             {"bool16", {6, 16, 1}},       {"float4_e2m1fnx2", {17, 4, 2}},
                             {"uint1x4", {1, 1, 4}},       {"float32xvscalex4", {2, 32, 65532}},
                             {"float8_e4m3fn", {10, 8, 1}}};
  for (const auto& [text, dtype] : names) EXPECT_EQ(ffi::name_of_dtype(dtype).value(), text);
  for (const std::uint8_t code : {std::uint8_t{5}, std::uint8_t{18}, std::uint8_t{131}})
    EXPECT_FALSE(ffi::name_of_dtype({code, 8, 1}).ok());
}

TEST(LibraryValues, HaveStridesInEveryTensor) {
  HostWorld world(1);
  std::int64_t shape[] = {2, 3};
  gantry_tensor like{nullptr, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  const Value tensor = owned_value(tensor_new(world.devices, like).value());
  const Value array = owned_value(new_items(GANTRY_ARRAY, {&tensor.get(), 1}).value());
  ASSERT_EQ(tensor.tensor()->strides, nullptr);
  const gantry_value arguments[] = {array.get(), tensor_ref_value(&like)};

  ffi::LibraryArguments list(arguments);
  ASSERT_TRUE(list.prepare().ok());

  ASSERT_NE(tensor.tensor()->strides, nullptr);
  EXPECT_EQ(tensor.tensor()->strides[0], 3);
  EXPECT_EQ(tensor.tensor()->strides[1], 1);
  EXPECT_EQ(list.data()[1].tensor->strides[0], 3);
  EXPECT_EQ(like.strides, nullptr);
}

// 2^40 paths lead to the tensor.
TEST(LibraryValues, VisitSharedArraysOnce) {
  Value shared = Value::adopt(int_value(1));
  for (int i = 0; i < 40; ++i) {
    const gantry_value twice[] = {shared.get(), shared.get()};
    shared = owned_value(new_items(GANTRY_ARRAY, twice).value());
  }

  ffi::set_strides_in(shared.get());
  const auto same = ffi::from_library(shared, {});

  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->get().object, shared.get().object);
}

}  // namespace
}  // namespace gantry::test
