// SPDX-License-Identifier: Apache-2.0
#include "core/base/trace/span.hpp"

#include "core/base/trace/chrome_trace.hpp"

#include <gmock/gmock.h>
#include <pthread.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace gantry {
namespace {

TEST(Span, RecordsItsScopeAndThread) {
  TraceRecorder recorder;

  { const Span span(&recorder, "load", "test"); }
  std::thread([&] { const Span span(&recorder, "run", "test"); }).join();

  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].name, "load");
  EXPECT_GE(events[0].duration_ns, 0);
  EXPECT_EQ(events[0].track, 0u);
  EXPECT_EQ(events[1].track, 1u);
}

TEST(Span, DoesNothingWithoutARecorder) { const Span span(nullptr, "load", "test"); }

TEST(Span, IsNotRecordedWhileRecordingIsOff) {
  TraceRecorder recorder;

  recorder.set_recording(false);
  { const Span span(&recorder, "steady", "test"); }
  recorder.count("g", "memory", 1, 2);
  recorder.set_recording(true);
  { const Span span(&recorder, "recorded", "test"); }

  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].name, "recorded");
  EXPECT_TRUE(recorder.counters().empty());
}

TEST(TraceRecorder, NamesTheTracksOfThreads) {
  TraceRecorder recorder;

  std::thread([&] {
    pthread_setname_np(pthread_self(), "gantry-7");
    recorder.add("a", "test", 0, 1);
  }).join();
  std::thread([&] {
    recorder.name_thread("reader");
    recorder.add("b", "test", 0, 1);
  }).join();

  const auto tracks = recorder.tracks();
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].name, "gantry-7");
  EXPECT_EQ(tracks[1].name, "reader");
  EXPECT_EQ(tracks[1].group, "");
}

TEST(TraceRecorder, GivesTheSameTrackToTheSameNames) {
  TraceRecorder recorder;

  const std::uint64_t queue = recorder.track("cuda:0", "queue 1");

  EXPECT_EQ(recorder.track("cuda:0", "queue 1"), queue);
  EXPECT_NE(recorder.track("cuda:1", "queue 1"), queue);
  recorder.add_on(queue, "add", "kernel", 3, 4);
  recorder.add_on(77, "lost", "kernel", 3, 4);
  ASSERT_EQ(recorder.events().size(), 1u);
  EXPECT_EQ(recorder.events()[0].track, queue);
}

TEST(TraceRecorder, LetsFurtherTracksShareOne) {
  TraceRecorder recorder({.tracks = 3});

  EXPECT_EQ(recorder.track("g", "0"), 0u);
  EXPECT_EQ(recorder.track("g", "1"), 1u);
  EXPECT_EQ(recorder.track("g", "2"), 2u);
  EXPECT_EQ(recorder.track("g", "3"), 2u);
  recorder.add("of a thread", "test", 0, 1);
  recorder.name_thread("ignored");

  EXPECT_EQ(recorder.events()[0].track, 2u);
  EXPECT_EQ(recorder.tracks()[2].name, "further tracks");
  EXPECT_EQ(recorder.tracks().size(), 3u);
}

TEST(TraceRecorder, CountsWhatExceedsItsLimit) {
  TraceRecorder recorder({.records = 2});

  recorder.add("a", "test", 0, 1);
  recorder.count("g", "bytes", 0, 1);
  recorder.add("b", "test", 0, 1);
  recorder.count("g", "bytes", 0, 2);

  EXPECT_EQ(recorder.events().size(), 1u);
  EXPECT_EQ(recorder.counters().size(), 1u);
  EXPECT_EQ(recorder.dropped(), 2u);
  EXPECT_EQ(nlohmann::json::parse(chrome_trace(&recorder))["otherData"]["dropped"], 2);
}

TEST(TraceRecorder, CutsTextsBetweenCharacters) {
  TraceRecorder recorder({.arguments = 1, .text = 4});

  recorder.add("abc\u00e4", "test", 0, 1, {{"first", std::string("longer")}, {"second", true}});

  const TraceEvent event = recorder.events()[0];
  EXPECT_EQ(event.name, "abc");
  ASSERT_EQ(event.arguments.size(), 1u);
  EXPECT_EQ(event.arguments[0].name, "firs");
  EXPECT_EQ(std::get<std::string>(event.arguments[0].value), "long");
}

TEST(ChromeTrace, HasNoEventsWithoutARecorder) {
  EXPECT_TRUE(nlohmann::json::parse(chrome_trace(nullptr))["traceEvents"].empty());
}

TEST(ChromeTrace, NamesEachProcessAndThread) {
  TraceRecorder recorder;
  recorder.name_thread("main");
  recorder.add("run", "call", 1000, 2000);
  recorder.add_on(recorder.track("cuda:0", "queue 1"), "add", "kernel", 1500, 250, {{"n", true}});
  recorder.count("cuda:0", "bytes", 1750, 64);

  const auto events = nlohmann::json::parse(chrome_trace(&recorder))["traceEvents"];

  EXPECT_EQ(
      events.dump(),
      R"([{"cat":"call","dur":2.0,"name":"run","ph":"X","pid":1,"tid":1,"ts":1.0},)"
      R"({"args":{"n":true},"cat":"kernel","dur":0.25,"name":"add","ph":"X","pid":2,"tid":2,)"
      R"("ts":1.5},)"
      R"({"args":{"value":64.0},"cat":"counter","name":"bytes","ph":"C","pid":2,"ts":1.75},)"
      R"({"args":{"name":"main"},"cat":"__metadata","name":"thread_name","ph":"M","pid":1,"tid":1},)"
      R"({"args":{"name":"queue 1"},"cat":"__metadata","name":"thread_name","ph":"M","pid":2,"tid":2},)"
      R"({"args":{"name":"gantry"},"cat":"__metadata","name":"process_name","ph":"M","pid":1},)"
      R"({"args":{"name":"cuda:0"},"cat":"__metadata","name":"process_name","ph":"M","pid":2}])");
}

TEST(ChromeTrace, HasTensorsOfCallsAsTextsAndTheirBytes) {
  TraceRecorder recorder;
  const std::int64_t shape[] = {1, 64, 2, 2, 2, 2, 2};
  gantry_tensor small{nullptr, {1, 0}, 2, {2, 32, 1}, const_cast<std::int64_t*>(shape), nullptr, 0};
  gantry_tensor large = small;
  large.ndim = 7;
  large.device = {4, 1};
  gantry_tensor assigned = small;
  assigned.device = {64, 0};

  recorder.add("f", "call", 0, 1,
               {{"arg0", TraceTensor::of(small)},
                {"arg1", std::int64_t{7}},
                {"arg2", TraceTensor::of(small)}});
  recorder.add("g", "call", 0, 1, {{"arg0", TraceTensor::of(large)}});
  recorder.add("h", "copy", 0, 1,
               {{"tensor", TraceTensor::of(assigned)}, {"bytes", std::int64_t{5}}});

  const auto events = nlohmann::json::parse(chrome_trace(&recorder))["traceEvents"];
  EXPECT_EQ(events[0]["args"].dump(),
            R"({"arg0":"float32[1, 64] on cpu:0","arg1":7,"arg2":"float32[1, 64] on cpu:0",)"
            R"("bytes":512,"device":"cpu:0"})");
  EXPECT_EQ(
      events[1]["args"].dump(),
      R"({"arg0":"float32[1, 64, 2, 2, 2, 2, ...] on opencl:1","bytes":0,"device":"opencl:1"})");
  EXPECT_EQ(events[2]["args"].dump(),
            R"({"bytes":5,"device":"device 64:0","tensor":"float32[1, 64] on device 64:0"})");
}

}  // namespace
}  // namespace gantry
