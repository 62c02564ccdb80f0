// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/batch.hpp"

#include "core/base/process_end.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/native/packed/packed_call.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <span>
#include <stdexcept>
#include <thread>

namespace gantry {
namespace {

using test::fixture;
using test::function_of;
using test::HostWorld;
using test::text_value;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// CPU code of packed.so, and functions like those of a plugin, which record their calls.
class BatchTest : public ::testing::Test {
 protected:
  using Args = std::span<const gantry_value>;
  using Body = std::function<gantry_code(const gantry_env&, Args, gantry_status*)>;

  // A call of CPU code by name.
  gantry_batch_call host_call(std::string_view name, std::vector<gantry_value> args) {
    functions_.push_back(function_of(node, name));
    return call_of(functions_.back().base(), std::move(args));
  }
  // A call of a function that is not CPU code.
  gantry_batch_call plugin_call(Body body) {
    bodies_.push_back(std::move(body));
    functions_.push_back(*new_function({&bodies_.back(), &table_}, {}, 0));
    return call_of(functions_.back().base(), {});
  }
  gantry_batch_call call_of(gantry_object* function, std::vector<gantry_value> args) {
    args_.push_back(std::move(args));
    return {function,
            args_.back().data(),
            static_cast<std::int32_t>(args_.back().size()),
            0,
            {kCpu, 0}};
  }
  // A call of CPU code that runs `body`. Its arguments need no conversion.
  gantry_batch_call within_cpu_code(Body body, std::vector<gantry_value> args = {}) {
    gantry_value inner{};
    inner.kind = GANTRY_POINTER;
    inner.object = plugin_call(std::move(body)).function;
    args.insert(args.begin(), {int_value(0), inner});
    return host_call("call_and_return", std::move(args));
  }

  Result<ObjectPtr> prepared(const std::vector<gantry_batch_call>& calls) {
    return new_batch(calls);
  }
  Status run(const Result<ObjectPtr>& batch,
             const gantry_env& env = {{kCpu, 0}, nullptr, nullptr, nullptr}) {
    EXPECT_TRUE(batch.ok()) << (batch.ok() ? "" : batch.error().message);
    return run(batch->get(), env);
  }
  Status run(const gantry_object* batch,
             const gantry_env& env = {{kCpu, 0}, nullptr, nullptr, nullptr}) {
    failed = 77;
    StatusBuffer status;
    const auto is_cancelled = [](const gantry_env& of) {
      return static_cast<const std::atomic<bool>*>(of.task)->load();
    };
    const gantry_code code = run_batch(batch, env, is_cancelled, &failed, status.get());
    return code == GANTRY_OK ? Status() : status.error(code, "run");
  }

  // adds "text" to the journal
  gantry_batch_call noting(std::string text) {
    return plugin_call([this, text](const gantry_env&, Args, gantry_status*) {
      journal.push_back(text);
      return gantry_code{GANTRY_OK};
    });
  }
  gantry_batch_call noting_in_cpu_code(std::string text) {
    return within_cpu_code([this, text](const gantry_env&, Args, gantry_status*) {
      journal.push_back(concat(text, " at ", here().call->depth()));
      return gantry_code{GANTRY_OK};
    });
  }

  HostWorld world{2};
  Ref<ModuleNode> node = world.load_whole(fixture("packed.so"));
  std::vector<std::string> journal;
  // as run() writes it; 77: it did not
  std::uint64_t failed = 77;

 private:
  static constexpr gantry_function_table table_{
      sizeof(gantry_function_table), 0, nullptr,
      [](void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
         gantry_value*, gantry_status* status) {
        return (*static_cast<Body*>(self))(*env, {args, static_cast<std::size_t>(count)}, status);
      }};
  std::deque<Body> bodies_;
  std::deque<std::vector<gantry_value>> args_;
  std::vector<Ref<FunctionObject>> functions_;
};

TEST_F(BatchTest, RunsItsCallsInOrder) {
  const auto batch = prepared({noting("a"), noting_in_cpu_code("b"), noting_in_cpu_code("c"),
                               noting("d"), noting_in_cpu_code("e")});

  for (int k = 0; k < 2; ++k) {
    journal.clear();
    const Status ran = run(batch);

    ASSERT_TRUE(ran.ok()) << ran.error().message;
    EXPECT_THAT(journal, ElementsAre("a", "b at 1", "c at 1", "d", "e at 1"));
    EXPECT_EQ(failed, 77u) << "written after a failure only";
  }
}

TEST_F(BatchTest, RecordsItsCallsOnlyWhileRecordingIsOn) {
  TraceRecorder trace;
  test::artifact_of(*node).trace = &trace;
  const auto batch = prepared({noting_in_cpu_code("a"), noting_in_cpu_code("b")});

  trace.set_recording(false);
  ASSERT_TRUE(run(batch).ok());
  EXPECT_TRUE(trace.events().empty());
  trace.set_recording(true);
  ASSERT_TRUE(run(batch).ok());

  EXPECT_THAT(journal, ElementsAre("a at 1", "b at 1", "a at 1", "b at 1"));
  EXPECT_THAT(trace.events(), ElementsAre(Field(&TraceEvent::name, "call_and_return"),
                                          Field(&TraceEvent::name, "call_and_return")));
}

TEST_F(BatchTest, OfNoCallsSucceeds) { EXPECT_TRUE(run(prepared({})).ok()); }

TEST_F(BatchTest, KeepsItsFunctions) {
  const auto batch = prepared({host_call("sum", {int_value(1)})});
  const std::uint64_t before = node->header.counts & UINT32_MAX;
  const auto again = prepared({host_call("sum", {int_value(1)})});

  EXPECT_GT(node->header.counts & UINT32_MAX, before);
  EXPECT_TRUE(run(again).ok());
}

TEST_F(BatchTest, ReadsTheContentsOfATensorInEachRun) {
  gantry_tensor tensor{};
  std::vector<std::int32_t> ranks;
  const auto batch = prepared({within_cpu_code(
      [&](const gantry_env&, Args args, gantry_status*) {
        ranks.push_back(args[0].tensor->ndim);
        return gantry_code{GANTRY_OK};
      },
      {tensor_ref_value(&tensor)})});

  for (tensor.ndim = 1; tensor.ndim < 3; ++tensor.ndim) ASSERT_TRUE(run(batch).ok());

  EXPECT_THAT(ranks, ElementsAre(1, 2));
}

TEST_F(BatchTest, ReportsAResultThatCannotBeConverted) {
  const auto batch = prepared(
      {host_call("sum", {}), host_call("return_code", {int_value(8), int_value(1)}), noting("no")});

  EXPECT_EQ(run(batch).error().reason, "HOST_RESULT");
  EXPECT_EQ(failed, 1u);
  EXPECT_TRUE(journal.empty());
}

// A result that CPU code returns as an object ends the entry; the next calls are made in another.
TEST_F(BatchTest, ReleasesResults) {
  const auto sum = function_of(node, "sum");
  gantry_value pointer{};
  pointer.kind = GANTRY_POINTER;
  pointer.object = sum.base();
  const auto batch =
      prepared({host_call("return_code", {int_value(kPackedFunction), pointer}),
                host_call("echo", {value_of(sum.base())}), noting_in_cpu_code("next"),
                host_call("echo", {int_value(3)}), host_call("echo", {text_value("text")})});
  const std::uint64_t before = sum->header.counts;

  ASSERT_TRUE(run(batch).ok());

  EXPECT_EQ(sum->header.counts, before);
  EXPECT_THAT(journal, ElementsAre("next at 1"));
}

TEST_F(BatchTest, ReportsTheCallThatFailsAsASingleCallDoes) {
  const auto alone = test::call_named(node, "raise_text", {text_value("no luck")});
  const auto mute = test::call_named(node, "fail_mute");
  ASSERT_FALSE(alone.ok());

  const Status text =
      run(prepared({noting_in_cpu_code("first"), noting("second"),
                    host_call("raise_text", {text_value("no luck")}), noting("never")}));
  const std::uint64_t text_at = failed;
  const Status none = run(prepared({host_call("sum", {}), host_call("fail_mute", {})}));

  EXPECT_EQ(text.error().message, alone.error().message);
  EXPECT_EQ(text.error().code, alone.error().code);
  EXPECT_EQ(text.error().reason, alone.error().reason);
  EXPECT_EQ(text_at, 2u);
  EXPECT_THAT(journal, ElementsAre("first at 1", "second"));
  EXPECT_EQ(none.error().message, mute.error().message);
  EXPECT_EQ(failed, 1u);
}

// Compiled code without error texts fails after another call whose failure its caller ignored.
TEST_F(BatchTest, DoesNotReportTheErrorOfAnEarlierCall) {
  const auto mute = test::call_named(node, "fail_mute");
  const auto ignored = within_cpu_code([](const gantry_env&, Args, gantry_status* status) {
    return gantry_fail(status, GANTRY_INVALID, "TEST", "an ignored error");
  });

  const Status ran = run(prepared({ignored, host_call("fail_mute", {})}));

  EXPECT_EQ(ran.error().message, mute.error().message);
}

TEST_F(BatchTest, ReportsAnArgumentThatCpuCodeCannotTakeWhenItRuns) {
  const auto batch = prepared({noting("first"), host_call("sum", {tensor_ref_value(nullptr)})});

  const Status ran = run(batch);

  EXPECT_EQ(
      ran.error().message,
      "argument 0 is a tensor at address 0\n  in host function \"sum\" of entry 0 \"_lib\" of "
      "packed.so");
  EXPECT_EQ(failed, 1u);
  EXPECT_THAT(journal, ElementsAre("first"));
}

TEST_F(BatchTest, ReportsAPluginThatThrows) {
  const auto thrower = plugin_call([](const gantry_env&, Args, gantry_status*) -> gantry_code {
    throw std::runtime_error("oops");
  });

  const Status ran = run(prepared({host_call("sum", {}), thrower}));

  EXPECT_EQ(ran.error().reason, "EXCEPTION");
  EXPECT_THAT(ran.error().message, HasSubstr("throws: oops"));
  EXPECT_EQ(failed, 1u);
}

TEST_F(BatchTest, StopsBetweenCallsWhenItsTaskIsCancelled) {
  std::atomic<bool> cancelled{false};
  const gantry_env env{{kCpu, 0}, nullptr, &cancelled, nullptr};
  const auto cancels = [&](const char* text) {
    return within_cpu_code([&, text](const gantry_env&, Args, gantry_status*) {
      journal.push_back(text);
      cancelled = true;
      return gantry_code{GANTRY_OK};
    });
  };
  const auto within = prepared({cancels("one"), noting_in_cpu_code("two")});
  const auto across = prepared({cancels("three"), noting("four")});

  for (const auto& batch : {&within, &across}) {
    cancelled = false;
    const Status ran = run(*batch, env);

    EXPECT_EQ(ran.error().code, Code::cancelled);
    EXPECT_EQ(ran.error().reason, "CANCELLED");
    EXPECT_EQ(ran.error().message, "run is cancelled");
    EXPECT_EQ(failed, GANTRY_NO_CALL);
  }
  EXPECT_THAT(journal, ElementsAre("one", "three"));
}

// A call on the env's device gets its stream, another one the default stream of its device.
TEST_F(BatchTest, RunsOnTheDeviceOfEachCall) {
  std::vector<std::string> seen;
  const auto sees = [&](std::int32_t index, bool in_cpu_code) {
    const auto body = [&](const gantry_env& env, Args, gantry_status*) {
      seen.push_back(concat(env.device.type, ":", env.device.index, env.stream ? " stream" : "",
                            env.task ? " task" : ""));
      return gantry_code{GANTRY_OK};
    };
    gantry_batch_call one = in_cpu_code ? within_cpu_code(body) : plugin_call(body);
    one.device = {4, index};
    return one;
  };
  const auto batch = prepared(
      {sees(0, false), sees(1, false), sees(0, true), sees(0, true), sees(1, true), sees(0, true)});
  int stream = 0;
  std::atomic<bool> task{false};

  ASSERT_TRUE(run(batch, {{4, 1}, &stream, &task, nullptr}).ok());

  EXPECT_THAT(seen, ElementsAre("4:0 task", "4:1 stream task", "4:0 task", "4:0 task",
                                "4:1 stream task", "4:0 task"));
}

// Each call has the stream of its device, and those of the others: CPU code may start work there.
TEST_F(BatchTest, KeepsTheStreamsOfAllDevices) {
  std::vector<std::string> seen;
  int streams[3] = {};
  const auto index_of = [&](const void* stream) {
    return stream == nullptr ? std::string("none")
                             : concat(static_cast<const int*>(stream) - streams);
  };
  const auto sees = [&](gantry_device_id device, bool in_cpu_code) {
    const auto body = [&](const gantry_env& env, Args, gantry_status*) {
      std::string text = index_of(env.stream);
      for (const std::int32_t index : {0, 1, 2, 3})
        text += " " + index_of(gantry_env_stream(&env, {4, index}));
      seen.push_back(std::move(text));
      return gantry_code{GANTRY_OK};
    };
    gantry_batch_call one = in_cpu_code ? within_cpu_code(body) : plugin_call(body);
    one.device = device;
    return one;
  };
  const auto batch = prepared({sees({4, 1}, false), sees({4, 2}, false), sees({kCpu, 0}, false),
                               sees({kCpu, 0}, true), sees({4, 3}, true)});
  const gantry_device_stream items[] = {{{4, 2}, &streams[2]}, {{4, 0}, &streams[0]}};
  const gantry_streams others{items, 2};

  ASSERT_TRUE(run(batch, {{4, 1}, &streams[1], nullptr, &others}).ok());

  EXPECT_THAT(seen, ElementsAre("1 0 1 2 none", "2 0 1 2 none", "none 0 1 2 none",
                                "none 0 1 2 none", "none 0 1 2 none"));
}

// "__tvm_set_device" applies until the end of the call that makes it, for the call's device type.
TEST_F(BatchTest, StartsEachCallOnItsDevice) {
  const std::int32_t before = current_index(here(), 4);
  std::vector<std::int32_t> seen;
  const auto selects = [&](std::int32_t index) {
    gantry_batch_call one = within_cpu_code([&, index](const gantry_env&, Args, gantry_status*) {
      seen.push_back(current_index(here(), 4));
      select_device(here(), {4, index});
      return gantry_code{GANTRY_OK};
    });
    one.device = {4, 2};
    return one;
  };

  ASSERT_TRUE(run(prepared({selects(5), selects(6)})).ok());

  EXPECT_THAT(seen, ElementsAre(2, 2));
  EXPECT_EQ(current_index(here(), 4), before);
}

TEST_F(BatchTest, TranslatesDeviceNumbersOfAModuleThatNeedsIt) {
  gantry_tensor tensor{};
  std::vector<bool> copied;
  const auto batch = prepared({within_cpu_code(
      [&](const gantry_env&, Args args, gantry_status*) {
        copied.push_back(args[0].tensor != &tensor);
        return gantry_code{GANTRY_OK};
      },
      {tensor_ref_value(&tensor)})});

  ASSERT_TRUE(run(batch).ok());
  // as a module that is bound later does
  node->ext_devs |= 1;
  ASSERT_TRUE(run(batch).ok());

  EXPECT_THAT(copied, ElementsAre(false, true));
}

TEST_F(BatchTest, PassesTheDeviceNumbersOfTheArtifact) {
  test::artifact_of(*node).device_numbers = {{4, 5}, {5, 4}};
  gantry_tensor tensor{};
  tensor.device = {5, 0};
  std::vector<std::int32_t> types;
  const auto batch = prepared({within_cpu_code(
      [&](const gantry_env&, Args args, gantry_status*) {
        types.push_back(args[0].tensor->device.type);
        return gantry_code{GANTRY_OK};
      },
      {tensor_ref_value(&tensor)})});

  ASSERT_TRUE(run(batch).ok());

  EXPECT_THAT(types, ElementsAre(5)) << "translated there and back";
}

TEST_F(BatchTest, IsRefusedForAnObjectThatIsNoFunction) {
  const auto module = prepared({noting("a"), call_of(node.base(), {})});
  const auto nothing = prepared({call_of(nullptr, {})});

  EXPECT_EQ(module.error().code, Code::invalid);
  EXPECT_EQ(module.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(module.error().message,
            "call 1 of a batch: the object is of kind 73, expected a function (kind 68)");
  EXPECT_EQ(nothing.error().message,
            "call 0 of a batch: the object is NULL, expected a function (kind 68)");
}

TEST_F(BatchTest, IsRefusedForANegativeCount) {
  gantry_batch_call call = noting("a");
  call.count = -1;

  const auto batch = prepared({call});

  EXPECT_EQ(batch.error().code, Code::invalid);
  EXPECT_EQ(batch.error().reason, "ARGUMENT_COUNT");
  EXPECT_EQ(batch.error().message, "call 0 of a batch: it has -1 arguments, minimum is 0");
}

TEST_F(BatchTest, IsRefusedForUnknownFlags) {
  gantry_batch_call call = noting("a");
  call.flags = 4;

  const auto batch = prepared({call});

  EXPECT_EQ(batch.error().code, Code::unsupported);
  EXPECT_EQ(batch.error().reason, "FLAGS");
  EXPECT_EQ(batch.error().message, "call 0 of a batch: flags are 0x4, this version defines none");
}

TEST_F(BatchTest, RunOfAnotherObjectIsRefused) {
  const Status ran = run(node.base());

  EXPECT_EQ(ran.error().code, Code::invalid);
  EXPECT_EQ(ran.error().reason, "ARGUMENT_KIND");
  EXPECT_EQ(ran.error().message, "object is of kind 73, expected gantry.batch");
  EXPECT_EQ(failed, GANTRY_NO_CALL);
}

#if !defined(__SANITIZE_THREAD__)
TEST_F(BatchTest, CallsNoPluginInAForkedChild) {
  watch_process_end();
  const auto batch = prepared({host_call("sum", {}), noting("plugin")});

  const pid_t child = fork();
  if (child == 0) {
    const Status ran = run(batch);
    _exit(!ran.ok() && ran.error().reason == "PROCESS_FORKED" && failed == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}
#endif

TEST_F(BatchTest, CallsNoPluginAfterExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto batch = prepared({host_call("sum", {}), noting("plugin")});
  static std::function<void()> at_exit;
  at_exit = [&] {
    const Status ran = run(batch);
    _exit(!ran.ok() && ran.error().reason == "PROCESS_ENDS" && failed == 1 ? 0 : 1);
  };

  EXPECT_EXIT(
      {
        std::atexit([] { at_exit(); });
        watch_process_end();
        std::exit(2);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(BatchTest, MayRunOnSeveralThreadsAtOnce) {
  std::atomic<int> ran{0};
  const auto counts = [&] {
    return within_cpu_code([&](const gantry_env&, Args, gantry_status*) {
      ++ran;
      return gantry_code{GANTRY_OK};
    });
  };
  const auto batch = prepared({counts(), counts(), counts()});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        std::uint64_t at = 0;
        EXPECT_EQ(
            run_batch(batch->get(), {{kCpu, 0}, nullptr, nullptr, nullptr}, nullptr, &at, nullptr),
            GANTRY_OK);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(ran, 4 * 100 * 3);
}

TEST_F(BatchTest, KeepsTheTypesOfEachCallsArguments) {
  std::vector<std::int32_t> kinds;
  const auto record = [&](const gantry_env&, Args args, gantry_status*) {
    kinds.push_back(args[0].kind);
    return gantry_code{GANTRY_OK};
  };
  gantry_value number{};
  number.kind = GANTRY_FLOAT;
  const auto batch =
      prepared({within_cpu_code(record, {int_value(1)}), within_cpu_code(record, {number})});

  ASSERT_TRUE(run(batch).ok());

  EXPECT_THAT(kinds, ElementsAre(GANTRY_INT, GANTRY_FLOAT));
}

}  // namespace
}  // namespace gantry
