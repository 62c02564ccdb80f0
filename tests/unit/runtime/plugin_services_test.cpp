// SPDX-License-Identifier: Apache-2.0
//
// Cancellation, threads, trace, progress, batches and options for a plugin that is part of the test.
#include "tests/unit/runtime/plugin_in_use.hpp"

#include <gantry/batch.h>
#include <gantry/progress.h>
#include <gantry/threads.h>
#include <gantry/trace.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/concat.hpp>
#include <gantry/value.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <cmath>
#include <vector>

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
                static_cast<const gantry_trace*>(host->get_extension(host, GANTRY_TRACE_2));
            if (threads == nullptr || trace == nullptr ||
                host->get_extension(host, "gantry.threads/1x") != nullptr) {
              return gantry_fail(status, GANTRY_BUG, "TEST", "extensions");
            }
            trace->thread_name(host, gantry_text("caller"));
            const std::int64_t begun = trace->now(host);
            const gantry_code code = threads->parallel_for(
                host, 10,
                [](void* self, std::int64_t, gantry_status*) -> gantry_code {
                  ++*static_cast<std::atomic<int>*>(self);
                  return GANTRY_OK;
                },
                &pieces, status);
            trace->span(host, GANTRY_TRACK_THREAD, begun, trace->now(host),
                        gantry_text("ten pieces"), gantry_text("run"), nullptr, 0);
            return code;
          });

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(pieces, 10);
  const std::string trace = runtime.trace_json().value();
  EXPECT_THAT(trace, HasSubstr("ten pieces"));
  // the threads of the pieces
  EXPECT_THAT(trace, HasSubstr("\"caller\""));
  EXPECT_THAT(trace, HasSubstr("\"cat\":\"task\""));
}

// Spans that a plugin ends with the time of their beginning.
class EndedSpans : public PluginInUse {
 protected:
  static const gantry_trace& trace() {
    const gantry_host* host = program_plugin().host;
    return *static_cast<const gantry_trace*>(host->get_extension(host, GANTRY_TRACE_2));
  }
  Runtime runtime_with(bool has_trace) {
    RuntimeOptions options;
    options.trace = has_trace;
    Runtime runtime = with_plugin(std::move(options));
    EXPECT_TRUE(runtime.device("test_npu").ok());
    return runtime;
  }
  static void end(std::int64_t begun) {
    trace().span(program_plugin().host, GANTRY_TRACK_THREAD, begun, begun + 1, gantry_text("ended"),
                 gantry_text("run"), nullptr, 0);
  }
};

TEST_F(EndedSpans, AreRecordedFromTheBeginning) {
  const Runtime runtime = runtime_with(true);
  EXPECT_GT(trace().now(program_plugin().host), 0);

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
  EXPECT_EQ(trace().now(program_plugin().host), -1);

  end(5);

  EXPECT_THAT(runtime.trace_json().value(), ::testing::Not(HasSubstr("\"ended\"")));
}

// Tracks, arguments and counters of a plugin.
class Tracks : public EndedSpans {
 protected:
  const gantry_host* host() const { return program_plugin().host; }
  // The events of a name in the document.
  static std::vector<nlohmann::json> named(const Runtime& runtime, const std::string& name) {
    std::vector<nlohmann::json> found;
    const auto document = nlohmann::json::parse(runtime.trace_json().value());
    for (const auto& event : document["traceEvents"])
      if (event["name"] == name) found.push_back(event);
    return found;
  }
};

TEST_F(Tracks, HaveTheNamesOfTheirGroupAndPlugin) {
  const Runtime runtime = runtime_with(true);
  const std::uint64_t queue = trace().track(host(), gantry_text("npu:0"), gantry_text("queue 1"));
  EXPECT_NE(queue, GANTRY_TRACK_THREAD);
  EXPECT_EQ(trace().track(host(), gantry_text("npu:0"), gantry_text("queue 1")), queue);
  EXPECT_NE(trace().track(host(), gantry_text("npu:0"), gantry_text("copies")), queue);

  trace().span(host(), queue, 5000, 7500, gantry_text("add"), gantry_text("kernel"), nullptr, 0);

  const auto spans = named(runtime, "add");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["ts"], 5.0);
  EXPECT_EQ(spans[0]["dur"], 2.5);
  EXPECT_EQ(spans[0]["cat"], "kernel");
  std::string thread, process;
  for (const auto& event : named(runtime, "thread_name"))
    if (event["pid"] == spans[0]["pid"] && event["tid"] == spans[0]["tid"])
      thread = event["args"]["name"];
  for (const auto& event : named(runtime, "process_name"))
    if (event["pid"] == spans[0]["pid"]) process = event["args"]["name"];
  EXPECT_EQ(thread, "queue 1");
  EXPECT_EQ(process, "npu:0 (test.program)");
}

TEST_F(Tracks, ThatNoCallReturnedRecordNothing) {
  const Runtime runtime = runtime_with(true);

  for (const std::uint64_t track : {std::uint64_t{1000000}, UINT64_MAX})
    trace().span(host(), track, 1, 2, gantry_text("lost"), gantry_text("kernel"), nullptr, 0);

  EXPECT_TRUE(named(runtime, "lost").empty());
}

TEST_F(Tracks, ShowArgumentsOfSpans) {
  const Runtime runtime = runtime_with(true);
  const gantry_bytes bytes = gantry_text("of bytes");
  std::vector<gantry_trace_argument> arguments{{gantry_text("count"), int_value(7)},
                                               {gantry_text("share"), float_value(0.5)},
                                               {gantry_text("on"), bool_value(true)},
                                               {gantry_text("text"), cstring_value("\"quoted\"")},
                                               {gantry_text("bytes"), bytes_ref_value(&bytes)},
                                               {gantry_text("infinite"), float_value(HUGE_VAL)},
                                               {gantry_text("null"), cstring_value(nullptr)},
                                               {gantry_text("count"), int_value(8)},
                                               {gantry_bytes{nullptr, 3}, gantry_value{}}};

  trace().span(host(), GANTRY_TRACK_THREAD, 1, 2, gantry_text("s"), gantry_text("run"),
               arguments.data(), static_cast<std::uint32_t>(arguments.size()));

  const auto spans = named(runtime, "s");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]["args"], (nlohmann::json{{"count", 7},
                                              {"share", 0.5},
                                              {"on", true},
                                              {"text", "\"quoted\""},
                                              {"bytes", "of bytes"},
                                              {"infinite", "inf"}}));
}

TEST_F(Tracks, AreBesideCounters) {
  const Runtime runtime = runtime_with(true);

  trace().counter(host(), gantry_text("npu:0"), gantry_text("bytes"), 3000, 12.5);
  trace().counter(host(), gantry_text("npu:0"), gantry_text("bytes"), -1, 99);
  trace().counter(host(), gantry_text("npu:0"), gantry_text("bytes"), 4000, NAN);

  const auto values = named(runtime, "bytes");
  ASSERT_EQ(values.size(), 1u);
  EXPECT_EQ(values[0]["ph"], "C");
  EXPECT_EQ(values[0]["ts"], 3.0);
  EXPECT_EQ(values[0]["args"]["value"], 12.5);
}

TEST_F(Tracks, AreNoneWithoutATrace) {
  const Runtime runtime = runtime_with(false);

  EXPECT_EQ(trace().track(host(), gantry_text("npu:0"), gantry_text("queue")), GANTRY_TRACK_THREAD);
  trace().thread_name(host(), gantry_text("name"));
  trace().counter(host(), gantry_text("npu:0"), gantry_text("bytes"), 3000, 12.5);

  EXPECT_TRUE(named(runtime, "bytes").empty());
}

// What a defective plugin passes is a document all the same.
TEST_F(Tracks, OfAnyBytesAreADocument) {
  const Runtime runtime = runtime_with(true);
  const std::string hostile("\"},{\x00\x1f\xff\xc3 \\u", 11);
  const std::string endless(1 << 20, 'x');
  const gantry_bytes none{nullptr, 12};
  std::vector<gantry_trace_argument> arguments;
  for (int i = 0; i < 100; ++i)
    arguments.push_back({bytes_of(hostile), cstring_value(endless.c_str())});
  const std::uint32_t count = static_cast<std::uint32_t>(arguments.size());

  for (const gantry_bytes& text : {bytes_of(hostile), bytes_of(endless), none}) {
    const std::uint64_t track = trace().track(host(), text, text);
    trace().span(host(), track, 5, 1, text, text, arguments.data(), count);
    trace().span(host(), GANTRY_TRACK_THREAD, 0, INT64_MAX, text, text, nullptr, 9);
    trace().counter(host(), text, text, INT64_MAX, 1e300);
    trace().thread_name(host(), text);
  }
  for (int i = 0; i < 5000; ++i)
    trace().track(host(), bytes_of(concat("group ", i)), gantry_text("t"));

  const std::string document = runtime.trace_json().value();
  EXPECT_FALSE(nlohmann::json::parse(document, nullptr, false).is_discarded());
  EXPECT_LT(document.size(), std::size_t{500000});
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
