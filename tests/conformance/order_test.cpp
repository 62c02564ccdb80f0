// SPDX-License-Identifier: Apache-2.0
//
// Case 76: the order of work in one stream and between streams.
#include "under_test.hpp"

#include <memory>
#include <random>
#include <thread>

namespace gantry::conformance {
namespace {

constexpr std::uint64_t cell_bytes = 16 << 10;

class DeviceOrder : public DeviceTest {
 protected:
  Status record(const TestEvent& event, void* stream) const {
    return table([&](const auto& t, void* self, gantry_status* failure) {
      return t.event_record(self, 0, event.get(), stream, failure);
    });
  }
  Status wait(const TestEvent& event, void* stream) const {
    return table([&](const auto& t, void* self, gantry_status* failure) {
      return t.event_wait(self, 0, event.get(), stream, failure);
    });
  }
};

// The weakest guarantee of all devices: the copy is enqueued, and the host memory stays valid until
// the stream is synchronized.
TEST_P(DeviceOrder, ANonBlockingCopyIsCompleteWhenItsStreamIs) {
  const auto bytes = pattern(cell_bytes, 1);
  std::vector<std::uint8_t> back(cell_bytes);
  const auto first = alloc(cell_bytes), second = alloc(cell_bytes);
  ASSERT_TRUE(first.ok() && second.ok());

  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*first), cell_bytes, 0).ok());
  ASSERT_TRUE(copy(on_device(*first), on_device(*second), cell_bytes, 0).ok());
  ASSERT_TRUE(copy(on_device(*second), on_host(back.data()), cell_bytes, 0).ok());
  ASSERT_TRUE(synchronize().ok());

  EXPECT_TRUE(back == bytes);
  free(*first);
  free(*second);
}

TEST_P(DeviceOrder, ABlockingCopyRunsAfterEarlierWorkOfItsStream) {
  const auto bytes = pattern(cell_bytes, 2);
  std::vector<std::uint8_t> back(cell_bytes);
  const auto first = alloc(cell_bytes), second = alloc(cell_bytes);
  ASSERT_TRUE(first.ok() && second.ok());

  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*first), cell_bytes, 0).ok());
  ASSERT_TRUE(copy(on_device(*first), on_device(*second), cell_bytes, 0).ok());
  ASSERT_TRUE(copy(on_device(*second), on_host(back.data()), cell_bytes).ok());

  EXPECT_TRUE(back == bytes);
  free(*first);
  free(*second);
}

TEST_P(DeviceOrder, OfAStreamFollowsItsCalls) {
  const TestStream stream(device);
  if (stream.is_absent()) GTEST_SKIP() << GetParam().kind << " has its default stream only";
  const auto bytes = pattern(cell_bytes, 3), other = pattern(cell_bytes, 4);
  std::vector<std::uint8_t> back(cell_bytes);
  const auto first = alloc(cell_bytes), second = alloc(cell_bytes);
  ASSERT_TRUE(first.ok() && second.ok());

  ASSERT_TRUE(copy(on_host(other.data()), on_device(*first), cell_bytes, 0, stream.get()).ok());
  ASSERT_TRUE(copy(on_device(*first), on_device(*second), cell_bytes, 0, stream.get()).ok());
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*first), cell_bytes, 0, stream.get()).ok());
  ASSERT_TRUE(copy(on_device(*second), on_host(back.data()), cell_bytes, 0, stream.get()).ok());
  ASSERT_TRUE(synchronize(stream.get()).ok());

  EXPECT_TRUE(back == other) << "a later copy ran first";
  free(*first);
  free(*second);
}

// Random copies between cells of memory, in three streams. A copy waits for the events of earlier
// copies of its cells. The result equals that of the same copies in sequence.
TEST_P(DeviceOrder, OfStreamsFollowsTheirEvents) {
  std::vector<std::unique_ptr<TestStream>> streams;
  for (int s = 0; s < 3; ++s) streams.push_back(std::make_unique<TestStream>(device));
  if (streams[0]->is_absent()) GTEST_SKIP() << GetParam().kind << " has its default stream only";
  if (TestEvent(device).is_absent()) GTEST_SKIP() << GetParam().kind << " has no events";
  constexpr std::size_t cells = 6;
  std::vector<void*> memory;
  for (std::size_t c = 0; c < cells; ++c) memory.push_back(alloc(cell_bytes).value());
  std::mt19937 random(20261122);

  for (int round = 0; round < 100; ++round) {
    std::vector<std::vector<std::uint8_t>> expected;
    for (std::size_t c = 0; c < cells; ++c) {
      expected.push_back(pattern(
          cell_bytes, static_cast<std::uint32_t>(100 * round) + static_cast<std::uint32_t>(c)));
      ASSERT_TRUE(copy(on_host(expected[c].data()), on_device(memory[c]), cell_bytes).ok());
    }
    std::vector<std::vector<std::unique_ptr<TestEvent>>> touched(cells);
    for (int step = 0; step < 25; ++step) {
      const std::size_t from = random() % cells, to = (from + 1 + random() % (cells - 1)) % cells;
      void* const stream = streams[random() % streams.size()]->get();
      for (const std::size_t cell : {from, to}) {
        for (const auto& event : touched[cell]) ASSERT_TRUE(wait(*event, stream).ok());
      }
      ASSERT_TRUE(copy(on_device(memory[from]), on_device(memory[to]), cell_bytes, 0, stream).ok());
      for (const std::size_t cell : {from, to}) {
        touched[cell].push_back(std::make_unique<TestEvent>(device));
        ASSERT_TRUE(record(*touched[cell].back(), stream).ok());
      }
      expected[to] = expected[from];
    }
    for (const auto& stream : streams) ASSERT_TRUE(synchronize(stream->get()).ok());
    for (std::size_t c = 0; c < cells; ++c) {
      std::vector<std::uint8_t> found(cell_bytes);
      ASSERT_TRUE(copy(on_device(memory[c]), on_host(found.data()), cell_bytes).ok());
      ASSERT_TRUE(found == expected[c]) << "round " << round << ", cell " << c;
    }
  }
  for (void* const cell : memory) free(cell);
}

TEST_P(DeviceOrder, AnEventThatWasNeverRecordedDoesNotBlock) {
  const TestEvent event(device);
  if (event.is_absent()) GTEST_SKIP() << GetParam().kind << " has no events";

  EXPECT_TRUE(wait(event, nullptr).ok());
  EXPECT_TRUE(synchronize().ok());
}

TEST_P(DeviceOrder, TimeBetweenEventsIsNotNegative) {
  const TestEvent start(device), stop(device);
  if (start.is_absent()) GTEST_SKIP() << GetParam().kind << " has no events";
  const auto memory = alloc(cell_bytes);
  const auto bytes = pattern(cell_bytes, 1);
  ASSERT_TRUE(memory.ok());

  ASSERT_TRUE(record(start, nullptr).ok());
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*memory), cell_bytes, 0).ok());
  ASSERT_TRUE(record(stop, nullptr).ok());
  std::int64_t ns = -1;
  const Status called = table([&](const auto& t, void* self, gantry_status* failure) {
    return t.event_elapsed(self, 0, start.get(), stop.get(), &ns, failure);
  });

  ASSERT_TRUE(called.ok()) << called.error().message;
  EXPECT_GE(ns, 0);
  EXPECT_LT(ns, std::int64_t{60} * 1000 * 1000 * 1000);
  ASSERT_TRUE(synchronize().ok());
  free(*memory);
}

// Memory that work in flight uses may be freed, and a stream with work may be destroyed (duty
// PLUGIN-15 of sdk/ABI.md).
TEST_P(DeviceOrder, MemoryFreedWhileWorkUsesItIsReleasedAfterwards) {
  const std::int64_t before = allocated_bytes();
  const auto bytes = pattern(4 << 20, 9);
  std::vector<std::uint8_t> back(bytes.size());
  const auto target = alloc(bytes.size());
  ASSERT_TRUE(target.ok());
  for (int k = 0; k < 5; ++k) {
    const auto source = alloc(bytes.size());
    ASSERT_TRUE(source.ok()) << source.error().message;
    ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*source), bytes.size(), 0).ok());
    ASSERT_TRUE(copy(on_device(*source), on_device(*target), bytes.size(), 0).ok());
    free(*source);
  }
  ASSERT_TRUE(copy(on_device(*target), on_host(back.data()), bytes.size()).ok());

  EXPECT_TRUE(back == bytes);
  free(*target);
  ASSERT_TRUE(synchronize().ok());
  EXPECT_EQ(allocated_bytes(), before);
}

TEST_P(DeviceOrder, AStreamIsDestroyedWithWorkInIt) {
  const auto bytes = pattern(4 << 20, 10);
  const auto target = alloc(bytes.size());
  ASSERT_TRUE(target.ok());
  {
    const TestStream stream(device);
    if (stream.is_absent()) GTEST_SKIP() << GetParam().kind << " has its default stream only";
    const TestEvent event(device);
    if (event.is_absent()) GTEST_SKIP() << GetParam().kind << " has no events";
    for (int k = 0; k < 5; ++k) {
      ASSERT_TRUE(
          copy(on_host(bytes.data()), on_device(*target), bytes.size(), 0, stream.get()).ok());
    }
    // The plugin may defer the destruction, so only the event reports the end of the work.
    ASSERT_TRUE(record(event, stream.get()).ok());
    ASSERT_TRUE(wait(event, nullptr).ok());
  }
  std::vector<std::uint8_t> back(bytes.size());
  ASSERT_TRUE(synchronize().ok());
  ASSERT_TRUE(copy(on_device(*target), on_host(back.data()), bytes.size()).ok());
  EXPECT_TRUE(back == bytes);
  free(*target);
}

TEST_P(DeviceOrder, ThreadsWithSeparateStreamsDoNotInterfere) {
  if (TestStream(device).is_absent())
    GTEST_SKIP() << GetParam().kind << " has its default stream only";
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(8);
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const TestStream stream(device);
      const auto bytes = pattern(cell_bytes, t);
      std::vector<std::uint8_t> back(cell_bytes);
      const auto memory = alloc(cell_bytes);
      for (int k = 0; k < 10 && wrong[t].empty(); ++k) {
        std::fill(back.begin(), back.end(), std::uint8_t{0});
        Status done = copy(on_host(bytes.data()), on_device(*memory), cell_bytes, 0, stream.get());
        if (done.ok())
          done = copy(on_device(*memory), on_host(back.data()), cell_bytes, 0, stream.get());
        if (done.ok()) done = synchronize(stream.get());
        if (!done.ok())
          wrong[t] = done.error().message;
        else if (back != bytes)
          wrong[t] = "the bytes differ";
      }
      free(*memory);
    });
  }
  for (std::thread& thread : threads) thread.join();

  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST_P(DeviceOrder, ARecordingRunsOnEveryLaunch) {
  const TestStream stream(device);
  void* graph = nullptr;
  const auto first = alloc(cell_bytes),
             // nothing is allocated during the capture
      second = alloc(cell_bytes);
  const auto begin = [&](const auto& t, void* self, gantry_status* failure) {
    return t.capture_begin(self, 0, stream.get(), failure);
  };
  const Status begun = table(begin);
  if (!begun.ok() && begun.error().code == Code::unsupported) {
    free(*first);
    free(*second);
    GTEST_SKIP() << begun.error().message;
  }
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  ASSERT_TRUE(copy(on_device(*first), on_device(*second), cell_bytes, 0, stream.get()).ok());
  ASSERT_TRUE(table([&](const auto& t, void* self, gantry_status* failure) {
                return t.capture_end(self, 0, stream.get(), &graph, failure);
              }).ok());

  for (const std::uint32_t seed : {1u, 2u}) {
    const auto bytes = pattern(cell_bytes, seed);
    std::vector<std::uint8_t> back(cell_bytes);
    ASSERT_TRUE(copy(on_host(bytes.data()), on_device(*first), cell_bytes).ok());
    const Status launched = table([&](const auto& t, void* self, gantry_status* failure) {
      return t.capture_launch(self, 0, graph, nullptr, failure);
    });
    ASSERT_TRUE(launched.ok()) << launched.error().message;
    ASSERT_TRUE(copy(on_device(*second), on_host(back.data()), cell_bytes).ok());
    EXPECT_TRUE(back == bytes) << seed;
  }
  device.table->capture_destroy(device.self, 0, graph);
  free(*first);
  free(*second);
}

INSTANTIATE_TEST_SUITE_P(Every, DeviceOrder, ::testing::ValuesIn(devices), name_of_test);

}  // namespace
}  // namespace gantry::conformance
