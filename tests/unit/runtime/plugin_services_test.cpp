// SPDX-License-Identifier: Apache-2.0
//
// Cancellation, threads, trace, progress, batches and options for a plugin that is part of the test.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include <gantry/batch.h>
#include <gantry/progress.h>
#include <gantry/threads.h>
#include <gantry/trace.h>
#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <atomic>

namespace gantry {
namespace {

using test::PluginInUse;
using test::program_plugin;
using ::testing::HasSubstr;

TEST_F(PluginInUse, CanReadWhetherACallIsCancelled) {
  Runtime runtime = with_plugin();
  const Task task = Task::create().value();
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
  EXPECT_THAT(runtime.trace_json().value(), HasSubstr("ten pieces"));
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

  EXPECT_THAT(runtime.trace_json().value(), HasSubstr("\"ended\""));
}

TEST_F(EndedSpans, AreNotRecordedIfTheyWereNotBegun) {
  const Runtime runtime = runtime_with(true);

  end(-1);

  EXPECT_THAT(runtime.trace_json().value(), ::testing::Not(HasSubstr("\"ended\"")));
}

TEST_F(EndedSpans, AreNotRecordedWithoutATrace) {
  const Runtime runtime = runtime_with(false);
  EXPECT_EQ(trace().span_begin(program_plugin().host), -1);

  end(5);

  EXPECT_THAT(runtime.trace_json().value(), ::testing::Not(HasSubstr("\"ended\"")));
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

// The calls of a batch are those of the plugin's own functions; native/batch_test.cpp runs CPU code.
TEST_F(PluginInUse, CanRunBatches) {
  Runtime runtime = with_plugin();
  const Function text = runtime.load(file_of({{"test.block", "hello"}}))->function("text").value();
  const Task task = Task::create().value();
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

}  // namespace
}  // namespace gantry
