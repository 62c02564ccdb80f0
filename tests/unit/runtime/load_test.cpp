// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/runtime/digits.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <map>

namespace gantry {
namespace {

using test::digits_file;
using test::golden;
using test::make_runtime;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Load, ListsAllTypeKeysWithoutAPluginAtOnce) {
  Runtime runtime = make_runtime();

  const auto model = runtime.load(golden("tvm-0.25/digits_mlp_relax_opencl.so").string());

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unavailable);
  EXPECT_EQ(model.error().reason, "NO_PLUGIN");
  EXPECT_THAT(model.error().message,
              AllOf(HasSubstr("relax.VMExecutable"), HasSubstr("opencl"), HasSubstr("plugins.d"),
                    HasSubstr("GraphExecutorFactory")));
}

TEST(Load, WithMissingModulesAllowedSearchesTheirImports) {
  Runtime runtime = make_runtime();
  const Module model =
      runtime.load(golden("tvm-0.12/digits_mlp_opencl.so").string(), {.allow_missing = true})
          .value();

  EXPECT_EQ(model.missing().value().size(), 1u);
  EXPECT_THAT(model.missing().value().front(), HasSubstr("opencl"));
  // The graph's own functions need no OpenCL.
  const auto json = model.function("get_graph_json").value()();
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_THAT(json->text().value(), HasSubstr("nodes"));
}

TEST(Load, AllowsMissingModulesOfAFileThatIsLoadedAgain) {
  Runtime runtime = make_runtime();
  const std::string file = golden("tvm-0.12/digits_mlp_opencl.so").string();
  const Module partial = runtime.load(file, {.allow_missing = true}).value();

  const auto again = runtime.load(file, {.allow_missing = true});

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->get(), partial.get());
}

TEST(Load, FailsForAFileWithMissingModulesUnlessTheyAreAllowed) {
  Runtime runtime = make_runtime();
  const std::string file = golden("tvm-0.12/digits_mlp_opencl.so").string();
  const Module partial = runtime.load(file, {.allow_missing = true}).value();

  const auto whole = runtime.load(file);

  ASSERT_FALSE(whole.ok());
  EXPECT_EQ(whole.error().reason, "NO_PLUGIN");
}

TEST(Load, ReportsWhyAModuleIsMissingWhenItsFunctionIsLookedUp) {
  Runtime runtime = make_runtime();
  const Module model =
      runtime.load(golden("tvm-0.12/axpy2_opencl.so").string(), {.allow_missing = true}).value();

  const auto kernel = model.function("axpy2_kernel0");

  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, Code::not_found);
  EXPECT_THAT(kernel.error().message,
              AllOf(HasSubstr("axpy2_kernel0"), HasSubstr("not bound"), HasSubstr("opencl")));
}

// Its symbols and its context have a prefix, and it registers itself when it is opened.
TEST(Load, RunsAPrefixedSystemLibrary) {
  Runtime runtime = make_runtime();
  const Module model =
      runtime.load((test::build_tree() / "tests/host_fixtures/system_library.so").string()).value();

  for (const char* name : {"run", "a_run"}) {
    const auto has_context = model.function(name).value()();
    ASSERT_TRUE(has_context.ok()) << has_context.error().message;
    EXPECT_EQ(has_context->integer().value(), 1) << name;
  }
}

TEST(Load, RefusesAnEmptyPath) {
  Runtime runtime = make_runtime();

  const auto model = runtime.load("");

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::invalid);
  EXPECT_THAT(model.error().message, HasSubstr("path is empty, expected a file"));
}

TEST(Load, ReportsARemovedWorkingDirectory) {
  Runtime runtime = make_runtime();
  const auto before = std::filesystem::current_path();
  {
    const test::TempDir gone;
    std::filesystem::current_path(gone.path());
  }
  const auto relative = runtime.load("model.so");
  const auto absolute = runtime.load(digits_file());
  std::filesystem::current_path(before);

  EXPECT_EQ(relative.error().code, Code::not_found);
  EXPECT_TRUE(absolute.ok());
}

TEST(Load, RejectsPathsThatAreNotFiles) {
  Runtime runtime = make_runtime();
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo.so").c_str(), 0600), 0);
  test::write_file(dir / "text.so", "hello, this is text");
  test::write_file(dir / "empty.so", "");

  EXPECT_THAT(runtime.load((dir / "fifo.so").string()).error().message, HasSubstr("FIFO"));
  EXPECT_THAT(runtime.load(dir.path().string()).error().message, HasSubstr("directory"));
  EXPECT_THAT(runtime.load((dir / "text.so").string()).error().message,
              HasSubstr("is text that begins with \"hello, this is text\"; expected "));
  EXPECT_THAT(runtime.load((dir / "empty.so").string()).error().message, HasSubstr("empty"));
  EXPECT_EQ(runtime.load((dir / "absent.so").string()).error().code, Code::not_found);
}

TEST(Load, RefusesEveryTruncationOfALibraryBeforeItIsOpened) {
  Runtime runtime = make_runtime();
  const auto whole = test::read_file(golden("tvm-0.12/axpy2_llvm.so"));
  const test::TempDir dir;
  for (std::size_t size = 1; size < whole.size(); size += whole.size() / 64) {
    test::write_file(dir / "cut.so", std::span(whole).first(size));
    EXPECT_FALSE(runtime.load((dir / "cut.so").string()).ok())
        << "accepted the first " << size << " bytes";
  }
}

TEST(Load, RefusesALibraryForAnotherMachine) {
  Runtime runtime = make_runtime();
  auto bytes = test::read_file(golden("tvm-0.12/axpy2_llvm.so"));
  // e_machine: EM_AARCH64
  bytes[18] = 183;
  const test::TempDir dir;
  test::write_file(dir / "arm.so", bytes);

  const auto model = runtime.load((dir / "arm.so").string());

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, Code::unavailable);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("aarch64"), HasSubstr("x86-64")));
}

TEST(Load, RunsCpuCodeThatImportsTvmFunctions) {
  Runtime runtime = make_runtime();
  const auto inputs = runtime.read_tensors(golden("tvm-0.12/resnet20.input.npz").string()).value();
  const auto expected =
      runtime.read_tensors(golden("tvm-0.12/resnet20_c.expected.npz").string()).value();
  Executor executor =
      Executor::create(runtime, runtime.load(golden("tvm-0.12/resnet20_c.so").string()).value(),
                       {"cpu"})
          .value();

  ASSERT_TRUE(executor.set_input(inputs.front().first, inputs.front().second.row(0).value()).ok());
  ASSERT_TRUE(executor.run().ok());

  const auto found = executor.output(0)->elements<float>();
  const auto wanted = expected.front().second.row(0)->elements<float>();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * std::abs(wanted[i]));
}

TEST(Runtime, WithoutPluginsReportsWhereItSearched) {
  const test::TempDir empty;
  RuntimeOptions options;
  options.plugin_paths = {empty.path().string()};
  options.only_these_plugins = true;
  Runtime runtime = make_runtime(std::move(options));

  const auto model = runtime.load(digits_file());

  ASSERT_FALSE(model.ok());
  EXPECT_THAT(model.error().message,
              AllOf(HasSubstr("GraphExecutorFactory"), HasSubstr(empty.path().string()),
                    HasSubstr("gantry.graph")));
}

TEST(Runtime, RefusesOptionsOutOfRange) {
  RuntimeOptions threads;
  threads.threads = -1;
  RuntimeOptions spin;
  spin.spin_us = 1'000'001;
  RuntimeOptions level;
  level.log_level = "loud";

  EXPECT_EQ(Runtime::create(threads).error().message, "threads is -1, expected 0 to 1024");
  EXPECT_EQ(Runtime::create(spin).error().message,
            "runtime_new: spin_us is 1000001, expected -1 to 1000000");
  spin.spin_us = -2;
  EXPECT_EQ(Runtime::create(spin).error().message,
            "runtime_new: spin_us is -2, expected -1 to 1000000");
  EXPECT_EQ(Runtime::create(level).error().message,
            "log level is \"loud\", expected error, warning, info or debug");
}

TEST(Runtime, AcceptsOptionsAtTheirLimits) {
  RuntimeOptions most;
  most.threads = 1024;
  most.spin_us = 1'000'000;
  RuntimeOptions more = most;
  more.threads = 1025;

  EXPECT_TRUE(Runtime::create(most).ok());
  EXPECT_EQ(Runtime::create(more).error().message, "threads is 1025, expected 0 to 1024");
}

TEST(Runtime, MakesNoExecutorWithoutAModelADeviceOrAFactory) {
  Runtime runtime = make_runtime();
  const Module model = runtime.load(golden("tvm-0.12/axpy2_llvm.so").string()).value();

  EXPECT_EQ(Executor::create(runtime, Module(), {"cpu"}).error().message,
            "module handle is empty, expected a model");
  EXPECT_EQ(Executor::create(runtime, model, {}).error().message,
            "executor has 0 devices, minimum is 1");
  const auto no_factory = Executor::create(runtime, model, {"cpu"});
  EXPECT_EQ(no_factory.error().code, Code::not_found);
  EXPECT_THAT(no_factory.error().message,
              AllOf(HasSubstr("\"default\""), HasSubstr("while making an executor of _lib")));
}

TEST(Runtime, ReportsDeviceNumbersThatItDoesNotHave) {
  Runtime runtime = make_runtime();

  const auto assigned = runtime.device_table({99, 0}), opencl = runtime.device_table({4, 0});

  ASSERT_FALSE(assigned.ok());
  EXPECT_EQ(assigned.error().code, Code::not_found);
  ASSERT_FALSE(opencl.ok());
  EXPECT_EQ(opencl.error().reason, "NO_PLUGIN");
  EXPECT_THAT(opencl.error().message, HasSubstr("opencl"));
}

TEST(Runtime, CopiesNoEmptyTensor) {
  Runtime runtime = make_runtime();
  const Tensor tensor = runtime.tensor({1}, {2, 32, 1}).value();

  EXPECT_EQ(runtime.copy(Tensor(), tensor).error().message, "tensor copy: a handle is empty");
  EXPECT_EQ(runtime.copy(tensor, Tensor()).error().message, "tensor copy: a handle is empty");
}

TEST(Runtime, ResolvesDeviceNamesAndListsDevices) {
  Runtime runtime = make_runtime();

  EXPECT_EQ(runtime.device("cpu:0")->type, 1);
  EXPECT_EQ(runtime.device("cpu:1").error().message,
            "device \"cpu:1\" not found; cpu has 1 device");
  EXPECT_EQ(runtime.device("opencl").error().reason, "NO_PLUGIN");
}

TEST(Runtime, RecordsATraceIfRequested) {
  RuntimeOptions options;
  options.trace = true;
  Runtime runtime = make_runtime(std::move(options));
  const Module model = runtime.load(digits_file()).value();

  EXPECT_THAT(runtime.trace_json().value(), AllOf(HasSubstr("traceEvents"), HasSubstr("dlopen")));
  EXPECT_THAT(make_runtime().trace_json().value(),
              AllOf(HasSubstr("traceEvents"), Not(HasSubstr("dlopen"))));
}

// The executor's creation, each run, and in each run the function of every operator.
TEST(Runtime, RecordsEveryCallInATrace) {
  RuntimeOptions options;
  options.trace = true;
  Runtime runtime = make_runtime(std::move(options));
  const test::Digits digits(runtime);
  const Module model = runtime.load(digits_file()).value();
  Executor executor = Executor::create(runtime, model, {"cpu"}).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(digits.run(executor, i));

  std::map<std::string, int> calls;
  int operators = 0, kernels = 0;
  const auto document = nlohmann::json::parse(runtime.trace_json().value());
  for (const auto& event : document["traceEvents"]) {
    const std::string name = event["name"];
    if (event["cat"] == "op") ++operators;
    if (event["cat"] == "call") {
      ++calls[name];
      kernels += name.starts_with("tvmgen_") ? 1 : 0;
    }
  }

  EXPECT_EQ(calls["default"], 1);
  EXPECT_EQ(calls["set_input"], 3);
  EXPECT_EQ(calls["run"], 3);
  EXPECT_GT(operators, 0);
  EXPECT_EQ(kernels, operators);
}

}  // namespace
}  // namespace gantry
