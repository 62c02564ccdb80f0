// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/report_page.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

namespace gantry::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// A load, two runs of which the second calls "add" within it, and a kernel that ends after it.
const std::string small_trace = R"({"traceEvents": [
  {"ph": "X", "cat": "load", "name": "load file", "ts": 0, "dur": 100, "pid": 1, "tid": 1},
  {"ph": "X", "cat": "call", "name": "main", "ts": 200, "dur": 50, "pid": 1, "tid": 1},
  {"ph": "X", "cat": "call", "name": "main", "ts": 300, "dur": 50.5, "pid": 1, "tid": 1},
  {"ph": "X", "cat": "call", "name": "add", "ts": 310, "dur": 20, "pid": 1, "tid": 1,
   "args": {"arg0": "float32[2] on cpu:0", "bytes": 8}},
  {"ph": "X", "cat": "kernel", "name": "add<k>", "ts": 340, "dur": 60, "pid": 2, "tid": 2},
  {"ph": "C", "cat": "counter", "name": "bytes", "ts": 340, "pid": 2, "args": {"value": 1}},
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": "gantry"}},
  {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "caller"}},
  {"ph": "M", "name": "process_name", "pid": 2, "tid": 1, "args": {"name": "opencl:0"}},
  {"ph": "M", "name": "thread_name", "pid": 2, "tid": 2, "args": {"name": "queue 1"}}]})";

TEST(TimeLine, HasTheLastRun) {
  const auto line = read_time_line(small_trace);

  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(line->title, "main");
  EXPECT_DOUBLE_EQ(line->duration_us, 100);
  ASSERT_THAT(line->tracks, SizeIs(2));
  EXPECT_EQ(line->tracks[0].title, "gantry: caller");
  EXPECT_EQ(line->tracks[1].title, "opencl:0: queue 1");
  ASSERT_THAT(line->tracks[0].spans, SizeIs(2));
  EXPECT_EQ(line->tracks[0].spans[0].depth, 0u);
  EXPECT_EQ(line->tracks[0].spans[1].depth, 1u);
  EXPECT_DOUBLE_EQ(line->tracks[0].spans[1].begin_us, 10);
  EXPECT_THAT(line->tracks[0].spans[1].arguments,
              ElementsAre("arg0  float32[2] on cpu:0", "bytes  8"));
  EXPECT_DOUBLE_EQ(line->tracks[1].spans[0].begin_us, 40);
}

TEST(TimeLine, IsLimited) {
  const auto line = read_time_line(small_trace, {.spans = 1, .tracks = 1, .depth = 8});

  ASSERT_TRUE(line.ok()) << line.error().message;
  ASSERT_THAT(line->tracks, SizeIs(1));
  EXPECT_THAT(line->tracks[0].spans, SizeIs(1));
  EXPECT_EQ(line->left_out, 2u);
}

TEST(TimeLine, ReportsWhatIsMalformed) {
  const auto error_of = [](std::string_view json) {
    const auto line = read_time_line(json);
    EXPECT_FALSE(line.ok()) << json;
    return line.ok() ? std::string() : std::string(line.error().message.text());
  };

  EXPECT_THAT(error_of("{"), HasSubstr("trace is not JSON"));
  EXPECT_EQ(error_of("{}"), "trace has no list \"traceEvents\"");
  EXPECT_EQ(error_of(R"({"traceEvents": [1, {"ph": "X", "ts": -5, "dur": "x"}]})"),
            "trace has no call of category \"call\"");
}

constexpr std::string_view small_bench = R"({"devices": ["cpu"], "plugins": ["gantry.graph 0.1.0"],
  "items_per_second": 1200.5,
  "times": {"load_ns": 1000000, "median_ns": 2000, "runs": 20, "device_median_ns": {"opencl:0": 1500}},
  "memory": {"mapped": 2048, "allocated": {"cpu:0": 1024}, "after": {"resident": 4096}}})";

TEST(BenchFacts, HaveWhatTheDocumentHas) {
  const auto facts = read_bench_facts(small_bench);
  const auto empty = read_bench_facts("{}");
  const auto list = read_bench_facts("[]");

  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_THAT(facts->plugins, ElementsAre("gantry.graph 0.1.0"));
  ASSERT_THAT(facts->times, SizeIs(3));
  EXPECT_EQ(facts->times[1].name, "median");
  EXPECT_EQ(facts->times[2].name, "median on opencl:0");
  ASSERT_THAT(facts->memory, SizeIs(3));
  EXPECT_EQ(facts->memory[1].name, "allocated on cpu:0");
  EXPECT_EQ(facts->runs, 20);
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->times.empty());
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().message.text(), "measurements are a list, not an object");
}

TEST(Report, EscapesWhatItShowsAndStatesWhatFailed) {
  ReportPage page;
  page.title = "<a>.so";
  page.inputs = {{"x<1>", "float32[1]"}};
  page.bench = *read_bench_facts(small_bench);
  page.line = *read_time_line(small_trace);
  page.texts = {{"Devices", "gantry devices", "<script>\n", "the command was ended by signal 11"}};
  page.missing = {"no drawing: <why>"};
  std::string text;

  write_report(page, [&](std::string_view piece) { text += piece; });

  EXPECT_THAT(text, HasSubstr("<h1>&lt;a&gt;.so</h1>"));
  EXPECT_THAT(text, HasSubstr("<td>x&lt;1&gt;  float32[1]</td>"));
  EXPECT_THAT(text, HasSubstr("<td>median 2.00 us of 20 runs</td>"));
  EXPECT_THAT(text, HasSubstr("<li>no drawing: &lt;why&gt;</li>"));
  EXPECT_THAT(text, HasSubstr("<p class=\"missing\">the command was ended by signal 11</p>"));
  EXPECT_THAT(text, HasSubstr("<pre>&lt;script&gt;&#10;</pre>"));
  EXPECT_THAT(text, HasSubstr("<title>add&lt;k&gt;&#10;60.0 us</title>"));
  EXPECT_THAT(text, HasSubstr("<th scope=\"row\">mapped file</th><td>2.0 KiB</td>"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

}  // namespace
}  // namespace gantry::cli
