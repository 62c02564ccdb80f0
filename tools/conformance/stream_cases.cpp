// SPDX-License-Identifier: Apache-2.0
//
// Case 76: the order of work in streams.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/device_stream.hpp"

#include <iterator>
#include <random>

namespace gantry::kit {
namespace {

constexpr int kGraphs = 100;

// Chains of copies over random streams; each waits for the previous one through an event, or its
// stream is synchronized.
Status run_graph(const TestedDevice& device, std::mt19937_64& random) {
  constexpr std::size_t size = 1024, buffer_count = 4;
  DeviceStream streams[] = {DeviceStream(device), DeviceStream(device), DeviceStream(device)};
  std::vector<DeviceMemory> buffers;
  for (std::size_t i = 0; i < buffer_count; ++i) {
    GANTRY_TRY(DeviceMemory memory, DeviceMemory::make(device, size));
    buffers.push_back(std::move(memory));
  }
  const std::vector<std::uint8_t> source = bytes_with_pattern(size, random());
  std::vector<std::uint8_t> found(size);
  const auto event = DeviceEvent::make(device);
  const auto run = [&]() -> Status {
    void* last = streams[0].get();
    GANTRY_CHECK(device.copy(in_host(source.data()), buffers[0].at(), size, last, 0));
    std::size_t at = 0;
    for (int k = 0; k < 8; ++k) {
      void* const next = streams[random() % std::size(streams)].get();
      if (next != last && event.ok()) {
        GANTRY_CHECK((*event)->record(last));
        GANTRY_CHECK((*event)->wait_in(next));
      } else if (next != last) {
        GANTRY_CHECK(device.synchronize(last));
      }
      const std::size_t to = (at + 1 + random() % (buffer_count - 1)) % buffer_count;
      GANTRY_CHECK(device.copy(buffers[at].at(), buffers[to].at(), size, next, 0));
      at = to;
      last = next;
    }
    GANTRY_CHECK(device.copy(buffers[at].at(), in_host(found.data()), size, last, 0));
    return device.synchronize(last);
  };
  Status done = run();
  for (const DeviceStream& each : streams) (void)device.synchronize(each.get());
  if (!done.ok()) return done;
  if (found == source) return {};
  return bug("copies in several streams of device ", device.name(), " run in another order");
}

// 76
Status orders_streams(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    std::mt19937_64 random(seed);
    for (int k = 0; k < kGraphs; ++k) {
      Status done = run_graph(device, random);
      if (!done.ok()) return std::move(done).error().at("in graph ", k, " with seed ", seed);
    }
    return {};
  });
}

constexpr Case kStreamCases[] = {
    {76, Level::D, Weight::must, "orders-streams",
     "100 random chains of copies over streams and events run in order",
     "make later work of a stream wait for an event", orders_streams},
};

}  // namespace

std::span<const Case> stream_cases() { return kStreamCases; }

}  // namespace gantry::kit
