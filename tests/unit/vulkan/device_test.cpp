// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/vulkan/between.hpp"
#include "tests/unit/vulkan/world.hpp"

#include <gantry/byte_count.hpp>

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

namespace gantry::vulkan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return bytes;
}

class Devices : public World {};

TEST_F(Devices, ReportTheirAttributes) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS)->get().i, 1);
  for (const std::int32_t kind : {1, 2, 3, 11, 14}) {
    const auto value = attribute(kind);
    ASSERT_TRUE(value.ok()) << value.error().message;
    EXPECT_EQ(value->kind(), GANTRY_INT);
    EXPECT_GT(value->get().i, 0) << kind;
  }
  for (const std::int32_t kind : {4, 5, 8, 12}) {
    const auto value = attribute(kind);
    ASSERT_TRUE(value.ok()) << value.error().message;
    EXPECT_FALSE(value_text(value->get())->empty()) << kind;
  }
  const Value dimensions = attribute(8).value();
  EXPECT_THAT(std::string(*value_text(dimensions.get())), StartsWith("["));
}

// Each is the number that the driver reports for it.
TEST_F(Devices, ReportTheNumbersOfTheDriver) {
  const Gpu& gpu = *plugin->gpu(0).value();
  const VkPhysicalDeviceLimits& limits = gpu.properties.limits;
  const auto number = [&](std::int32_t kind) { return attribute(kind)->get().i; };
  const auto text = [&](std::int32_t kind) {
    const Value value = attribute(kind).value();
    return std::string(value_text(value.get()).value_or("(no text)"));
  };
  const auto& sizes = limits.maxComputeWorkGroupSize;
  const std::uint32_t version = gpu.properties.apiVersion;
  std::uint64_t local = 0;
  for (std::uint32_t i = 0; i < gpu.memory.memoryHeapCount; ++i) {
    if ((gpu.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      local += gpu.memory.memoryHeaps[i].size;
  }

  EXPECT_EQ(number(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK), limits.maxComputeWorkGroupInvocations);
  EXPECT_EQ(number(GANTRY_ATTRIBUTE_WARP_SIZE), gpu.subgroup_size);
  EXPECT_EQ(number(GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
            limits.maxComputeSharedMemorySize);
  EXPECT_EQ(number(GANTRY_ATTRIBUTE_API_VERSION), VK_HEADER_VERSION);
  EXPECT_EQ(number(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY), static_cast<std::int64_t>(local));
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_COMPUTE_VERSION),
            concat(VK_API_VERSION_MAJOR(version), '.', VK_API_VERSION_MINOR(version), '.',
                   VK_API_VERSION_PATCH(version)));
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_DEVICE_NAME), gpu.properties.deviceName);
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_DRIVER_VERSION), gpu.driver);
  EXPECT_EQ(text(GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS),
            concat('[', sizes[0], ", ", sizes[1], ", ", sizes[2], ']'));
}

TEST_F(Devices, ReportNothingForOtherAttributes) {
  for (const std::int32_t kind : {6, 7, 9, 10, 13, 16, 999}) {
    const auto value = attribute(kind);
    ASSERT_FALSE(value.ok()) << kind;
    EXPECT_EQ(value.error().code, Code::not_found);
    EXPECT_EQ(value.error().message,
              concat("attribute ", kind, " does not apply to device vulkan:0"));
  }
}

TEST_F(Devices, RejectAnIndexPastTheCount) {
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS, 99)->get().i, 0);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_EXISTS, -1)->get().i, 0);

  const auto name = attribute(GANTRY_ATTRIBUTE_DEVICE_NAME, 99);

  ASSERT_FALSE(name.ok());
  EXPECT_EQ(name.error().code, Code::invalid);
  EXPECT_EQ(name.error().reason, "DEVICE_INDEX");
  EXPECT_THAT(name.error().message, StartsWith("device vulkan:99 not found, device count is "));
}

TEST_F(Devices, ReportAttributesWithoutStarting) {
  ASSERT_TRUE(attribute(GANTRY_ATTRIBUTE_DEVICE_NAME).ok());
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 0);

  EXPECT_EQ(plugin->started(0), nullptr);
}

TEST_F(Devices, CountAllocatedBytes) {
  void* const one = alloc(1000).value();
  void* const other = alloc(24).value();
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 1024);

  free(one);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 24);
  free(other);
  EXPECT_EQ(attribute(GANTRY_ATTRIBUTE_ALLOCATED_BYTES)->get().i, 0);
}

TEST_F(Devices, AllocateZeroBytes) {
  const auto nothing = alloc(0);

  ASSERT_TRUE(nothing.ok()) << nothing.error().message;
  EXPECT_NE(*nothing, nullptr);
  EXPECT_TRUE(copy(on_host(nullptr), on_device(*nothing), 0).ok());
  free(*nothing);
}

TEST_F(Devices, RejectOtherMemoryScopes) {
  const auto global = alloc(4, "global");
  ASSERT_TRUE(global.ok()) << global.error().message;
  free(*global);

  const auto texture = alloc(4, "global.texture");

  ASSERT_FALSE(texture.ok());
  EXPECT_EQ(texture.error().code, Code::unsupported);
  EXPECT_EQ(texture.error().reason, "MEMORY_SCOPE");
  EXPECT_EQ(texture.error().message,
            "memory scope \"global.texture\" is not supported: device vulkan:0 has \"global\" and "
            "\"host\" only, "
            "no textures");
}

TEST_F(Devices, RejectAnAllocationAboveTheLimit) {
  const std::uint64_t max = device().gpu().max_allocation_bytes;

  const auto memory = alloc(max + 1);

  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().code, Code::exhausted);
  EXPECT_EQ(memory.error().reason, "MEMORY");
  EXPECT_EQ(memory.error().message, concat("buffer of ", ByteCount(max + 1),
                                           ", the device allocates at most ", ByteCount(max)));
}

// Freeing a pointer twice, or one that is not a handle, is logged and has no other effect.
TEST_F(Devices, LogAnInvalidFree) {
  alignas(64) std::array<char, 1024> foreign{};
  // Starts the device.
  ASSERT_NE(&device(), nullptr);

  free(foreign.data());

  ASSERT_EQ(host.log.size(), 1u);
  EXPECT_THAT(host.log[0], HasSubstr("is not memory of device vulkan:0"));
}

struct CopyWay {
  std::string name;
  MemoryChoice memory;
  // The device runs nothing before a call waits for it.
  bool is_late;
  friend void PrintTo(const CopyWay& way, std::ostream* out) { *out << way.name; }
};

class Copies : public World, public ::testing::WithParamInterface<CopyWay> {
 protected:
  void SetUp() override {
    start({.memory = GetParam().memory});
    between.is_late = GetParam().is_late;
  }
};

TEST_P(Copies, RoundTripBytes) {
  for (const std::size_t size : {1u, 3u, 4095u, 4096u, 4097u, (9u << 20) + 5}) {
    const std::vector<std::uint8_t> bytes = pattern(size);
    for (const std::size_t offset : {0u, 1u, 130u}) {
      std::vector<std::uint8_t> padded(offset);
      padded.insert(padded.end(), bytes.begin(), bytes.end());
      void* const data = alloc(size + offset).value();
      std::vector<std::uint8_t> back(size + offset, 0xee);

      ASSERT_TRUE(copy(on_host(padded.data(), offset), on_device(data, offset), size).ok());
      ASSERT_TRUE(copy(on_device(data, offset), on_host(back.data(), offset), size).ok());

      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), back.begin() + static_cast<long>(offset)))
          << size << " bytes at " << offset;
      free(data);
    }
  }
}

TEST_P(Copies, WithinADeviceRunInOrder) {
  const std::vector<std::uint8_t> first = pattern(4096);
  void* const a = holding(first);
  void* const b = alloc(4096).value();

  ASSERT_TRUE(copy(on_device(a, 5), on_device(b, 100), 1000).ok());
  const std::vector<std::uint8_t> zeros(4096);
  // Recorded after the copy from a.
  ASSERT_TRUE(copy(on_host(zeros.data()), on_device(a), 4096).ok());

  const std::vector<std::uint8_t> back = read<std::uint8_t>(b, 4096);
  EXPECT_TRUE(std::equal(first.begin() + 5, first.begin() + 1005, back.begin() + 100));
  EXPECT_EQ(read<std::uint8_t>(a, 4096), zeros);
  free(a);
  free(b);
}

TEST_P(Copies, CompleteAfterTheirMemoryIsFreed) {
  const std::vector<std::uint8_t> bytes = pattern(1 << 20);
  void* const kept = alloc(bytes.size()).value();
  for (int round = 0; round < 50; ++round) {
    void* const passing = holding(bytes);
    ASSERT_TRUE(copy(on_device(passing), on_device(kept), bytes.size()).ok());
    // The copy is in flight.
    free(passing);
  }

  EXPECT_EQ(read<std::uint8_t>(kept, bytes.size()), bytes);
  free(kept);
}

struct BadCopy {
  gantry_location from;
  gantry_location to;
  std::uint64_t size;
  Code code;
  std::string reason;
  std::string message;
};

TEST_P(Copies, RejectInvalidRequests) {
  void* const data = alloc(16).value();
  std::array<char, 64> memory{};
  gantry_location elsewhere = on_device(data);
  elsewhere.device.index = 1;
  gantry_location opencl = on_device(data);
  opencl.device.type = 4;
  const std::string none =
      concat(Hex{reinterpret_cast<std::uintptr_t>(memory.data())},
             " is not memory of device vulkan:0: pass the handle from alloc unchanged, and offsets "
             "in byte_offset");
  const std::vector<BadCopy> all = {
      {on_host(memory.data()), on_device(data, 10), 7, Code::invalid, "COPY_RANGE",
       "copy of 7 bytes to byte 10, the memory has 16 bytes"},
      {on_device(data, 17), on_host(memory.data()), 0, Code::invalid, "COPY_RANGE",
       "copy of 0 bytes from byte 17, the memory has 16 bytes"},
      {on_host(memory.data()), on_host(memory.data()), 1, Code::invalid, "COPY_DEVICES",
       "copy from host to host, one side must be device vulkan:0"},
      {on_host(memory.data()), on_device(memory.data()), 1, Code::invalid, "DEVICE_DATA", none},
      {on_device(data), elsewhere, 1, Code::unsupported, "COPY_DEVICES",
       "copy from vulkan:0 to vulkan:1: devices do not reach each other's memory"},
      {on_device(data), opencl, 1, Code::unsupported, "COPY_DEVICES",
       "copy between vulkan and device type 4"}};
  for (const BadCopy& bad : all) {
    const Status copied = copy(bad.from, bad.to, bad.size);
    ASSERT_FALSE(copied.ok()) << bad.message;
    EXPECT_EQ(copied.error().code, bad.code);
    EXPECT_EQ(copied.error().reason, bad.reason);
    EXPECT_EQ(copied.error().message, bad.message);
  }
  free(data);
}

INSTANTIATE_TEST_SUITE_P(All, Copies,
                         ::testing::Values(CopyWay{"Automatic", MemoryChoice::automatic, false},
                                           CopyWay{"Staged", MemoryChoice::staged, false},
                                           CopyWay{"Late", MemoryChoice::automatic, true},
                                           CopyWay{"StagedLate", MemoryChoice::staged, true}),
                         [](const auto& test) { return test.param.name; });

// The third part of an upload is staged where the first part was.
TEST_F(Devices, KeepThePartsOfAStagedCopyApart) {
  start({.memory = MemoryChoice::staged});
  between.is_late = true;
  const std::vector<std::uint8_t> bytes = pattern((17 << 20) + 3);

  void* const data = holding(bytes);

  EXPECT_TRUE(read<std::uint8_t>(data, bytes.size()) == bytes);
  free(data);
}

// Work of a device that runs nothing before a call waits for it.
class Batches : public World {
 protected:
  void SetUp() override {
    start({});
    between.is_late = true;
    between.max_submitted = 0;
    data = alloc(16).value();
  }
  void TearDown() override {
    if (plugin) free(data);
    World::TearDown();
  }
  void copy_times(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(copy(on_device(data), on_device(data, 8), 8).ok());
    }
  }
  void* data = nullptr;
};

TEST_F(Batches, AreSubmittedWith64Commands) {
  copy_times(63);
  EXPECT_EQ(between.submitted.size(), 0u);

  copy_times(1);

  EXPECT_EQ(between.submitted.size(), 1u);
}

TEST_F(Batches, AreAtMost32InFlight) {
  copy_times(64 * 32);
  EXPECT_EQ(between.submitted.size(), 32u);

  copy_times(64 * 2);

  EXPECT_EQ(between.max_submitted, 32u);
  EXPECT_EQ(between.submitted.size(), 32u) << "only the oldest batches were waited for";
}

TEST_F(Batches, HaveRunAfterSynchronization) {
  copy_times(65);

  ASSERT_TRUE(synchronize().ok());

  EXPECT_EQ(between.submitted.size(), 0u);
  EXPECT_EQ(between.max_submitted, 2u) << "the open batch was submitted";
}

TEST_F(Batches, StayOpenDuringAWaitForAnEarlierOne) {
  copy_times(64);
  void* const other = alloc(16).value();
  ASSERT_TRUE(copy(on_device(other), on_device(other, 8), 8).ok());

  // The host's copy to mapped memory waits for the first batch.
  const std::uint64_t number = 7;
  ASSERT_TRUE(copy(on_host(&number), on_device(data), sizeof number).ok());

  EXPECT_EQ(between.submitted.size(), 0u);
  EXPECT_EQ(between.max_submitted, 1u);
  free(other);
}

TEST_F(Batches, FreeTheirMemoryWhenTheyHaveRun) {
  // Large enough for a separate allocation.
  constexpr std::uint64_t size = 40 << 20;
  const std::size_t before = between.allocations;
  for (const bool is_awaited : {false, true}) {
    void* const large = alloc(size).value();
    ASSERT_TRUE(copy(on_device(large), on_device(large, 8), 8).ok());
    if (is_awaited) {
      ASSERT_TRUE(synchronize().ok());
    }

    free(large);
    EXPECT_EQ(between.allocations, is_awaited ? before : before + 1);
    ASSERT_TRUE(synchronize().ok());

    EXPECT_EQ(between.allocations, before);
  }
}

// Copies through the two staging buffers of 8 MiB.
class StagedBatches : public Batches {
 protected:
  void SetUp() override {
    start({.memory = MemoryChoice::staged});
    between.is_late = true;
    data = alloc(bytes.size()).value();
    between.max_submitted = 0;
  }
  std::vector<std::uint8_t> bytes = pattern(16 << 20);
};

TEST_F(StagedBatches, OfSmallUploadsAreFilledWithoutAWait) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(copy(on_host(bytes.data()), on_device(data), 16).ok());
  }

  EXPECT_EQ(between.max_submitted, 0u);
}

TEST_F(StagedBatches, OfALargeUploadAreSubmittedWithoutAWait) {
  ASSERT_TRUE(copy(on_host(bytes.data()), on_device(data), bytes.size()).ok());

  EXPECT_EQ(between.submitted.size(), 2u);
}

TEST_F(StagedBatches, OfALargeDownloadAreSubmittedOneAhead) {
  ASSERT_TRUE(copy(on_device(data), on_host(bytes.data()), bytes.size()).ok());

  EXPECT_EQ(between.max_submitted, 2u);
}

TEST_F(Batches, SeparateTheirCommandsByBarriers) {
  const auto barrier = [](VkPipelineStageFlags next, VkAccessFlags accesses) {
    return concat("barrier ", VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                  "->", next, ", ", VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, "->",
                  accesses);
  };
  const std::string before_command =
      barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
              VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                  VK_ACCESS_TRANSFER_WRITE_BIT);
  between.commands.clear();
  between.lists_commands = true;

  copy_times(2);
  EXPECT_TRUE(synchronize().ok());

  between.lists_commands = false;
  EXPECT_THAT(between.commands,
              ElementsAre(before_command, "copy", before_command, "copy",
                          barrier(VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT), "end"));
}

// A device whose mapped memory the host caches.
class IncoherentMemory : public World {
 protected:
  void SetUp() override {
    between.is_incoherent = true;
    start({});
    between.mapped_ranges.clear();
  }
  void TearDown() override {
    World::TearDown();
    between.is_incoherent = false;
  }
};

TEST_F(IncoherentMemory, IsFlushedAndInvalidatedAroundCopies) {
  const std::vector<std::uint8_t> bytes = pattern(256);
  void* const first = holding(bytes);
  void* const second = holding(bytes);
  EXPECT_THAT(between.mapped_ranges, ElementsAre("flush 0 256", "flush 256 256"));
  between.mapped_ranges.clear();

  EXPECT_EQ(read<std::uint8_t>(second, bytes.size()), bytes);

  EXPECT_THAT(between.mapped_ranges, ElementsAre("invalidate 256 256"));
  free(first);
  free(second);
}

TEST_F(IncoherentMemory, IsInvalidatedAfterAStagedDownload) {
  start({.memory = MemoryChoice::staged});
  const std::vector<std::uint8_t> bytes = pattern(256);
  void* const data = holding(bytes);
  between.mapped_ranges.clear();

  EXPECT_EQ(read<std::uint8_t>(data, bytes.size()), bytes);

  EXPECT_THAT(between.mapped_ranges, ElementsAre(StartsWith("invalidate ")));
  free(data);
}

class Marks : public World {
 protected:
  // A time that is not awaited cannot be read.
  void SetUp() override {
    start({});
    between.is_late = true;
  }
};

TEST_F(Marks, MeasureTheTimeBetweenThem) {
  void* start = nullptr;
  void* stop = nullptr;
  ASSERT_EQ(table_.event_create(plugin.get(), 0, 0, &start, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_create(plugin.get(), 0, 0, &stop, nullptr), GANTRY_OK);
  void* const a = alloc(8 << 20).value();
  void* const b = alloc(8 << 20).value();

  ASSERT_EQ(table_.event_record(plugin.get(), 0, start, nullptr, nullptr), GANTRY_OK);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(copy(on_device(a), on_device(b), 8 << 20).ok());
  ASSERT_EQ(table_.event_record(plugin.get(), 0, stop, nullptr, nullptr), GANTRY_OK);
  std::int64_t ns = 0;
  StatusBuffer status;
  const gantry_code code = table_.event_elapsed(plugin.get(), 0, start, stop, &ns, status.get());

  ASSERT_EQ(code, GANTRY_OK) << status.error(code, "event_elapsed").message;
  EXPECT_GT(ns, 100'000) << "32 MiB";
  EXPECT_LT(ns, 10'000'000'000);
  std::int64_t back = 0;
  EXPECT_EQ(table_.event_elapsed(plugin.get(), 0, stop, start, &back, nullptr), GANTRY_OK);
  EXPECT_EQ(back, -ns);
  table_.event_destroy(plugin.get(), 0, start);
  table_.event_destroy(plugin.get(), 0, stop);
  free(a);
  free(b);
}

TEST_F(Marks, FailIfNeverRecorded) {
  void* event = nullptr;
  ASSERT_EQ(table_.event_create(plugin.get(), 0, 0, &event, nullptr), GANTRY_OK);
  std::int64_t ns = 0;
  StatusBuffer status;

  const gantry_code code = table_.event_elapsed(plugin.get(), 0, event, event, &ns, status.get());

  EXPECT_EQ(code, GANTRY_INVALID);
  EXPECT_EQ(status.error(code, "").reason, "EVENT");
  EXPECT_EQ(status.error(code, "").message, "event start was never recorded");
  table_.event_destroy(plugin.get(), 0, event);
}

TEST_F(Marks, AreReachedWithinATime) {
  void* event = nullptr;
  ASSERT_EQ(table_.event_create(plugin.get(), 0, GANTRY_EVENT_UNTIMED, &event, nullptr), GANTRY_OK);
  void* const a = alloc(8 << 20).value();
  void* const b = alloc(8 << 20).value();
  std::int32_t reached = 7;
  std::int64_t ns = 0;
  EXPECT_EQ(table_.event_reached(plugin.get(), 0, event, 0, &reached, nullptr), GANTRY_INVALID);

  for (const std::int64_t timeout : {std::int64_t{30'000'000'000}, GANTRY_NO_TIMEOUT}) {
    ASSERT_TRUE(copy(on_device(a), on_device(b), 8 << 20).ok());
    ASSERT_EQ(table_.event_record(plugin.get(), 0, event, nullptr, nullptr), GANTRY_OK);
    ASSERT_EQ(table_.event_reached(plugin.get(), 0, event, timeout, &reached, nullptr), GANTRY_OK);
    EXPECT_EQ(reached, 1);
  }
  StatusBuffer status;
  const gantry_code code = table_.event_elapsed(plugin.get(), 0, event, event, &ns, status.get());
  EXPECT_EQ(code, GANTRY_INVALID);
  EXPECT_EQ(status.error(code, "").message, "event start has no time");
  table_.event_destroy(plugin.get(), 0, event);
  free(a);
  free(b);
}

TEST_F(Marks, HaveTheDriversHandles) {
  void* const a = alloc(64).value();
  void *context = nullptr, *buffer = nullptr, *none = nullptr;

  ASSERT_EQ(table_.native_get(plugin.get(), 0, GANTRY_NATIVE_CONTEXT, nullptr, &context, nullptr),
            GANTRY_OK);
  ASSERT_EQ(table_.native_get(plugin.get(), 0, GANTRY_NATIVE_MEMORY, a, &buffer, nullptr),
            GANTRY_OK);

  EXPECT_NE(context, nullptr);
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(static_cast<VkDevice>(context), reinterpret_cast<VkBuffer>(buffer),
                                &needs);
  EXPECT_GE(needs.size, 64u);
  EXPECT_EQ(table_.native_get(plugin.get(), 0, GANTRY_NATIVE_STREAM, nullptr, &none, nullptr),
            GANTRY_UNSUPPORTED);
  free(a);
}

TEST_F(Marks, OrderStreams) {
  void* streams[2] = {};
  void* event = nullptr;
  for (void*& stream : streams)
    ASSERT_EQ(table_.stream_create(plugin.get(), 0, 0, &stream, nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_create(plugin.get(), 0, 0, &event, nullptr), GANTRY_OK);
  const std::vector<std::uint8_t> bytes = pattern(1 << 20);
  void* const a = holding(bytes);
  void* const b = alloc(bytes.size()).value();
  void* const c = alloc(bytes.size()).value();
  gantry_copy what{sizeof what, 0, on_device(a), on_device(b), bytes.size()};

  ASSERT_EQ(table_.copy(plugin.get(), 0, &what, streams[0], nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_record(plugin.get(), 0, event, streams[0], nullptr), GANTRY_OK);
  ASSERT_EQ(table_.event_wait(plugin.get(), 0, event, streams[1], nullptr), GANTRY_OK);
  what.from = on_device(b);
  what.to = on_device(c);
  ASSERT_EQ(table_.copy(plugin.get(), 0, &what, streams[1], nullptr), GANTRY_OK);
  // With work in flight, like the streams.
  table_.event_destroy(plugin.get(), 0, event);
  table_.stream_destroy(plugin.get(), 0, streams[0]);
  EXPECT_TRUE(synchronize(streams[1]).ok());
  table_.stream_destroy(plugin.get(), 0, streams[1]);

  EXPECT_EQ(read<std::uint8_t>(c, bytes.size()), bytes);
  for (void* const data : {a, b, c}) free(data);
}

class SoftwareDevices : public World {};

TEST_F(SoftwareDevices, AreExcludedByAnOption) {
  if (plugin->gpu(0).value()->properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU)
    GTEST_SKIP() << "the first device is not a software device";
  Plugin without(Host(host.table()), {.software_devices = false}, {});

  EXPECT_EQ(without.device_count().value(), 0);
  const auto gpu = without.gpu(0);

  ASSERT_FALSE(gpu.ok());
  EXPECT_EQ(gpu.error().code, Code::unavailable);
  EXPECT_EQ(gpu.error().reason, "DRIVER_MISSING");
  EXPECT_THAT(gpu.error().message, StartsWith("no Vulkan device can run kernels\n  left out: "));
  EXPECT_THAT(gpu.error().message,
              HasSubstr("(a software device, excluded by option software_devices)"));
}

// Proves that the layer reports errors, as all other tests assert that it reports none.
TEST_F(Devices, AreCheckedByTheValidationLayer) {
  if (!is_watched) GTEST_SKIP() << "the validation layer is not installed";
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  // Invalid: a buffer of 0 bytes.
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;

  (void)vkCreateBuffer(device().handle(), &info, nullptr, &buffer);

  ASSERT_FALSE(host.log.empty());
  EXPECT_THAT(host.log[0], StartsWith("validation: "));
  EXPECT_THAT(host.log[0], HasSubstr("VUID-VkBufferCreateInfo-size-00912"));
  host.log.clear();
  vkDestroyBuffer(device().handle(), buffer, nullptr);
}

}  // namespace
}  // namespace gantry::vulkan::test
