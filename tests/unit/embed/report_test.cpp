// SPDX-License-Identifier: Apache-2.0
//
// Reports of the C API, and functions that the program adds.
#include "tests/support/files.hpp"
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using test::expect_ok;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class EmbedReport : public test::Embedded {
 protected:
  Status make(const ObjectRef& object, std::string_view what) {
    gantry_value made{};
    const Status status = done([&](gantry_status* reported) {
      return embed().report(object.get(), bytes_of(what), &made, reported);
    });
    tree = Value::adopt(made);
    return status;
  }
  // The member of a map; none if there is none.
  gantry_value member(const gantry_value& map, std::string_view key) const {
    const auto items = items_of(map);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (value_text(items[i]) == key) return items[i + 1];
    }
    return {};
  }
  std::string text(const gantry_value& value) const {
    const auto found = value_text(value);
    return found ? std::string(*found) : std::string();
  }
  std::vector<std::string> texts(const gantry_value& list) const {
    std::vector<std::string> all;
    for (const gantry_value& item : items_of(list)) all.push_back(text(item));
    return all;
  }

  Value tree;
};

TEST_F(EmbedReport, OfTheConfigurationHasTheNumberOfThreads) {
  expect_ok(make(runtime, "configuration"));

  EXPECT_EQ(member(tree.get(), "threads").i, 2);
  EXPECT_EQ(member(tree.get(), "files").kind, GANTRY_ARRAY);
}

// Without plugins that open drivers.
TEST_F(EmbedReport, OfDevicesHasTheCpu) {
  test::BuiltPlugins built("graph");
  const ObjectRef other = test::new_runtime(&built.options).value();

  expect_ok(make(other, "devices"));

  const auto devices = items_of(member(tree.get(), "devices"));
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(text(member(devices[0], "name")), "cpu");
  EXPECT_EQ(member(devices[0], "type").i, 1);
  EXPECT_EQ(member(devices[0], "index").i, 0);
  EXPECT_EQ(text(member(devices[0], "plugin")), "");
  EXPECT_EQ(member(devices[0], "attributes").kind, GANTRY_MAP);
  EXPECT_EQ(member(tree.get(), "problems").kind, GANTRY_ARRAY);
}

TEST_F(EmbedReport, OfPluginsHasTheirState) {
  const ObjectRef model = model_of("tvm-0.12/digits_mlp_llvm.so");

  expect_ok(make(runtime, "plugins"));

  std::vector<std::string> states;
  for (const gantry_value& plugin : items_of(member(tree.get(), "plugins"))) {
    states.push_back(concat(text(member(plugin, "id")), ' ', text(member(plugin, "state"))));
  }
  EXPECT_THAT(states, Contains("gantry.graph active"));
}

TEST_F(EmbedReport, OfAModuleHasItsFunctionsAndImports) {
  const ObjectRef module =
      test::load(runtime, test::golden("tvm-0.12/axpy2_llvm.so").string()).value();

  expect_ok(make(module, "module"));

  EXPECT_EQ(text(member(tree.get(), "file")), "axpy2_llvm.so");
  EXPECT_THAT(texts(member(tree.get(), "functions")), Contains("axpy2"));
  EXPECT_EQ(member(tree.get(), "imports").kind, GANTRY_ARRAY);
  EXPECT_THAT(texts(member(tree.get(), "missing")), IsEmpty());
}

TEST_F(EmbedReport, OfAModuleHasTheReasonForEachMissingPlugin) {
  test::BuiltPlugins built("relax");
  const ObjectRef other = test::new_runtime(&built.options).value();
  const gantry_load_options options{sizeof options, GANTRY_LOAD_ALLOW_MISSING, nullptr, 0, 0};
  const ObjectRef module =
      test::load(other, test::golden("tvm-0.12/digits_mlp_llvm.so").string(), &options).value();

  expect_ok(make(module, "module"));

  EXPECT_THAT(texts(member(tree.get(), "missing")), Contains(HasSubstr("GraphExecutorFactory")));
}

TEST_F(EmbedReport, OfTheExplanationIsTheTextOfDoctor) {
  test::BuiltPlugins built("graph");
  const ObjectRef other = test::new_runtime(&built.options).value();

  expect_ok(make(other, "explanation"));

  EXPECT_THAT(text(member(tree.get(), "text")), HasSubstr("gantry.graph"));
}

TEST_F(EmbedReport, OfTheTraceHasSpansIfTheyAreRecorded) {
  test::BuiltPlugins built;
  built.options.flags |= GANTRY_RUNTIME_TRACE;
  const ObjectRef traced = test::new_runtime(&built.options).value();

  expect_ok(make(traced, "trace"));
  const std::string recorded = text(member(tree.get(), "chrome_trace"));
  expect_ok(make(runtime, "trace"));

  EXPECT_THAT(recorded, HasSubstr("find plugins"));
  EXPECT_THAT(text(member(tree.get(), "chrome_trace")), Not(HasSubstr("find plugins")));
}

TEST_F(EmbedReport, OfOperatorsHasTheCallsThatAreRecorded) {
  test::BuiltPlugins built("graph");
  built.options.flags |= GANTRY_RUNTIME_TRACE;
  const ObjectRef traced = test::new_runtime(&built.options).value();
  const ObjectRef module =
      test::load(traced, test::golden("tvm-0.12/digits_mlp_c.so").string()).value();
  const ObjectRef model = test::new_model(module).value();
  std::vector<float> pixels(64);
  const std::int64_t shape[] = {1, 64};
  gantry_tensor image = test::tensor_of(pixels, shape);
  gantry_value input{.kind = GANTRY_TENSOR_REF};
  input.tensor = &image;
  for (int i = 0; i < 3; ++i) {
    gantry_run run{.struct_size = sizeof run, .inputs = &input, .input_count = 1};
    expect_ok(test::run(model, run));
    const Value output = Value::adopt(run.result);
  }

  expect_ok(make(traced, "operators"));

  std::map<std::string, std::pair<std::int64_t, bool>> calls;
  for (const gantry_value& one : items_of(member(tree.get(), "operators"))) {
    calls[text(member(one, "name"))] = {member(one, "calls").i, member(one, "has_calls").i != 0};
    EXPECT_GT(member(one, "ns").i, 0);
  }
  EXPECT_EQ(calls.at("tvmgen_default_fused_nn_softmax"), std::pair(std::int64_t{3}, false));
  EXPECT_EQ(calls.at("default"), std::pair(std::int64_t{3}, true));
  expect_ok(make(runtime, "operators"));
  EXPECT_THAT(items_of(member(tree.get(), "operators")), IsEmpty());
}

TEST_F(EmbedReport, OfAModelHasItsDevices) {
  test::BuiltPlugins built("graph");
  const ObjectRef other = test::new_runtime(&built.options).value();
  const ObjectRef module =
      test::load(other, test::golden("tvm-0.12/digits_mlp_c.so").string()).value();
  const ObjectRef model = test::new_model(module).value();

  expect_ok(make(model, "model"));

  EXPECT_THAT(texts(member(tree.get(), "devices")), ElementsAre("cpu:0"));
  expect_error(make(model, "module"), Code::not_found, "REPORT",
               "report \"module\" of a model not found; reports: model");
}

TEST_F(EmbedReport, ThatIsUnknownIsRefusedWithAList) {
  expect_error(make(runtime, "weather"), Code::not_found, "REPORT",
               "report \"weather\" of a runtime not found; reports: configuration, devices, "
               "explanation, operators, plugins, trace");
}

TEST_F(EmbedReport, RefusesNullAndOtherObjects) {
  expect_error(make({}, "devices"), Code::invalid, "ARGUMENT_KIND",
               "report: the object is NULL, expected a runtime");
  expect_error(done([&](gantry_status* status) {
                 return embed().report(runtime.get(), gantry_text("devices"), nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "report: tree is NULL");
}

// ---- functions

// Returns twice its argument. `self` counts how often it was destroyed.
constexpr gantry_function_table twice = {
    .struct_size = sizeof(gantry_function_table),
    .flags = 0,
    .destroy = [](void* self) { ++*static_cast<int*>(self); },
    .call = [](void*, const gantry_env*, const gantry_value* args, std::int32_t,
               gantry_value* result, gantry_status*) -> gantry_code {
      *result = int_value(2 * args[0].i);
      return GANTRY_OK;
    }};

class EmbedFunction : public test::Embedded {
 protected:
  Status add(std::string_view name, const gantry_function& function) {
    return done([&](gantry_status* status) {
      return embed().function_add(runtime.get(), bytes_of(name), function, status);
    });
  }
  Result<ObjectRef> find(std::string_view name) const {
    gantry_object* made = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().function_find(runtime.get(), bytes_of(name), &made, status);
    }));
    return ObjectRef::adopt(made);
  }
  int destroyed = 0;
};

TEST_F(EmbedFunction, IsFoundByItsName) {
  expect_ok(add("test.twice", {&destroyed, &twice}));
  const ObjectRef function = find("test.twice").value();
  const gantry_value argument = int_value(21);
  gantry_value result{};

  ASSERT_EQ(host->call(host, function.get(), nullptr, &argument, 1, &result, nullptr), GANTRY_OK);

  EXPECT_EQ(result.i, 42);
  EXPECT_EQ(destroyed, 0);
}

TEST_F(EmbedFunction, IsDestroyedWithTheRuntime) {
  expect_ok(add("test.twice", {&destroyed, &twice}));

  runtime = ObjectRef();

  EXPECT_EQ(destroyed, 1);
}

TEST_F(EmbedFunction, IsDestroyedAfterAFailure) {
  expect_error(add("", {&destroyed, &twice}), Code::invalid, "ARGUMENT",
               "function_add: the function has an empty name");
  EXPECT_EQ(destroyed, 1);
  expect_ok(add("test.twice", {&destroyed, &twice}));
  EXPECT_FALSE(add("test.twice", {&destroyed, &twice}).ok());
  EXPECT_EQ(destroyed, 2);
  EXPECT_EQ(embed().function_add(nullptr, gantry_text("f"), {&destroyed, &twice}, nullptr),
            GANTRY_INVALID);
  EXPECT_EQ(destroyed, 3);
}

constexpr gantry_function_table throws_at_its_end = {
    .struct_size = sizeof(gantry_function_table),
    .flags = 0,
    .destroy = [](void*) { throw std::runtime_error("half freed"); },
    .call = twice.call};

TEST_F(EmbedFunction, MayThrowWhereItIsDestroyed) {
  expect_ok(add("test.throws", {nullptr, &throws_at_its_end}));
  ::testing::internal::CaptureStderr();

  runtime = ObjectRef();

  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "gantry: destroy of a function throws: half freed; what it has not freed is lost\n");
}

TEST_F(EmbedFunction, RequiresATableWithCall) {
  expect_error(add("f", {}), Code::invalid, "ARGUMENT_KIND",
               "function_add: the table of function \"f\" is NULL");
  gantry_function_table none{};
  none.struct_size = sizeof none;
  EXPECT_EQ(add("f", {nullptr, &none}).error().reason, "TABLE_INCOMPLETE");
}

TEST_F(EmbedFunction, ThatIsNotThereIsReported) {
  EXPECT_EQ(find("absent").error().reason, "GLOBAL_MISSING");
  expect_error(done([&](gantry_status* status) {
                 return embed().function_find(runtime.get(), gantry_text("f"), nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "function_find: function is NULL");
}

class EmbedInspection : public EmbedReport {
 protected:
  Status inspect(std::string_view path) {
    gantry_value made{};
    const Status status = done([&](gantry_status* reported) {
      return embed().inspect(runtime.get(), bytes_of(path), &made, reported);
    });
    tree = Value::adopt(made);
    return status;
  }
};

TEST_F(EmbedInspection, HasTheContentsOfAFile) {
  expect_ok(inspect(test::golden("tvm-0.12/digits_mlp_llvm.so").string()));

  EXPECT_EQ(text(member(tree.get(), "format")), "shared-library");
  EXPECT_EQ(member(tree.get(), "size").kind, GANTRY_INT);
  EXPECT_EQ(member(tree.get(), "entry").kind, GANTRY_NONE);
  const auto modules = items_of(member(tree.get(), "modules"));
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(text(member(modules[0], "type_key")), "GraphExecutorFactory");
  EXPECT_EQ(text(member(modules[0], "sha256")).size(), 64u);
  EXPECT_EQ(items_of(member(modules[0], "imports"))[0].i, 1);
  EXPECT_EQ(text(member(modules[0], "served_by")), "gantry.graph");
}

TEST_F(EmbedInspection, OpensNoPlugin) {
  expect_ok(inspect(test::golden("tvm-0.12/digits_mlp_llvm.so").string()));

  expect_ok(make(runtime, "plugins"));
  for (const gantry_value& plugin : items_of(member(tree.get(), "plugins")))
    EXPECT_NE(text(member(plugin, "state")), "active") << text(member(plugin, "title"));
}

TEST_F(EmbedInspection, OfATruncatedFileIsAnErrorWithItsOffset) {
  test::TempDir directory;
  const auto path = directory / "short.so";
  const auto whole = test::read_file(test::golden("tvm-0.12/digits_mlp_llvm.so"));
  test::write_file(path, std::span(whole).first(3000));

  const Status status = inspect(path.string());

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::malformed);
  EXPECT_EQ(status.error().offset, 3000u);
  EXPECT_THAT(std::string(status.error().message), HasSubstr("segment 1 ends at"));
}

TEST_F(EmbedInspection, OfAFileOfNoFormatIsAnError) {
  const Status status = inspect("/dev/null");

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().reason, "FILE_KIND");
}

TEST_F(EmbedInspection, RefusesNullAndOtherObjects) {
  gantry_value made{};
  expect_error(done([&](gantry_status* status) {
                 return embed().inspect(nullptr, gantry_text("x"), &made, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "inspect: the object is NULL, expected a runtime");
  expect_error(done([&](gantry_status* status) {
                 return embed().inspect(runtime.get(), gantry_text("x"), nullptr, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "inspect: tree is NULL");
}

}  // namespace
}  // namespace gantry
