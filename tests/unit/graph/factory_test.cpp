// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/graph/model.hpp"

#include <gantry/plugin.h>

#include <gmock/gmock.h>

namespace gantry::graph::test {
namespace {

using gantry::test::cpu;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class Factories : public Model {
 protected:
  Factories()
      : factory(load(payload_bytes(small_graph, {small_p0}, "resnet"), "GraphExecutorFactory", 3)
                    .value()) {}
  std::vector<std::string> listed(const Value& module) {
    const auto& pair = *reinterpret_cast<const gantry_module*>(module.object() + 1);
    std::vector<std::string> names;
    const gantry_visitor visitor{
        sizeof visitor, 0, &names,
        [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
          static_cast<std::vector<std::string>*>(self)->emplace_back(view_of(info->name));
          return GANTRY_OK;
        }};
    EXPECT_EQ(pair.table->list_functions(pair.self, &visitor, nullptr), GANTRY_OK);
    return names;
  }
  Value factory;
};

TEST_F(Factories, ListTheirFunctions) {
  EXPECT_THAT(listed(factory), ElementsAre("resnet", "debug_create", "cuda_graph_create",
                                           "remove_params", "get_graph_json", "get_graph_params"));
}

TEST_F(Factories, CreateExecutorsThatListTheirFunctions) {
  const Value plain = call(factory, "resnet", {device_value(cpu)}).value();
  const Value debug =
      call(factory, "debug_create", {text_value("resnet"), device_value(cpu)}).value();

  const std::vector<std::string> names = listed(plain);
  for (const std::string& name : names)
    EXPECT_TRUE(host.find(plain.object(), GANTRY_FIND_SELF, name).ok()) << name;
  EXPECT_THAT(listed(debug), SizeIs(names.size() + 2));
}

struct BadMake {
  std::string name, function;
  std::vector<gantry_value> args;
  Code code;
  std::string message;
  friend void PrintTo(const BadMake& bad, std::ostream* out) { *out << bad.name; }
};
class FactoriesRefuse : public Factories, public ::testing::WithParamInterface<BadMake> {};
TEST_P(FactoriesRefuse, AWrongCall) {
  const BadMake& bad = GetParam();

  const Result<Value> made = call(factory, bad.function, bad.args);

  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, bad.code);
  EXPECT_EQ(made.error().message, bad.message);
}
INSTANTIATE_TEST_SUITE_P(
    Calls, FactoriesRefuse,
    ::testing::Values(
        BadMake{
            "NoDevice", "resnet", {}, Code::invalid, "default(device, ...): no device is given"},
        BadMake{"IntForDevice",
                "resnet",
                {int_value(1)},
                Code::invalid,
                "default(device, ...): argument 0 (device) is an integer, expected a device"},
        BadMake{"WrongModule",
                "debug_create",
                {text_value("other"), device_value(cpu)},
                Code::not_found,
                "module \"other\" not found; modules: \"resnet\""},
        BadMake{"NoModule",
                "debug_create",
                {},
                Code::invalid,
                "debug_create(module name, device, ...): argument count is 0"},
        BadMake{"NoDebugDevice",
                "debug_create",
                {text_value("resnet")},
                Code::invalid,
                "debug_create(module name, device, ...): no device is given"},
        BadMake{"CudaGraph",
                "cuda_graph_create",
                {device_value(cpu)},
                Code::unsupported,
                "fake host: streams are not supported\n  in cuda_graph_create; \"resnet\" runs the "
                "same model without recording"},
        BadMake{"CudaGraphWithoutDevice",
                "cuda_graph_create",
                {},
                Code::invalid,
                "cuda_graph_create(device, ...): no device is given"},
        BadMake{"JsonWithArgument",
                "get_graph_json",
                {int_value(1)},
                Code::invalid,
                "get_graph_json(): argument count is 1, expected 0"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Factories, ReturnTheGraph) {
  EXPECT_EQ(*value_text(call(factory, "get_graph_json")->get()), small_graph);
}

TEST_F(Factories, ReturnCopiesOfParameters) {
  const Value map = call(factory, "get_graph_params").value();
  const auto items = host.items(map.object()).value();

  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(*value_text(items[0]), "p0");
  EXPECT_THAT(floats_of(*gantry_value_tensor(&items[1])), ElementsAre(10, 20, 30, 40));
}

TEST_F(Factories, WithoutParametersKeepTheGraph) {
  const Value bare = call(factory, "remove_params").value();
  // The new factory retains what it needs.
  factory = Value();

  const Value executor = call(bare, "resnet", {device_value(cpu)}).value();
  Floats ones({2, 2}, {1, 1, 1, 1});
  ASSERT_TRUE(call(executor, "set_input", {int_value(0), ones.value()}).ok());
  ASSERT_TRUE(call(executor, "set_input", {int_value(1), ones.value()}).ok());

  EXPECT_THAT(run(executor), ElementsAre(2, 2, 2, 2));
  const Value parameters = call(bare, "get_graph_params").value();
  EXPECT_TRUE(host.items(parameters.object())->empty());
}

TEST_F(Factories, AreRetainedByTheirExecutors) {
  const Value executor = call(factory, "resnet", {device_value(cpu)}).value();
  factory = Value();

  EXPECT_THAT(output(executor), SizeIs(4));
  EXPECT_TRUE(call(executor, "run").ok());
}

TEST_F(Factories, CreateExecutorsThatDescribeInputsAndOutputs) {
  const Value executor = call(factory, "resnet", {device_value(cpu)}).value();

  const Value info = call(executor, "get_output_info").value();

  const auto top = host.items(info.object()).value();
  ASSERT_EQ(top.size(), 4u);
  EXPECT_EQ(*value_text(top[0]), "shape");
  const auto shapes = host.items(top[1].object).value();
  EXPECT_EQ(*value_text(shapes[0]), "y");
  EXPECT_THAT(*value_shape(shapes[1]), ElementsAre(4));
  EXPECT_EQ(*value_text(top[2]), "dtype");
  EXPECT_EQ(*value_text(host.items(top[3].object).value()[1]), "float32");
}

// Both functions of the debug executor.
TEST_F(Factories, CreateExecutorsThatProfile) {
  const Value debug =
      call(factory, "debug_create", {text_value("resnet"), device_value(cpu)}).value();

  const Value times = call(debug, "profile").value();

  const auto items = host.items(times.object()).value();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(*value_text(items[0]), "add");
  EXPECT_EQ(items[1].kind, GANTRY_INT);
  EXPECT_GE(items[1].i, 0);
  EXPECT_EQ(fake.synchronizations, 2);
  EXPECT_EQ(calls.size(), 1u);
}

TEST_F(Factories, CreateExecutorsThatRunUpToANode) {
  const Value debug =
      call(factory, "debug_create", {text_value("resnet"), device_value(cpu)}).value();
  Floats x({2, 2}, {1, 2, 3, 4}), out({2, 2});
  ASSERT_TRUE(call(debug, "set_input", {int_value(0), x.value()}).ok());

  const Result<Value> input = call(debug, "debug_get_output", {text_value("x")});
  ASSERT_TRUE(input.ok());
  EXPECT_THAT(floats_of(*input->tensor()), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(calls.empty());

  ASSERT_TRUE(call(debug, "debug_get_output", {int_value(2), out.value()}).ok());
  EXPECT_THAT(out.values(), ElementsAre(11, 22, 33, 44));

  const Result<Value> unknown = call(debug, "debug_get_output", {text_value("z")});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().message, "node \"z\" not found, node count is 4");
  const Result<Value> past = call(debug, "debug_get_output", {int_value(4)});
  ASSERT_FALSE(past.ok());
  EXPECT_EQ(past.error().message,
            "debug_get_output(node name or index[, tensor]): node index is 4, node count is 4");
}

TEST(GraphPlugin, HasOneTypeKey) {
  const gantry_host_info core{.struct_size = sizeof core, .abi = {.major = GANTRY_ABI_MAJOR}};

  const gantry_plugin_table* table = gantry_plugin_query_v1(&core, nullptr);

  ASSERT_NE(table, nullptr);
  EXPECT_STREQ(table->id, "gantry.graph");
  EXPECT_STREQ(table->version, GANTRY_PLUGIN_VERSION);
  ASSERT_EQ(table->loader_count, 1u);
  EXPECT_STREQ(table->loaders[0]->type_key, "GraphExecutorFactory");
  EXPECT_EQ(table->device_count, 0u);
}

}  // namespace
}  // namespace gantry::graph::test
