// SPDX-License-Identifier: Apache-2.0
//
// The runtime with a plugin that is part of the test: loading, the host table, late binding,
// devices.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include "core/native/device_numbers.hpp"
#include "core/runtime/installed_plugins.hpp"

#include <gantry/batch.h>
#include <gantry/progress.h>
#include <gantry/threads.h>
#include <gantry/trace.h>
#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <optional>

namespace gantry {
namespace {

using test::make_runtime;
using test::PluginInUse;
using test::program_plugin;
using test::query_program_plugin;
using test::Words;
using ::testing::AllOf;
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

// Only the loader can determine where a payload without a declared layout ends.
TEST_F(PluginInUse, ReportsWherePayloadsOfAnUndeclaredLayoutEnd) {
  Runtime runtime = with_plugin();

  const auto root = runtime.load(
      file_of({{"test.block", "one"}, {"test.block", "two"}, {"test.block", "three"}}));

  ASSERT_TRUE(root.ok()) << root.error().message;
  const std::vector<Module> imports = root->imports();
  ASSERT_EQ(imports.size(), 2u);
  EXPECT_EQ(imports[0].function("text").value()()->text().value(), "two");
  EXPECT_EQ(imports[1].function("text").value()()->text().value(), "three");
  EXPECT_EQ(program_plugin().loads, 3);
  EXPECT_FALSE(program_plugin().last_was_exact);
}

// Without a tree, the library is module 0 and imports the payloads.
TEST_F(PluginInUse, KnowsTheModuleThatItMeasuresWithoutATree) {
  Runtime runtime = with_plugin();
  program_plugin().lie = 1000;
  const Words content = Words().u64(1).str("test.block").str("x");

  const auto module = runtime.load(file_with(content));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
  EXPECT_THAT(module.error().message, HasSubstr("while loading entry 1 \"test.block\""));
}

// The tree is then not at the end, so until it is read modules are numbered as in a container
// without a tree.
TEST_F(PluginInUse, ReportsItsModuleIfBytesFollowTheTree) {
  Runtime runtime = with_plugin();
  Words content = Words().u64(2).str("test.block").str("x");
  content.str("_import_tree").u64s({0, 0}).u64s({}).text("behind");

  const auto module = runtime.load(file_with(content));

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_THAT(location_of(*reinterpret_cast<ModuleNode*>(module->get())),
              testing::StartsWith("entry 0 \"test.block\""));
}

TEST_F(PluginInUse, ThatConsumesTooFewBytesIsDetectedAtTheNextEntry) {
  Runtime runtime = with_plugin();
  program_plugin().lie = static_cast<std::uint64_t>(-3);

  const auto module = runtime.load(file_of({{"test.block", "text"}, {"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::malformed);
  EXPECT_THAT(module.error().message,
              AllOf(HasSubstr("type key of entry 1"), HasSubstr("in the container at symbol")));
  EXPECT_EQ(program_plugin().modules, 0);
}

// Each is loaded once, while the container is read.
TEST_F(PluginInUse, MeasuresAThousandPayloadsOfOneFile) {
  Runtime runtime = with_plugin();
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back("test.block", concat("text ", i));

  const auto root = runtime.load(file_of(many));

  ASSERT_TRUE(root.ok()) << root.error().message;
  EXPECT_EQ(program_plugin().loads, 1000);
  EXPECT_EQ(program_plugin().modules, 1000);
  const std::vector<Module> imports = root->imports();
  ASSERT_EQ(imports.size(), 999u);
  for (std::size_t i = 0; i < imports.size(); ++i) {
    ASSERT_EQ(imports[i].function("text").value()()->text().value(), concat("text ", i + 1));
  }
}

TEST_F(PluginInUse, ThatReportsAWrongSizeIsNamed) {
  Runtime runtime = with_plugin();
  program_plugin().lie = 1000;

  const auto module = runtime.load(file_of({{"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::bug);
  EXPECT_EQ(module.error().reason, "BLOB_CONSUMED");
  EXPECT_THAT(module.error().message,
              AllOf(HasSubstr("load_binary of plugin test.program reports that it "
                              "has consumed 1009 bytes of a payload of "),
                    HasSubstr("while loading entry 0 \"test.block\"")));
  EXPECT_EQ(program_plugin().modules, 0) << "the module it made is destroyed";
}

TEST_F(PluginInUse, ThatSucceedsWithoutAModuleIsNamed) {
  Runtime runtime = with_plugin();
  program_plugin().no_module = true;

  const auto module = runtime.load(file_of({{"test.block", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().reason, "MODULE_MISSING");
  EXPECT_THAT(module.error().message,
              HasSubstr("load_binary of plugin test.program returns success without a module"));
}

TEST_F(PluginInUse, ThatFailsWithoutATextIsNamed) {
  Runtime runtime = with_plugin();

  const auto module = runtime.load(file_of({{"test.broken", "x"}}));

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::unavailable);
  EXPECT_THAT(
      module.error().message,
      HasSubstr("load_binary of plugin test.program fails as unavailable without a reason"));
}

TEST_F(PluginInUse, BindsModulesThatWereMissingDuringLoad) {
  Runtime runtime = make_runtime();
  const Module model =
      runtime.load(file_of({{"test.block", "root"}}), {.allow_missing = true}).value();
  EXPECT_EQ(model.missing().size(), 1u);
  EXPECT_EQ(runtime.bind_missing(model).error().reason, "NO_PLUGIN");

  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());
  const Status bound = runtime.bind_missing(model);

  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_TRUE(model.missing().empty());
  EXPECT_EQ(model.function("text").value()()->text().value(), "root");
}

TEST_F(PluginInUse, IsSynchronizedByTheRuntime) {
  Runtime runtime = with_plugin();
  const gantry_device_id second = runtime.device("test_npu:1").value();

  ASSERT_TRUE(runtime.synchronize(second).ok());
  EXPECT_THAT(program_plugin().synchronized, ::testing::ElementsAre(1));

  program_plugin().is_lost = true;
  const Status lost = runtime.synchronize(second);
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().reason, "LOST");
  EXPECT_THAT(lost.error().message,
              HasSubstr("the unit is lost\n  while waiting for device test_npu:1"));
}

TEST_F(PluginInUse, ReceivesNoOtherDeviceWhileItIsDestroyed) {
  std::string reason;
  program_plugin().destroying = [&] {
    const gantry_host* host = program_plugin().host;
    gantry_device device{};
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* said) {
      return host->device_get(host, {4, 0}, &device, said);
    });
    reason = status.error(code, "device_get").reason;
  };

  { ASSERT_TRUE(with_plugin().device("test_npu").ok()); }

  EXPECT_EQ(reason, "RUNTIME_ENDS");
}

TEST_F(PluginInUse, WhoseFactoryFailsIsNamedWithIt) {
  Runtime runtime = with_plugin();
  program_plugin().call = [](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                             gantry_status* status) -> gantry_code {
    return gantry_fail(status, GANTRY_UNAVAILABLE, "BUSY", "the unit is busy");
  };
  const Module module = runtime.load(file_of({{"test.block", "x"}})).value();

  const auto executor = runtime.executor(module, {"cpu"}, "call");

  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().reason, "BUSY");
  EXPECT_THAT(executor.error().message, HasSubstr("while making an executor with \"call\""));
}

TEST_F(PluginInUse, IsNoExecutorWithoutItsFunctions) {
  Runtime runtime = with_plugin();

  const auto none = Executor::wrap(Module());
  const auto block = Executor::wrap(runtime.load(file_of({{"test.block", "x"}})).value());

  EXPECT_EQ(none.error().message, "module handle is empty, expected an executor");
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.error().code, Code::not_found);
  EXPECT_THAT(block.error().message,
              AllOf(HasSubstr("set_input"),
                    HasSubstr("while looking for an executor's functions in test.block")));
}

// The device number 12 in a plugin's graph or table, if two devices may be meant.
TEST_F(PluginInUse, ReceivesNoDeviceForAnAmbiguousNumber) {
  Runtime runtime = with_plugin();
  const Module model = runtime.load(file_of({{"test.block", "root"}})).value();
  const std::int32_t npu = runtime.device("test_npu").value().type;
  const gantry_host* host = program_plugin().host;
  auto& node = *reinterpret_cast<ModuleNode*>(model.get());
  const auto asked = [&](std::int32_t& type, gantry_status* said) {
    return host->device_type_in(host, model.get(), 12, &type, said);
  };
  std::int32_t type = 0;

  node.ext_devs = ext_dev_bit(npu);
  EXPECT_EQ(asked(type, nullptr), GANTRY_OK);
  EXPECT_EQ(type, npu);
  node.ext_devs = ext_dev_bit(npu) | ext_dev_bit(npu + 1);
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* said) { return asked(type, said); });

  EXPECT_EQ(code, GANTRY_UNSUPPORTED);
  EXPECT_THAT(status.error(code, "device_type_in").message,
              HasSubstr("device type 12, ext_dev, in its code is ambiguous"));
  EXPECT_EQ(type, npu) << "written although it fails";
}

TEST_F(PluginInUse, BindsMissingModulesWhenTheFileIsLoadedAgain) {
  Runtime runtime = make_runtime();
  const std::string file = file_of({{"test.block", "root"}});
  const Module partial = runtime.load(file, {.allow_missing = true}).value();
  ASSERT_TRUE(runtime.add_plugin(query_program_plugin).ok());

  const auto whole = runtime.load(file);

  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->get(), partial.get());
  EXPECT_TRUE(partial.missing().empty());
}

// `required: true` in a manifest makes the creation of a runtime fail with the plugin's error.
TEST(Runtime, DoesNotStartWithoutARequiredPlugin) {
  const test::TempDir dir;
  test::write_file(
      dir / "acme.yaml",
      "schema: \"1.0\"\nid: acme.npu\nversion: \"1.0.0\"\nlibrary: libabsent.so\n"
      "abi: {major: 1, min_minor: 0, max_minor: 0}\nkeys: [{key: acme.npu}]\nrequired: true\n");
  RuntimeOptions options;
  options.plugin_dirs = {dir.path().string()};

  const auto runtime = Runtime::create(std::move(options));

  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.error().code, Code::unavailable);
  EXPECT_THAT(runtime.error().message,
              AllOf(HasSubstr("acme.npu"), HasSubstr("required"), HasSubstr("libabsent.so")));
}

TEST_F(PluginInUse, CanReadTheNumberOfItsDeviceWhileItIsCreated) {
  Runtime runtime = with_plugin();

  const auto id = runtime.device("test_npu:1");

  ASSERT_TRUE(id.ok()) << id.error().message;
  EXPECT_EQ(id->type, 64);
  EXPECT_EQ(id->index, 1);
  EXPECT_EQ(program_plugin().device_number, 64);
  EXPECT_EQ(runtime.device("test_npu:2").error().message,
            "device \"test_npu:2\" is not there; test_npu has 2 devices");
}

TEST_F(PluginInUse, HoldsTensorsThatOutliveTheRuntime) {
  Tensor there;
  Tensor back;
  {
    Runtime runtime = with_plugin();
    const std::int64_t shape[] = {4};
    const Tensor from = runtime.tensor({4}, {0, 32, 1}).value();
    back = runtime.tensor({4}, {0, 32, 1}).value();
    for (int i = 0; i < 4; ++i) from.elements<int>()[static_cast<std::size_t>(i)] = i * i;
    there = runtime.tensor(shape, {0, 32, 1}, "test_npu").value();
    ASSERT_TRUE(runtime.copy(from, there).ok());
    ASSERT_TRUE(runtime.copy(there, back).ok());
  }
  EXPECT_EQ(there.data(), nullptr) << "the CPU cannot read it";
  EXPECT_THAT(back.elements<int>(), testing::ElementsAre(0, 1, 4, 9));
  EXPECT_EQ(program_plugin().instances, 1);

  there = {};
  back = {};

  EXPECT_EQ(program_plugin().instances, 0);
}

TEST_F(PluginInUse, AppearsAmongTheDevices) {
  RuntimeOptions options;
  // not of a driver
  options.only_these_plugins = true;
  Runtime runtime = with_plugin(std::move(options));
  std::vector<Message> problems;

  const std::vector<DeviceInfo> devices = runtime.devices(problems);

  EXPECT_TRUE(problems.empty());
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, "cpu");
  EXPECT_EQ(devices[2].name, "test_npu");
  EXPECT_EQ(devices[2].index, 1);
  EXPECT_EQ(devices[2].plugin, "test.program");
  EXPECT_FALSE(devices[0].attributes.empty());
  EXPECT_TRUE(devices[2].attributes.empty()) << "it has no function that returns them";
}

TEST_F(PluginInUse, IsListedByTheNameOfItsDevice) {
  const InstalledPlugins plugins(with_plugin());
  std::vector<Message> problems;

  EXPECT_EQ(plugins.devices("test_npu", problems).size(), 2u);
  EXPECT_TRUE(problems.empty());
  EXPECT_TRUE(plugins.devices("acme_npu", problems).empty());
  EXPECT_EQ(problems.size(), 1u);
}

TEST_F(PluginInUse, IsAmongTheProblemsIfItCannotBeCreated) {
  program_plugin().refusals = 1;
  Runtime runtime = with_plugin();
  std::vector<Message> problems;

  EXPECT_EQ(runtime.devices(problems).size(), 1u) << "the CPU";

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems.front().text(), HasSubstr("the unit is busy"));
}

TEST_F(PluginInUse, IsAmongTheProblemsIfItCannotCountItsDevices) {
  program_plugin().count = -1;
  Runtime runtime = with_plugin();
  std::vector<Message> problems;

  EXPECT_EQ(runtime.devices(problems).size(), 1u) << "the CPU";

  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front().text(), "device test_npu (plugin test.program) reports -1 devices");
}

TEST_F(PluginInUse, MayHaveNoDevice) {
  program_plugin().count = 0;
  Runtime runtime = with_plugin();
  std::vector<Message> problems;

  EXPECT_EQ(runtime.devices(problems).size(), 1u) << "the CPU";
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(runtime.device("test_npu").error().message,
            "device \"test_npu\" is not there; test_npu has 0 devices");
}

TEST_F(PluginInUse, CanReadWhetherACallIsCancelled) {
  Runtime runtime = with_plugin();
  Task task;
  std::vector<int> seen;
  const gantry_env env = task.env();

  const auto done = run(
      runtime,
      [&](const gantry_env* called, const gantry_value*, std::int32_t, gantry_value*,
          gantry_status*) {
        const gantry_host* host = program_plugin().host;
        seen.push_back(host->is_cancelled(host, called));
        task.cancel();
        seen.push_back(host->is_cancelled(host, called));
        return gantry_code{GANTRY_OK};
      },
      {}, &env);

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(seen, testing::ElementsAre(0, 1));
}

TEST_F(PluginInUse, CanUseThePoolAndTheTrace) {
  RuntimeOptions options;
  options.threads = 2;
  options.trace = true;
  Runtime runtime = with_plugin(std::move(options));
  std::atomic<int> pieces{0};

  const auto done =
      run(runtime,
          [&](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
              gantry_status* status) -> gantry_code {
            const gantry_host* host = program_plugin().host;
            const auto* threads =
                static_cast<const gantry_threads*>(host->get_extension(host, GANTRY_THREADS_1));
            const auto* trace =
                static_cast<const gantry_trace*>(host->get_extension(host, GANTRY_TRACE_1));
            if (threads == nullptr || trace == nullptr ||
                host->get_extension(host, "gantry.threads/1x") != nullptr) {
              return gantry_fail(status, GANTRY_BUG, "TEST", "extensions");
            }
            const std::int64_t begun = trace->span_begin(host);
            const gantry_code code = threads->parallel_for(
                host, 10,
                [](void* self, std::int64_t, gantry_status*) -> gantry_code {
                  ++*static_cast<std::atomic<int>*>(self);
                  return GANTRY_OK;
                },
                &pieces, status);
            trace->span_end(host, begun, gantry_text("ten pieces"), gantry_text("run"));
            return code;
          });

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(pieces, 10);
  EXPECT_THAT(runtime.trace_json(), HasSubstr("ten pieces"));
}

// Spans that a plugin ends with the time of their beginning.
class EndedSpans : public PluginInUse {
 protected:
  static const gantry_trace& trace() {
    const gantry_host* host = program_plugin().host;
    return *static_cast<const gantry_trace*>(host->get_extension(host, GANTRY_TRACE_1));
  }
  Runtime runtime_with(bool has_trace) {
    RuntimeOptions options;
    options.trace = has_trace;
    Runtime runtime = with_plugin(std::move(options));
    EXPECT_TRUE(runtime.device("test_npu").ok());
    return runtime;
  }
  static void end(std::int64_t begun) {
    trace().span_end(program_plugin().host, begun, gantry_text("ended"), gantry_text("run"));
  }
};

TEST_F(EndedSpans, AreRecordedFromTheBeginning) {
  const Runtime runtime = runtime_with(true);
  EXPECT_GT(trace().span_begin(program_plugin().host), 0);

  end(0);

  EXPECT_THAT(runtime.trace_json(), HasSubstr("\"ended\""));
}

TEST_F(EndedSpans, AreNotRecordedIfTheyWereNotBegun) {
  const Runtime runtime = runtime_with(true);

  end(-1);

  EXPECT_THAT(runtime.trace_json(), ::testing::Not(HasSubstr("\"ended\"")));
}

TEST_F(EndedSpans, AreNotRecordedWithoutATrace) {
  const Runtime runtime = runtime_with(false);
  EXPECT_EQ(trace().span_begin(program_plugin().host), -1);

  end(5);

  EXPECT_THAT(runtime.trace_json(), ::testing::Not(HasSubstr("\"ended\"")));
}

class AnnouncedWorks : public PluginInUse {
 protected:
  // Announces work in a function of the plugin.
  static gantry_code announce(gantry_bytes text, gantry_status* status) {
    const gantry_host* host = program_plugin().host;
    const auto* progress =
        static_cast<const gantry_progress*>(host->get_extension(host, GANTRY_PROGRESS_1));
    if (progress == nullptr) return gantry_fail(status, GANTRY_BUG, "TEST", "no progress");
    const std::uint64_t outer = progress->work_begin(host, text);
    const std::uint64_t inner = progress->work_begin(host, gantry_text("linking"));
    progress->work_end(host, inner);
    progress->work_end(host, outer);
    return GANTRY_OK;
  }
  std::vector<std::string> lines_;
};

TEST_F(AnnouncedWorks, ReachTheSinkOfTheEmbedder) {
  RuntimeOptions options;
  options.work_sink = [this](std::uint64_t work, std::string_view text) {
    lines_.push_back(concat(work, ' ', text));
  };
  Runtime runtime = with_plugin(std::move(options));

  const auto done =
      run(runtime, [](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                      gantry_status* status) { return announce(gantry_text("a\xff"), status); });

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(lines_, testing::ElementsAre("1 test.program: a\\xff", "2 test.program: linking",
                                           "2 ", "1 "));
}

TEST_F(AnnouncedWorks, WithoutASinkHaveNoNumber) {
  RuntimeOptions options;
  options.log_level = "info";
  options.log_sink = [](std::int32_t, std::string_view) {};
  Runtime runtime = with_plugin(std::move(options));
  ASSERT_TRUE(runtime.device("test_npu").ok());
  const gantry_host* host = program_plugin().host;
  const auto* progress =
      static_cast<const gantry_progress*>(host->get_extension(host, GANTRY_PROGRESS_1));

  EXPECT_EQ(progress->work_begin(host, gantry_text("compiling")), 0u);
}

TEST_F(AnnouncedWorks, WithoutANumberAreNotEnded) {
  RuntimeOptions options;
  options.work_sink = [this](std::uint64_t work, std::string_view text) {
    lines_.push_back(concat(work, ' ', text));
  };
  Runtime runtime = with_plugin(std::move(options));
  ASSERT_TRUE(runtime.device("test_npu").ok());
  const gantry_host* host = program_plugin().host;

  static_cast<const gantry_progress*>(host->get_extension(host, GANTRY_PROGRESS_1))
      ->work_end(host, 0);

  EXPECT_THAT(lines_, testing::IsEmpty());
}

TEST_F(AnnouncedWorks, AreLoggedWithoutASink) {
  RuntimeOptions options;
  options.log_level = "info";
  options.log_sink = [this](std::int32_t level, std::string_view line) {
    lines_.push_back(concat(level, ' ', line));
  };
  Runtime runtime = with_plugin(std::move(options));
  lines_.clear();

  const auto done = run(
      runtime, [](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                  gantry_status* status) { return announce(gantry_text("compiling"), status); });

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(lines_,
              testing::IsSupersetOf({"2 test.program: compiling", "2 test.program: linking"}));
}

// The calls of a batch are those of the plugin's own functions; native/batch_test.cpp runs host code.
TEST_F(PluginInUse, CanRunBatches) {
  Runtime runtime = with_plugin();
  const Function text = runtime.load(file_of({{"test.block", "hello"}}))->function("text").value();
  Task task;
  const gantry_env env = task.env();
  std::uint64_t failed_before = 0, failed_after = 0;
  gantry_code refused = GANTRY_OK, cancelled = GANTRY_OK;

  const auto done = run(
      runtime,
      [&](const gantry_env* called, const gantry_value*, std::int32_t, gantry_value*,
          gantry_status* status) -> gantry_code {
        const gantry_host* host = program_plugin().host;
        const auto* batches =
            static_cast<const gantry_batch*>(host->get_extension(host, GANTRY_BATCH_1));
        if (batches == nullptr) return gantry_fail(status, GANTRY_BUG, "TEST", "no batches");
        const gantry_batch_call calls[2] = {{text.get(), nullptr, 0, 0, {1, 0}},
                                            {text.get(), nullptr, 0, 0, {1, 0}}};
        gantry_object* batch = nullptr;
        if (const gantry_code code = batches->prepare(host, calls, 2, &batch, status)) return code;
        const gantry_code code = batches->run(host, batch, nullptr, &failed_before, status);
        refused = batches->run(host, text.get(), called, &failed_before, nullptr);
        task.cancel();
        cancelled = batches->run(host, batch, called, &failed_after, nullptr);
        gantry_release(batch);
        return code;
      },
      {}, &env);

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(refused, GANTRY_INVALID);
  EXPECT_EQ(failed_before, GANTRY_NO_CALL);
  EXPECT_EQ(cancelled, GANTRY_CANCELLED);
  EXPECT_EQ(failed_after, GANTRY_NO_CALL);
}

TEST_F(PluginInUse, ReadsItsOptionsAndThoseOfEveryPlugin) {
  RuntimeOptions options;
  options.threads = 3;
  Runtime runtime = with_plugin(std::move(options));
  std::int64_t threads = 0;
  gantry_code unknown = GANTRY_OK;

  const auto done = run(
      runtime,
      [&](const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
          gantry_status* status) -> gantry_code {
        const gantry_host* host = program_plugin().host;
        gantry_value value{};
        if (const gantry_code code = host->config_get(host, gantry_text("threads"), &value, status))
          return code;
        threads = value.i;
        unknown = host->config_get(host, gantry_text("thread"), &value, nullptr);
        return GANTRY_OK;
      });

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(threads, 3);
  EXPECT_EQ(unknown, GANTRY_NOT_FOUND);
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

  EXPECT_EQ(made->type_key(), "made");
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
  OwnedValue made;
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
