// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/aot/aot_model.hpp"

#include <gmock/gmock.h>

#include <random>

namespace gantry::aot::test {
namespace {

using gantry::test::FakeHost;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class AotFactories : public AotModel {
 protected:
  Error refusal() {
    const Result<Value> made =
        call(load(payload({})).value(), "default", {device_value(gantry::test::cpu)});
    EXPECT_FALSE(made.ok());
    return made.ok() ? Error() : made.error();
  }
};

TEST_F(AotFactories, ListTheirFunctions) {
  const Value factory = load(payload({}, "resnet")).value();
  const auto& pair = *reinterpret_cast<const gantry_module*>(factory.object() + 1);
  std::vector<std::string> names;
  const gantry_visitor visitor{
      sizeof visitor, 0, &names,
      [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
        static_cast<std::vector<std::string>*>(self)->emplace_back(view_of(info->name));
        return GANTRY_OK;
      }};

  EXPECT_EQ(pair.table->list_functions(pair.self, &visitor, nullptr), GANTRY_OK);

  EXPECT_THAT(names, ElementsAre("resnet", "list_module_names", "remove_params"));
}

TEST_F(AotFactories, ReturnTheNameOfTheirModule) {
  const Value names = call(load(payload({}, "resnet")).value(), "list_module_names").value();

  const auto items = host.items(names.object()).value();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(value_text(items[0]), "resnet");
}

TEST_F(AotFactories, CreateExecutorsOnTheCpuOnly) {
  const Value factory = load(payload({})).value();

  const auto elsewhere = call(factory, "default", {device_value({4, 1})});
  const auto none = call(factory, "default");
  const auto two = call(factory, "default", {device_value({1, 0}), device_value({1, 0})});

  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().code, Code::invalid);
  EXPECT_EQ(elsewhere.error().reason, "DEVICE");
  EXPECT_EQ(elsewhere.error().message,
            "device is opencl:1, code that is compiled ahead of time runs on the CPU");
  EXPECT_EQ(none.error().message, "default(device): argument count is 0, expected 1");
  EXPECT_EQ(two.error().message, "default(device): argument count is 2, expected 1");
}

TEST_F(AotFactories, SaveTheBytesThatWereRead) {
  const std::vector<std::uint8_t> bytes = payload({{"x", {1, 2, 3, 4}}});
  const std::vector<std::uint8_t> aligned = saved(load(bytes).value(), 128);

  EXPECT_EQ(saved(load(bytes, 5).value()), bytes);
  EXPECT_EQ(saved(load(aligned).value()), aligned);
  EXPECT_EQ(saved(load(aligned).value(), 128), aligned);
}

TEST_F(AotFactories, WithoutParametersHaveNone) {
  const Value bare = call(load(payload({{"x", {1, 2, 3, 4}}})).value(), "remove_params").value();
  const Value made = call(bare, "default", {device_value(gantry::test::cpu)}).value();

  EXPECT_EQ(saved(bare), payload({}));
  EXPECT_EQ(saved(bare, 128), payload({}));
  EXPECT_THAT(floats_of(*call(made, "get_input", {int_value(0)}).value().tensor()),
              ::testing::Not(ElementsAre(1, 2, 3, 4)));
}

TEST_F(AotFactories, RefuseAParameterOfAnotherType) {
  const Value factory = load(payload({{"x", {1, 2, 3}}})).value();

  const auto made = call(factory, "default", {device_value(gantry::test::cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::malformed);
  EXPECT_EQ(made.error().message,
            "parameter is float32[3] in 12 bytes, its input is float32[4] in 16\n"
            "  while setting parameter \"x\"");
}

// As many bytes in the same shape.
TEST_F(AotFactories, RefuseAParameterOfAnotherDtype) {
  std::vector<std::uint8_t> bytes = payload({{"x", {1, 2, 3, 4}}});
  // after two counts, the name, and the record's header, device and rank
  constexpr std::size_t code_at = 8 + 8 + (8 + 1) + (8 + 8) + (4 + 4) + 4;
  ASSERT_EQ(bytes.at(code_at), dtypes::float32.code);
  bytes[code_at] = dtypes::int32.code;
  const Value factory = load(bytes).value();

  const auto made = call(factory, "default", {device_value(gantry::test::cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::malformed);
  EXPECT_EQ(made.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(made.error().message,
            "parameter is int32[4] in 16 bytes, its input is float32[4] in 16\n"
            "  while setting parameter \"x\"");
}

// One number, as the input has, in another shape.
TEST_F(AotFactories, RefuseAParameterOfAnotherShape) {
  const Value factory = load(payload({{"scale", {2}}})).value();

  const auto made = call(factory, "default", {device_value(gantry::test::cpu)});

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::malformed);
  EXPECT_EQ(made.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(made.error().message,
            "parameter is float32[1] in 4 bytes, its input is float32[] in 4\n"
            "  while setting parameter \"scale\"");
}

TEST_F(AotFactories, NameTheExportThatALibraryWithoutDescriptionNeeds) {
  FakeHost other;
  const Source source{Host(other.table()), other.node(), std::make_shared<const Payload>()};

  const auto made = Executor::create(source, nullptr);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::not_found);
  EXPECT_EQ(made.error().message,
            "fake host: no function \"get_c_metadata\"\n  the library does not describe its "
            "tensors: it was exported for TVM's C runtime; export it with the runtime cpp");
}

TEST_F(AotFactories, RequireTheFunctionOfTheModel) {
  metadata.module_name = "other";
  EXPECT_EQ(refusal().message, "fake host: no function \"other___tvm_main__\"");
}

TEST_F(AotFactories, RefuseADescriptionThatIsNoAddress) {
  address = int_value(3);

  const Error error = refusal();

  EXPECT_EQ(error.code, Code::bug);
  EXPECT_EQ(error.reason, "RESULT_KIND");
  EXPECT_EQ(error.message, "\"get_c_metadata\" returns an integer, expected an address");
}

TEST_F(AotFactories, RefuseADescriptionOutsideOfEveryLibrary) {
  address.p = this;

  const Error error = refusal();

  EXPECT_EQ(error.code, Code::malformed);
  EXPECT_EQ(error.reason, "AOT_METADATA");
  EXPECT_THAT(error.message.text(), StartsWith("metadata of the model are at 0x"));
  EXPECT_THAT(error.message.text(), HasSubstr(", which is in no loaded library"));
}

// The heap is in no library.
TEST_F(AotFactories, RefusePointersThatLeaveTheLibrary) {
  const auto heap = std::make_unique<char[]>(16);
  metadata.module_name = heap.get();

  EXPECT_THAT(refusal().message.text(), HasSubstr(", which is not in the library's memory"));
}

TEST_F(AotFactories, ReportThatMemoryIsExhausted) {
  fake.max_allocations = 4;

  const Error error = refusal();

  EXPECT_EQ(error.code, Code::exhausted);
  EXPECT_THAT(error.message.text(), HasSubstr("\n  while allocating workspace \"w\", 256 bytes"));
}

struct WrongPayload {
  std::string name;
  gantry::test::Words payload;
  std::uint64_t offset;
  std::string message;
  friend void PrintTo(const WrongPayload& wrong, std::ostream* out) { *out << wrong.name; }
};
class AotPayloadsRefuse : public AotModel, public ::testing::WithParamInterface<WrongPayload> {};
TEST_P(AotPayloadsRefuse, AWrongField) {
  const auto bytes = GetParam().payload.bytes();

  const Result<Value> factory = load({bytes.begin(), bytes.end()});

  ASSERT_FALSE(factory.ok());
  EXPECT_EQ(factory.error().code, Code::malformed);
  EXPECT_EQ(factory.error().offset, GetParam().offset);
  EXPECT_EQ(factory.error().message, GetParam().message);
}
INSTANTIATE_TEST_SUITE_P(
    Fields, AotPayloadsRefuse,
    ::testing::Values(WrongPayload{"Counts", gantry::test::Words().u64(2).strs({"a"}), 8,
                                   "parameter names are 1, the count at 0x0 is 2"},
                      WrongPayload{
                          "Record", gantry::test::Words().u64(1).strs({"a"}).u64(1), 25,
                          "parameter: magic is 0x1, expected 0xdd5e40f096b4a13f\n  in \"a\""},
                      WrongPayload{"Behind", gantry::test::Words().u64(0).u64(0).str("m").u16(0),
                                   25, "payload has 2 bytes after its last field, expected none"}),
    [](const auto& test) { return test.param.name; });

TEST_F(AotFactories, RefuseAParameterTwice) {
  EXPECT_EQ(load(payload({{"a", {1}}, {"b", {1}}, {"a", {2}}})).error().message,
            "parameter \"a\" is given twice");
}

TEST_F(AotFactories, SurviveAnyChangedByte) {
  std::mt19937 random(1);
  const std::vector<std::uint8_t> good = payload({{"x", {1, 2, 3, 4}}});
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> bytes = good;
    bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const Result<Value> factory = load(bytes);
    if (factory.ok()) (void)call(*factory, "default", {device_value(gantry::test::cpu)});
  }
}

TEST_F(AotFactories, HaveAModuleThatDescribesTheModel) {
  const Value module = load_metadata_module().value();

  const Value described = call(module, "get_metadata").value();

  const auto items = host.items(described.object()).value();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < items.size(); i += 2) keys.emplace_back(*value_text(items[i]));
  EXPECT_THAT(keys, ElementsAre("module_name", "inputs", "outputs", "workspaces"));
  EXPECT_EQ(value_text(items[1]), "model");
  EXPECT_TRUE(saved(module).empty());
  EXPECT_EQ(call(module, "get_metadata", {int_value(1)}).error().reason, "ARGUMENT_COUNT");
}

}  // namespace
}  // namespace gantry::aot::test
