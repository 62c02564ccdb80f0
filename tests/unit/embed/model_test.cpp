// SPDX-License-Identifier: Apache-2.0
//
// Models of the C API: devices, functions, signatures.
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EmbedModel : public test::Embedded {
 protected:
  static Result<const gantry_signature*> signature(const ObjectRef& model,
                                                   std::string_view function = {}) {
    const gantry_signature* found = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().model_signature(model.get(), bytes_of(function), &found, status);
    }));
    return found;
  }
  // "x float32[1, 64]"
  static std::vector<std::string> texts(const gantry_parameter* const* parameters,
                                        std::uint32_t count) {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      const gantry_parameter& parameter = *parameters[i];
      EXPECT_EQ(parameter.struct_size, sizeof parameter);
      all.push_back(concat(view_of(parameter.name), ' ', view_of(parameter.type)));
    }
    return all;
  }
  std::vector<std::string> functions(const ObjectRef& model) const {
    gantry_value names{};
    expect_ok(done([&](gantry_status* status) {
      return embed().model_functions(model.get(), &names, status);
    }));
    const Value owned = Value::adopt(names);
    std::vector<std::string> all;
    for (const gantry_value& name : items_of(names)) all.emplace_back(*value_text(name));
    return all;
  }
};

TEST_F(EmbedModel, IsAnObjectThatKeepsItsRuntime) {
  ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");
  EXPECT_EQ(model.get()->kind, GANTRY_MODEL);

  runtime = ObjectRef();

  EXPECT_TRUE(signature(model).ok());
}

TEST_F(EmbedModel, ListsItsFunctions) {
  EXPECT_THAT(functions(model_of("tvm-0.12/digits_mlp_llvm.so")), ElementsAre("default"));
  EXPECT_THAT(functions(model_of("relax/closure_llvm.so")), ElementsAre("get", "lifted", "main"));
}

TEST_F(EmbedModel, StatesTheInputsAndOutputsOfAGraph) {
  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");

  const auto found = signature(model);

  ASSERT_TRUE(found.ok()) << found.error().message;
  const gantry_signature& stated = **found;
  EXPECT_EQ(stated.struct_size, sizeof stated);
  EXPECT_EQ(stated.flags, std::uint32_t{GANTRY_SIGNATURE_OUTPUTS});
  EXPECT_THAT(texts(stated.inputs, stated.input_count), ElementsAre("x float32[1, 64]"));
  EXPECT_THAT(texts(stated.outputs, stated.output_count), ElementsAre("output float32[1, 10]"));
  const gantry_parameter& input = *stated.inputs[0];
  EXPECT_EQ(input.kind, GANTRY_TENSOR);
  EXPECT_EQ(input.ndim, 2);
  EXPECT_EQ(input.shape[1], 64);
  EXPECT_EQ(input.dtype.bits, 32);
  EXPECT_EQ(*signature(model), *found);
}

TEST_F(EmbedModel, StatesTheTypesThatAVirtualMachineRecords) {
  const ObjectRef model = model_of("relax/cnn_dyn_llvm.so");
  const gantry_signature& stated = **signature(model);

  EXPECT_THAT(texts(stated.inputs, stated.input_count), ElementsAre("x float32[n, 1, 8, 8]"));
  EXPECT_EQ(stated.inputs[0]->shape[0], -1);
  EXPECT_EQ(stated.flags, std::uint32_t{GANTRY_SIGNATURE_OUTPUTS});
  EXPECT_THAT(texts(stated.outputs, stated.output_count), ElementsAre("output float32[n, 10]"));
}

TEST_F(EmbedModel, StatesTheItemsOfATupleAsOutputs) {
  const ObjectRef model = model_of("relax/tuples_llvm.so");
  const gantry_signature& stated = **signature(model, "split3");

  EXPECT_EQ(stated.flags, std::uint32_t{GANTRY_SIGNATURE_OUTPUTS});
  EXPECT_THAT(
      texts(stated.outputs, stated.output_count),
      ElementsAre("output0 float32[2, m]", "output1 float32[2, m]", "output2 float32[2, m]"));
}

TEST_F(EmbedModel, HasTuplesAsInputs) {
  const ObjectRef model = model_of("relax/tuples_llvm.so");
  const gantry_signature& stated = **signature(model, "swap");

  ASSERT_EQ(stated.input_count, 1u);
  EXPECT_EQ(stated.inputs[0]->kind, GANTRY_ARRAY);
  EXPECT_EQ(stated.inputs[0]->ndim, -1);
  EXPECT_EQ(stated.inputs[0]->dtype.bits, 0);
}

TEST_F(EmbedModel, ReportsAFunctionThatItDoesNotHave) {
  const auto found = signature(model_of("relax/closure_llvm.so"), "mian");

  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_EQ(found.error().reason, "FUNCTION");
  EXPECT_THAT(found.error().message.text(), HasSubstr("function \"mian\" of the model not found"));
}

TEST_F(EmbedModel, RunsOnTheDevicesThatAreNamed) {
  const gantry_bytes devices[] = {gantry_text("cpu:0")};
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.devices = devices;
  options.device_count = 1;

  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so", &options);

  EXPECT_TRUE(signature(model).ok());
}

// Without the plugins whose drivers the list of devices would open.
class EmbedModelOfGraph : public test::Embedded {
 protected:
  EmbedModelOfGraph() : Embedded("graph") {}
};
class EmbedModelOfRelax : public test::Embedded {
 protected:
  EmbedModelOfRelax() : Embedded("relax") {}
};

TEST_F(EmbedModelOfRelax, RefusesDevices) {
  const auto module = test::load(runtime, test::golden("relax/cnn_llvm.so").string());
  ASSERT_TRUE(module.ok()) << module.error().message;
  const auto made = [&](const gantry_model_options& options) {
    auto model = test::new_model(*module, &options);
    return model.ok() ? Status() : Status(std::move(model).failure());
  };
  const gantry_bytes devices[] = {gantry_text("absent:0")};
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.device_count = 1;
  expect_error(made(options), Code::invalid, "ARGUMENT_KIND", "model_new: devices is NULL");
  options.devices = devices;
  const Status absent = made(options);
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.error().message.text(), HasSubstr("absent"));
  options.device_count = 0;
  expect_error(made(options), Code::invalid, "ARGUMENT_COUNT",
               "model_new: device_count is 0, minimum is 1");
}

TEST_F(EmbedModel, HasTheModuleThatWasGivenOrAMachineOfItsOwn) {
  const auto module_of = [](gantry_object* model, gantry_object** made) {
    return done([&](gantry_status* status) { return embed().model_module(model, made, status); });
  };
  gantry_object *first = nullptr, *second = nullptr;
  const ObjectRef model = model_of("relax/cnn_llvm.so");

  expect_ok(module_of(model.get(), &first));
  expect_ok(module_of(model.get(), &second));
  const ObjectRef one = ObjectRef::adopt(first), other = ObjectRef::adopt(second);

  EXPECT_EQ(one.get()->kind, GANTRY_MODULE);
  EXPECT_NE(one.get(), other.get());
  expect_error(module_of(nullptr, &first), Code::invalid, "ARGUMENT_KIND",
               "model_module: the object is NULL, expected a model");
  expect_error(module_of(model.get(), nullptr), Code::invalid, "ARGUMENT_KIND",
               "model_module: module is NULL");
}

TEST_F(EmbedModel, StatesTheNameAndTheDeviceOfAFunction) {
  const ObjectRef machine = model_of("relax/cnn_llvm.so");
  const ObjectRef graph = model_of("tvm-0.12/digits_mlp_llvm.so");

  const gantry_signature& main = *signature(machine).value();
  const gantry_signature& usual = *signature(graph).value();

  EXPECT_EQ(view_of(main.name), "main");
  EXPECT_EQ(view_of(main.subject), "the model");
  EXPECT_EQ(main.device.type, 1);
  EXPECT_EQ(view_of(usual.name), "default");
  EXPECT_EQ(view_of(usual.subject), "the model");
  EXPECT_EQ(usual.device.type, 1);
}

TEST_F(EmbedModel, FindsInputsByNameAndByPosition) {
  const ObjectRef model = model_of("relax/prims_llvm.so");
  std::uint32_t index = 9;
  const auto find = [&](std::string_view function, std::string_view name) {
    return done([&](gantry_status* status) {
      return embed().model_input(model.get(), bytes_of(function), bytes_of(name), &index, status);
    });
  };

  expect_ok(find("prims", "b"));
  EXPECT_EQ(index, 2u);
  expect_ok(find("prims", "1"));
  EXPECT_EQ(index, 1u);
  expect_error(find("prims", "bb"), Code::invalid, "INPUT",
               "input \"bb\" of function \"prims\" not found, did you mean \"b\"");
  expect_error(find("prims", "3"), Code::invalid, "INPUT",
               "input \"3\" of function \"prims\" not found");
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(find("absent", "b").error().reason, "FUNCTION");
  expect_error(done([&](gantry_status* status) {
                 return embed().model_input(runtime.get(), {}, {}, &index, status);
               }),
               Code::invalid, "ARGUMENT_KIND",
               "model_input: the object is of kind 96, expected a model");
  expect_error(done([&](gantry_status* status) {
                 return embed().model_input(model.get(), {}, {}, nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "model_input: index is NULL");
}

// An executor of a graph is only created when the model is used.
TEST_F(EmbedModelOfGraph, RefusesADeviceThatTheHostLacksAtOnce) {
  const auto module = test::load(runtime, test::golden("tvm-0.12/digits_mlp_llvm.so").string());
  ASSERT_TRUE(module.ok()) << module.error().message;
  const gantry_bytes devices[] = {gantry_text("cpu"), gantry_text("cqu:1")};
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.devices = devices;
  options.device_count = 2;

  const auto model = test::new_model(*module, &options);

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message.text(),
            "device \"cqu:1\" not found, did you mean \"cpu\"; this host has: cpu");
}

TEST_F(EmbedModel, RefusesUnknownFlagsAndSizes) {
  const auto module = test::load(runtime, test::golden("relax/cnn_llvm.so").string());
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.flags = 4;
  auto model = test::new_model(*module, &options);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message, "gantry_model_options: flags are 0x4, this version has 0x3");
  options = {};
  model = test::new_model(*module, &options);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().reason, "STRUCT_SIZE");
}

TEST_F(EmbedModel, RefusesACaptureOfAVirtualMachine) {
  const auto module = test::load(runtime, test::golden("relax/cnn_llvm.so").string());
  gantry_model_options options{};
  options.struct_size = sizeof options;
  options.flags = GANTRY_MODEL_CAPTURE;

  const auto model = test::new_model(*module, &options);

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unsupported);
}

TEST_F(EmbedModel, IsNotInEveryModule) {
  const auto module = test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string());

  const auto model = test::new_model(*module);

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::not_found);
}

}  // namespace
}  // namespace gantry
