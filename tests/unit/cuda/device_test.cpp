// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda/world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <numeric>
#include <thread>

namespace gantry::cuda::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Memories = WithFakeDriver;

TEST_F(Memories, CountAllocatedBytes) {
  void* const a = world->alloc(1000).value();
  void* const b = world->alloc(24).value();
  EXPECT_EQ(world->live_bytes(), 1024);
  EXPECT_EQ(world->live_bytes(1), 0);

  world->free(a);
  EXPECT_EQ(world->live_bytes(), 24);
  world->free(b);
  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(Memories, MayBeEmpty) {
  void* const nothing = world->alloc(0).value();

  EXPECT_NE(nothing, nullptr);
  EXPECT_EQ(world->live_bytes(), 0);
  world->free(nothing);
  world->free(nullptr);
  EXPECT_THAT(world->host.log, IsEmpty());
}

TEST_F(Memories, HaveTheRequestedAlignment) {
  world->free(world->alloc(100, 0, 0).value());
  for (std::uint64_t alignment = 1; alignment <= 65536; alignment *= 2) {
    void* const data = world->alloc(100, 0, alignment).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0u);
    world->free(data);
  }
  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(Memories, HaveTheGlobalScope) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 16;
  what.scope = gantry_text("global");
  void* data = nullptr;

  ASSERT_EQ(world->device().alloc(world->self(), 0, &what, &data, nullptr), GANTRY_OK);

  world->free(data);
}

// ---- of the host

TEST_F(Memories, OfScopeHostArePageLocked) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = 1 << 20;
  what.alignment = 4096;
  what.scope = gantry_text("host");
  void* data = nullptr;
  ASSERT_EQ(world->device().alloc(world->self(), 0, &what, &data, nullptr), GANTRY_OK);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 4096, 0u);
  EXPECT_EQ(world->live_bytes(), 1 << 20);
  void* const device_memory = world->alloc(1 << 20).value();
  auto* const bytes = static_cast<unsigned char*>(data);
  std::iota(bytes, bytes + (1 << 20), static_cast<unsigned char>(3));
  const std::size_t waits = fake.count_of("cuStreamSynchronize");

  ASSERT_TRUE(world->copy(on_host(data), on_cuda(device_memory), 1 << 20, 0).ok());
  ASSERT_TRUE(world->copy(on_cuda(device_memory), on_host(data), 1 << 20, 0).ok());
  EXPECT_EQ(fake.count_of("cuStreamSynchronize"), waits);
  EXPECT_EQ(fake.count_of("cuLaunchHostFunc"), 0u) << "nothing is staged";
  // Work that uses it is in flight.
  world->free(data);

  EXPECT_EQ(fake.live(), "a context, 1 streams, 1 allocations");
  world->free(device_memory);
  EXPECT_EQ(world->live_bytes(), 0);
  EXPECT_THAT(world->host.log, IsEmpty());
}

// ---- of others

class Imports : public WithFakeDriver {
 protected:
  Result<void*> import(const gantry_external& what) {
    StatusBuffer status;
    void* data = nullptr;
    const gantry_code code =
        world->device().memory_import(world->self(), 0, &what, &data, status.get());
    if (code != GANTRY_OK) return status.error(code, "memory_import");
    return data;
  }
  std::vector<float> content(void* data) {
    std::vector<float> found(4);
    EXPECT_TRUE(world->download(found, data).ok());
    return found;
  }
};

TEST_F(Imports, LockHostMemoryWhereItIs) {
  std::vector<float> own{0, 1, 2, 3, 4};
  gantry_external what{sizeof what, GANTRY_EXTERNAL_HOST, own.data(), -1, 4, 16};

  void* const data = import(what).value();

  EXPECT_EQ(world->live_bytes(), 0);
  EXPECT_EQ(content(data), (std::vector<float>{1, 2, 3, 4}));
  ASSERT_TRUE(world->upload(data, std::vector<float>{5, 6, 7, 8}).ok());
  EXPECT_EQ(own, (std::vector<float>{0, 5, 6, 7, 8}));
  EXPECT_EQ(import(what).error().native_code, CUDA_ERROR_INVALID_VALUE) << "locked already";
  world->free(data);
  EXPECT_EQ(fake.count_of("cuMemHostUnregister"), 1u);
}

TEST_F(Imports, UseAddressesOfTheDriver) {
  void* const own = world->alloc(64).value();
  ASSERT_TRUE(world->upload(own, std::vector<float>{1, 2, 3, 4, 5}).ok());

  void* const data =
      import({sizeof(gantry_external), GANTRY_EXTERNAL_NATIVE, own, -1, 4, 16}).value();

  EXPECT_EQ(content(data), (std::vector<float>{2, 3, 4, 5}));
  world->free(data);
  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 0u);
  EXPECT_EQ(content(own), (std::vector<float>{1, 2, 3, 4}));
  const gantry_external again{sizeof again, GANTRY_EXTERNAL_NATIVE, own, -1, 0, 16};
  EXPECT_EQ(import(again).error().code, Code::invalid) << "it is the plugin's";
  world->free(own);
}

TEST_F(Imports, LeaveDescriptorsToTheirOwner) {
  const int descriptor = memfd_create("imported", MFD_CLOEXEC);
  const float own[] = {0, 1, 2, 3, 4};
  ASSERT_EQ(write(descriptor, own, sizeof own), static_cast<ssize_t>(sizeof own));

  void* const data =
      import({sizeof(gantry_external), GANTRY_EXTERNAL_FD, nullptr, descriptor, 4, 16}).value();

  EXPECT_EQ(content(data), (std::vector<float>{1, 2, 3, 4}));
  world->free(data);
  EXPECT_EQ(fake.live(), "a context, 1 streams");
  EXPECT_EQ(close(descriptor), 0);
  const gantry_external closed{sizeof closed, GANTRY_EXTERNAL_FD, nullptr, descriptor, 0, 16};
  EXPECT_EQ(import(closed).error().code, Code::invalid);
}

TEST_F(Imports, RefuseOtherKinds) {
  const auto refused =
      import({sizeof(gantry_external), GANTRY_EXTERNAL_DMA_BUF, nullptr, 0, 0, 16});

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::unsupported);
  EXPECT_EQ(refused.error().reason, "EXTERNAL_KIND");
}

// ---- in stream order

class InStreamOrder : public WithFakeDriver {
 protected:
  void* alloc(void* stream, std::uint64_t size = 16) {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    what.alignment = 64;
    what.flags = GANTRY_ALLOC_IN_STREAM;
    what.stream = stream;
    void* data = nullptr;
    EXPECT_EQ(world->device().alloc(world->self(), 0, &what, &data, nullptr), GANTRY_OK);
    return data;
  }
  void free_in(void* stream, void* data) {
    world->device().free_in_stream(world->self(), 0, data, stream);
  }
};

TEST_F(InStreamOrder, MemoryIsAllocatedAndFreedWithoutAWait) {
  const std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received(4);
  void* const result = world->alloc(16).value();
  void* const data = alloc(nullptr);
  EXPECT_EQ(world->live_bytes(), 32);
  ASSERT_TRUE(world->upload(data, sent).ok());
  ASSERT_TRUE(world->copy(on_cuda(data), on_cuda(result), 16, 0).ok());
  const std::size_t waits = fake.count_of("cuStreamSynchronize");

  free_in(nullptr, data);

  EXPECT_EQ(world->live_bytes(), 16);
  EXPECT_EQ(fake.count_of("cuMemAllocFromPoolAsync"), 1u);
  EXPECT_EQ(fake.count_of("cuMemFreeAsync"), 1u);
  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 0u);
  EXPECT_EQ(fake.count_of("cuStreamSynchronize"), waits);
  ASSERT_TRUE(world->download(received, result).ok());
  EXPECT_EQ(received, sent);
  world->free(result);
}

TEST_F(InStreamOrder, MemoryMayBeFreedAtOnce) {
  world->free(alloc(nullptr));
  free_in(nullptr, world->alloc(16).value());
  free_in(nullptr, nullptr);

  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 2u) << "the pool has no part in either";
  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(InStreamOrder, MemoryOfACapturedStreamIsNotThePools) {
  void* stream = nullptr;
  ASSERT_EQ(world->device().stream_create(world->self(), 0, 0, &stream, nullptr), GANTRY_OK);
  void* const before = alloc(stream);
  ASSERT_EQ(world->device().capture_begin(world->self(), 0, stream, nullptr), GANTRY_OK);

  void* const data = alloc(stream);
  free_in(stream, before);

  EXPECT_EQ(fake.count_of("cuMemAllocFromPoolAsync"), 1u) << "the one before the capture";
  EXPECT_EQ(fake.count_of("cuMemFreeAsync"), 0u);
  void* graph = nullptr;
  ASSERT_EQ(world->device().capture_end(world->self(), 0, stream, &graph, nullptr), GANTRY_OK);
  world->device().capture_destroy(world->self(), 0, graph);
  free_in(stream, data);
  world->device().stream_destroy(world->self(), 0, stream);
  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(InStreamOrder, MemoryIsTheDriversWithoutPools) {
  fake.has_pools = false;

  free_in(nullptr, alloc(nullptr));
  world->device().trim(world->self(), 0);

  EXPECT_EQ(fake.count_of("cuMemAlloc_v2"), 1u);
  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 1u);
  EXPECT_EQ(fake.count_of("cuMemPoolTrimTo"), 0u);
}

TEST_F(InStreamOrder, MemoryThatIsUnusedIsReturnedWhenItIsTrimmed) {
  free_in(nullptr, alloc(nullptr));

  world->device().trim(world->self(), 0);
  world->device().trim(world->self(), 1);

  EXPECT_EQ(fake.count_of("cuMemPoolTrimTo"), 1u);
  EXPECT_THAT(world->host.log, IsEmpty());
}

TEST_F(Memories, AreFreedWithThePlugin) {
  ASSERT_TRUE(world->alloc(100).ok());
  // ~WithFakeDriver checks that nothing is allocated.
}

struct BadAlloc {
  std::string name;
  std::uint64_t size, alignment;
  std::string scope;
  Code code;
  std::string reason, message;
  friend void PrintTo(const BadAlloc& bad, std::ostream* out) { *out << bad.name; }
};
class MemoriesRefuse : public Memories, public ::testing::WithParamInterface<BadAlloc> {};
TEST_P(MemoriesRefuse, AWrongRequest) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = GetParam().size;
  what.alignment = GetParam().alignment;
  what.scope = bytes_of(GetParam().scope);
  StatusBuffer status;
  void* data = &what;

  const gantry_code code = world->device().alloc(world->self(), 1, &what, &data, status.get());

  ASSERT_NE(code, GANTRY_OK);
  const Error error = status.error(code, "alloc");
  EXPECT_EQ(error.code, GetParam().code);
  EXPECT_EQ(error.reason, GetParam().reason);
  EXPECT_EQ(error.message, GetParam().message + "\n  on device 1 (Fake T4)");
  EXPECT_EQ(data, &what);
  EXPECT_EQ(world->live_bytes(1), 0);
  // The device is still usable.
  world->free(world->alloc(16, 1).value(), 1);
}
INSTANTIATE_TEST_SUITE_P(
    Requests, MemoriesRefuse,
    ::testing::Values(
        BadAlloc{"MoreThanThereIs", std::uint64_t{1} << 40, 64, "", Code::exhausted,
                 "DEVICE_MEMORY",
                 "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), what the driver says\n  while "
                 "allocating 1.0 TiB (1099511627776 bytes)"},
        BadAlloc{"MoreThanAnyMemory", UINT64_MAX, 4096, "", Code::exhausted, "DEVICE_MEMORY",
                 "allocation of 16.0 EiB (18446744073709551615 bytes) at a multiple of 4096 is "
                 "more than any "
                 "memory"},
        BadAlloc{"MoreThanAnyMemoryByOne", UINT64_MAX - (4096 - 256) + 1, 4096, "", Code::exhausted,
                 "DEVICE_MEMORY",
                 "allocation of 16.0 EiB (18446744073709547776 bytes) at a multiple of 4096 is "
                 "more than any "
                 "memory"},
        BadAlloc{"AsMuchAsCanBeAddressed", UINT64_MAX - (4096 - 256), 4096, "", Code::exhausted,
                 "DEVICE_MEMORY",
                 "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), what the driver says\n  while "
                 "allocating 16.0 EiB (18446744073709547775 bytes)"},
        BadAlloc{"Alignment", 16, 48, "", Code::invalid, "ALIGNMENT",
                 "alignment is 48, expected a power of two"},
        BadAlloc{"Scope", 16, 64, "global.texture", Code::unsupported, "MEMORY_SCOPE",
                 "memory scope \"global.texture\" is not supported, \"global\" and \"host\" are"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Memories, LogUnknownAddresses) {
  void* const data = world->alloc(16).value();

  world->free(static_cast<char*>(data) + 1);

  EXPECT_THAT(world->host.log, Contains(HasSubstr("which alloc did not return")));
  EXPECT_EQ(world->live_bytes(), 16);
  world->free(data);
}

TEST_F(Memories, AreFreedAfterACapture) {
  fake.free_fails_while_capturing = true;
  void* const data = world->alloc(16).value();
  void* graph = nullptr;
  ASSERT_EQ(world->device().capture_begin(world->self(), 0, nullptr, nullptr), GANTRY_OK);

  world->free(data);

  EXPECT_EQ(world->live_bytes(), 16);
  EXPECT_THAT(world->host.log, IsEmpty());
  ASSERT_EQ(world->device().capture_end(world->self(), 0, nullptr, &graph, nullptr), GANTRY_OK);
  world->device().capture_destroy(world->self(), 0, graph);
  void* const next = world->alloc(8).value();
  EXPECT_EQ(world->live_bytes(), 8);
  world->free(next);
  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(Memories, AreFreedByAFreeAfterACapture) {
  fake.free_fails_while_capturing = true;
  void* const first = world->alloc(16).value();
  void* const second = world->alloc(8).value();
  void* graph = nullptr;
  ASSERT_EQ(world->device().capture_begin(world->self(), 0, nullptr, nullptr), GANTRY_OK);
  world->free(first);
  ASSERT_EQ(world->device().capture_end(world->self(), 0, nullptr, &graph, nullptr), GANTRY_OK);
  world->device().capture_destroy(world->self(), 0, graph);

  world->free(second);

  EXPECT_EQ(world->live_bytes(), 0);
}

TEST_F(Memories, AreFreedWithThePluginAfterACapture) {
  fake.free_fails_while_capturing = true;
  void* const data = world->alloc(16).value();
  void* graph = nullptr;
  ASSERT_EQ(world->device().capture_begin(world->self(), 0, nullptr, nullptr), GANTRY_OK);
  world->free(data);
  ASSERT_EQ(world->device().capture_end(world->self(), 0, nullptr, &graph, nullptr), GANTRY_OK);
  world->device().capture_destroy(world->self(), 0, graph);
  // ~WithFakeDriver checks that nothing is allocated.
}

TEST_F(Memories, AreFreedOnce) {
  void* const data = world->alloc(16).value();
  world->free(data);

  world->free(data);

  EXPECT_THAT(world->host.log, Contains(HasSubstr("which alloc did not return")));
  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 1u);
}

TEST_F(Memories, ThatCannotBeFreedAreLoggedOnce) {
  void* const data = world->alloc(16).value();
  fake.fail_function = "cuMemFree_v2";
  fake.fail_result = CUDA_ERROR_ILLEGAL_ADDRESS;

  world->free(data);

  EXPECT_THAT(
      world->host.log,
      ::testing::ElementsAre(
          "cuMemFree_v2: CUDA_ERROR_ILLEGAL_ADDRESS (700), what the driver says\n  a kernel "
          "that ran before has failed; only a new process can use the device again\n  "
          "while freeing 16 bytes"));
  EXPECT_EQ(world->live_bytes(), 0);
  world->free(world->alloc(8).value());
  EXPECT_EQ(fake.count_of("cuMemFree_v2"), 2u);
}

// All later calls return what the driver said first.
TEST_F(Memories, OfADeviceThatIsLostAreRefused) {
  for (const CUresult result : {CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_ILLEGAL_ADDRESS,
                                CUDA_ERROR_ASSERT, CUDA_ERROR_LAUNCH_FAILED})
    EXPECT_EQ(code_of(result), Code::lost) << result;
  void* const data = world->alloc(16).value();
  fake.fail_function = "cuStreamSynchronize";
  fake.fail_result = CUDA_ERROR_LAUNCH_FAILED;
  StatusBuffer status;
  const auto synchronized = [&] {
    const gantry_code code = world->device().synchronize(world->self(), 0, nullptr, status.get());
    return status.error(code, "synchronize");
  };
  const Error first = synchronized();
  EXPECT_EQ(first.code, Code::lost);
  EXPECT_EQ(first.native_code, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THAT(first.message.text(), HasSubstr("only a new process can use the device again"));
  fake.fail_function.clear();
  const std::size_t calls = fake.count_of("cuStreamSynchronize");

  EXPECT_EQ(synchronized().message, first.message);
  EXPECT_EQ(world->alloc(16).error().code, Code::lost);
  world->free(world->alloc(16, 1).value(), 1);
  world->free(data);

  EXPECT_EQ(fake.count_of("cuStreamSynchronize"), calls);
  EXPECT_EQ(world->live_bytes(), 0);
}

// Sizes around a sector, the minimum of staging and its pieces, each at several offsets.
class Copies : public WithFakeDriver, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  static std::vector<std::uint8_t> pattern(std::uint64_t size) {
    std::vector<std::uint8_t> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    return bytes;
  }
};
TEST_P(Copies, RoundTripAtAnyOffset) {
  const std::uint64_t size = GetParam();
  for (const std::uint32_t flags : {0u, std::uint32_t{GANTRY_COPY_BLOCKING}}) {
    const auto sent = pattern(size + 3);
    std::vector<std::uint8_t> received(size + 5, 0xee);
    void* const a = world->alloc(size + 64).value();
    void* const b = world->alloc(size + 64).value();

    ASSERT_TRUE(world->copy(on_host(sent.data(), 3), on_cuda(a, 17), size, flags).ok());
    ASSERT_TRUE(world->copy(on_cuda(a, 17), on_cuda(b, 5), size, flags).ok());
    ASSERT_TRUE(world->copy(on_cuda(b, 5), on_host(received.data(), 2), size, flags).ok());
    ASSERT_TRUE(world->synchronize().ok());

    EXPECT_EQ(std::memcmp(received.data() + 2, sent.data() + 3, size), 0);
    EXPECT_EQ(received[1], 0xee);
    EXPECT_EQ(received[size + 2], 0xee);
    world->free(a);
    world->free(b);
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, Copies,
                         ::testing::Values(0, 1, 4095, 4096, 4097, Staging::min_bytes - 1,
                                           Staging::min_bytes, Staging::piece_bytes,
                                           Staging::piece_bytes + 1, 6 * Staging::piece_bytes + 9));

TEST_F(Copies, BetweenDevicesUsePeerCopies) {
  const std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received(4);
  void* const a = world->alloc(16, 0).value();
  void* const b = world->alloc(16, 1).value();

  ASSERT_TRUE(world->upload(a, sent).ok());
  ASSERT_TRUE(world->copy(on_cuda(a, 0, 0), on_cuda(b, 0, 1), 16).ok());
  ASSERT_TRUE(world->download(received, b, 1).ok());

  EXPECT_EQ(received, sent);
  EXPECT_EQ(fake.count_of("cuMemcpyPeerAsync"), 1u);
  world->free(a, 0);
  world->free(b, 1);
}

TEST_F(Copies, FromAnotherDeviceUsePeerCopies) {
  const std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received(4);
  void* const a = world->alloc(16, 0).value();
  void* const b = world->alloc(16, 1).value();

  ASSERT_TRUE(world->upload(b, sent, 1).ok());
  ASSERT_TRUE(world->copy(on_cuda(b, 0, 1), on_cuda(a, 0, 0), 16).ok());
  ASSERT_TRUE(world->download(received, a, 0).ok());

  EXPECT_EQ(received, sent);
  EXPECT_EQ(fake.count_of("cuMemcpyPeerAsync"), 1u);
  world->free(a, 0);
  world->free(b, 1);
}

TEST_F(Copies, WithTheHostOpenOneDevice) {
  std::vector<float> values(4);
  void* const a = world->alloc(16, 1).value();

  ASSERT_TRUE(world->upload(a, values, 1).ok());
  ASSERT_TRUE(world->download(values, a, 1).ok());

  EXPECT_EQ(fake.count_of("cuDevicePrimaryCtxRetain"), 1u);
  world->free(a, 1);
}

TEST_F(Copies, OfNothingCallNoDriver) {
  void* const a = world->alloc(16).value();
  const std::size_t before = fake.count_of("cuMemcpyHtoDAsync_v2");

  ASSERT_TRUE(world->copy(on_host(nullptr), on_cuda(a), 0).ok());

  EXPECT_EQ(fake.count_of("cuMemcpyHtoDAsync_v2"), before);
  world->free(a);
}

TEST_F(Copies, LogThatTheyCannotBeAwaitedByAFree) {
  void* const a = world->alloc(16, 0).value();
  void* const b = world->alloc(16, 1).value();
  ASSERT_TRUE(world->copy(on_cuda(a, 0, 0), on_cuda(b, 0, 1), 16).ok());
  fake.fail_function = "cuCtxSynchronize";

  world->free(b, 1);

  fake.fail_function.clear();
  EXPECT_THAT(world->host.log,
              ::testing::ElementsAre("cuCtxSynchronize: CUDA_ERROR_UNKNOWN (999), what the driver "
                                     "says\n  while waiting for device 0 before memory of device 1 "
                                     "(Fake T4) is freed"));
  world->free(a, 0);
}

TEST_F(Copies, BetweenDevicesAreAwaitedByFreesOnBoth) {
  const std::vector<float> sent{1, 2, 3, 4};
  void* const a = world->alloc(16, 0).value();
  void* const b = world->alloc(16, 1).value();
  ASSERT_TRUE(world->upload(a, sent).ok());
  const std::size_t before = fake.count_of("cuCtxSynchronize");

  ASSERT_TRUE(world->copy(on_cuda(a, 0, 0), on_cuda(b, 0, 1), 16, 0).ok());
  // The copy is in a stream of device 0.
  world->free(b, 1);

  EXPECT_EQ(fake.count_of("cuCtxSynchronize"), before + 1);
  world->free(a, 0);
  EXPECT_EQ(fake.count_of("cuCtxSynchronize"), before + 1);
}

// The driver's own copy of pageable memory waits for the stream, also in the fake driver.
TEST_F(Copies, OfLargeSizeDoNotWaitForTheStream) {
  const std::uint64_t size = Staging::piece_bytes;
  std::vector<std::uint8_t> sent = pattern(size);
  std::vector<std::uint8_t> received(size);
  void* const a = world->alloc(size).value();

  ASSERT_TRUE(world->copy(on_host(sent.data()), on_cuda(a), size, 0).ok());
  ASSERT_TRUE(world->copy(on_cuda(a), on_host(received.data()), size, 0).ok());
  // No call has waited yet.
  EXPECT_NE(received, sent);
  ASSERT_TRUE(world->synchronize().ok());

  EXPECT_EQ(received, sent);
  EXPECT_EQ(fake.count_of("cuLaunchHostFunc"), 1u);
  world->free(a);
}

// The ring is made of page-locked memory.
TEST_F(Copies, AreStagedFromTheirMinimumSizeOn) {
  std::vector<std::uint8_t> bytes(Staging::min_bytes);
  void* const a = world->alloc(bytes.size()).value();
  for (const bool to_host : {false, true}) {
    const auto copied = [&](std::uint64_t size, std::uint32_t flags) {
      EXPECT_TRUE(to_host ? world->copy(on_cuda(a), on_host(bytes.data()), size, flags).ok()
                          : world->copy(on_host(bytes.data()), on_cuda(a), size, flags).ok());
      EXPECT_TRUE(world->synchronize().ok());
      return fake.count_of("cuMemHostAlloc");
    };
    const std::size_t before = fake.count_of("cuMemHostAlloc");

    EXPECT_EQ(copied(Staging::min_bytes - 1, 0), before);
    EXPECT_EQ(copied(Staging::min_bytes, GANTRY_COPY_BLOCKING), before);
    EXPECT_EQ(copied(Staging::min_bytes, 0), before + 1);
  }
  world->free(a);
}

TEST_F(Copies, OfPageLockedMemoryAreNotStaged) {
  const std::uint64_t size = Staging::min_bytes;
  void* const a = world->alloc(size).value();
  CUcontext context = nullptr;
  void* locked = nullptr;
  cuDevicePrimaryCtxRetain(&context, 100);
  cuCtxPushCurrent(context);
  ASSERT_EQ(cuMemHostAlloc(&locked, size, 0), CUDA_SUCCESS);

  ASSERT_TRUE(world->copy(on_host(locked), on_cuda(a), size, 0).ok());
  ASSERT_TRUE(world->synchronize().ok());

  EXPECT_EQ(fake.count_of("cuMemHostAlloc"), 1u);
  cuMemFreeHost(locked);
  cuCtxPopCurrent(&context);
  cuDevicePrimaryCtxRelease(100);
  world->free(a);
}

TEST_F(Copies, OfLargeSizeWaitForAPieceInUse) {
  const std::uint64_t size = 9 * Staging::piece_bytes;
  const std::vector<std::uint8_t> sent = pattern(size);
  std::vector<std::uint8_t> received(size);
  void* const a = world->alloc(size).value();

  ASSERT_TRUE(world->copy(on_host(sent.data()), on_cuda(a), size, 0).ok());
  ASSERT_TRUE(world->copy(on_cuda(a), on_host(received.data()), size, 0).ok());
  ASSERT_TRUE(world->synchronize().ok());

  EXPECT_EQ(received, sent);
  EXPECT_EQ(fake.count_of("cuMemHostAlloc"), 4u);
  world->free(a);
}

// A caller may free the host's memory after an error, whichever call of the driver has failed.
TEST_F(Copies, OfLargeSizeAreNotInFlightAfterAnError) {
  const std::uint64_t size = 2 * Staging::piece_bytes;
  const std::vector<std::uint8_t> sent = pattern(size);
  void* const a = world->alloc(size).value();
  ASSERT_TRUE(world->copy(on_host(sent.data()), on_cuda(a), size).ok());
  Status copied = unavailable("not yet copied");
  for (std::size_t call = 0; !copied.ok(); ++call) {
    std::vector<std::uint8_t> received(size);
    fake.fail_at = fake.calls.size() + call;

    copied = world->copy(on_cuda(a), on_host(received.data()), size, 0);

    fake.fail_at = SIZE_MAX;
    const std::vector<std::uint8_t> at_return = received;
    ASSERT_TRUE(world->synchronize().ok());
    EXPECT_TRUE(copied.ok() || received == at_return) << fake.failed;
  }
  world->free(a);
}

TEST_F(Copies, InACaptureAreNotStaged) {
  const std::uint64_t size = Staging::piece_bytes;
  std::vector<std::uint8_t> sent = pattern(size);
  std::vector<std::uint8_t> received(size);
  void* const a = world->alloc(size).value();
  void* graph = nullptr;
  const gantry_device_table& device = world->device();

  ASSERT_EQ(device.capture_begin(world->self(), 0, nullptr, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->copy(on_host(sent.data()), on_cuda(a), size, 0).ok());
  ASSERT_EQ(device.capture_end(world->self(), 0, nullptr, &graph, nullptr), GANTRY_OK);
  // A replay copies the content at the time of the replay.
  std::fill(sent.begin(), sent.end(), 9);
  ASSERT_EQ(device.capture_launch(world->self(), 0, graph, nullptr, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->copy(on_cuda(a), on_host(received.data()), size).ok());

  EXPECT_EQ(received, sent);
  EXPECT_EQ(fake.count_of("cuMemHostAlloc"), 0u);
  device.capture_destroy(world->self(), 0, graph);
  world->free(a);
}

TEST_F(Copies, RejectOtherDevices) {
  int here = 0;
  int there = 0;
  gantry_location vulkan = on_host(&there);
  vulkan.device.type = 7;

  const Status foreign = world->copy(on_host(&here), vulkan, 4);
  const Status local = world->copy(on_host(&here), on_host(&there), 4);
  const Status past = world->copy(on_host(&here), on_cuda(&there, 0, 9), 4);

  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, Code::invalid);
  EXPECT_EQ(foreign.error().message,
            "copy has a side on device type 7, expected host memory (1) or cuda (2)");
  ASSERT_FALSE(local.ok());
  EXPECT_EQ(local.error().message, "both sides of the copy are host memory, expected one on cuda");
  ASSERT_FALSE(past.ok());
  EXPECT_EQ(past.error().message, "device index is 9, the CUDA driver shows 2 devices");
}

TEST_F(Copies, ReportDeviceAndSizeOfADriverError) {
  int here = 0;

  const Status copied = world->copy(on_host(&here), on_cuda(&here), 4);

  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code, Code::invalid);
  EXPECT_EQ(copied.error().reason, "DRIVER_CALL");
  EXPECT_EQ(copied.error().message,
            "cuMemcpyHtoDAsync_v2: CUDA_ERROR_INVALID_VALUE (1), what the driver says\n  while "
            "copying 4 bytes on device 0 (Fake H200)");
}

class Streams : public WithFakeDriver {
 protected:
  const gantry_device_table& device = world->device();
  void* self = world->self();
  void* stream() {
    void* made = nullptr;
    EXPECT_EQ(device.stream_create(self, 0, 0, &made, nullptr), GANTRY_OK);
    return made;
  }
  void* event() {
    void* made = nullptr;
    EXPECT_EQ(device.event_create(self, 0, 0, &made, nullptr), GANTRY_OK);
    return made;
  }
};

TEST_F(Streams, AreOrderedByEvents) {
  void* const first = stream();
  void* const second = stream();
  void* const mark = event();
  void* const a = world->alloc(16).value();
  void* const b = world->alloc(16).value();
  const std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received(4);
  ASSERT_TRUE(world->upload(a, sent).ok());

  ASSERT_TRUE(world->copy(on_cuda(a), on_cuda(b), 16, 0, first).ok());
  ASSERT_EQ(device.event_record(self, 0, mark, first, nullptr), GANTRY_OK);
  ASSERT_EQ(device.event_wait(self, 0, mark, second, nullptr), GANTRY_OK);
  ASSERT_TRUE(
      world->copy(on_cuda(b), on_host(received.data()), 16, GANTRY_COPY_BLOCKING, second).ok());

  EXPECT_EQ(received, sent);
  device.event_destroy(self, 0, mark);
  device.stream_destroy(self, 0, first);
  device.stream_destroy(self, 0, second);
  world->free(a);
  world->free(b);
}

TEST_F(Streams, MayBeDestroyedWithPendingWork) {
  void* const made = stream();
  void* const a = world->alloc(16).value();
  void* const b = world->alloc(16).value();
  const std::vector<float> sent{1, 2, 3, 4};
  std::vector<float> received(4);
  ASSERT_TRUE(world->upload(a, sent).ok());

  ASSERT_TRUE(world->copy(on_cuda(a), on_cuda(b), 16, 0, made).ok());
  device.stream_destroy(self, 0, made);
  device.stream_destroy(self, 0, nullptr);
  ASSERT_TRUE(world->download(received, b).ok());

  EXPECT_EQ(received, sent);
  world->free(a);
  world->free(b);
}

TEST_F(Streams, AndOtherObjectsThatAreNullCallNoDriver) {
  // Opens the device.
  device.stream_destroy(self, 0, stream());
  const std::size_t before = fake.calls.size();

  device.stream_destroy(self, 0, nullptr);
  device.event_destroy(self, 0, nullptr);
  device.capture_destroy(self, 0, nullptr);

  for (std::size_t i = before; i < fake.calls.size(); ++i) {
    EXPECT_THAT(fake.calls[i], HasSubstr("cuCtx"));
  }
}

TEST_F(Streams, AreAwaitedBeforeTheDeviceIsClosed) {
  world->free(world->alloc(16).value());
  const std::size_t before = fake.calls.size();

  world.reset();

  const std::vector<std::string> closing(fake.calls.begin() + static_cast<long>(before),
                                         fake.calls.end());
  EXPECT_THAT(closing, ::testing::ElementsAre("cuCtxPushCurrent_v2", "cuStreamSynchronize",
                                              "cuStreamDestroy_v2", "cuCtxPopCurrent_v2",
                                              "cuDevicePrimaryCtxRelease_v2"));
}

TEST_F(Streams, MeasureTheTimeBetweenTwoEvents) {
  void* const start = event();
  void* const stop = event();
  std::int64_t ns = 0;

  ASSERT_EQ(device.event_record(self, 0, start, nullptr, nullptr), GANTRY_OK);
  ASSERT_EQ(device.event_record(self, 0, stop, nullptr, nullptr), GANTRY_OK);
  ASSERT_EQ(device.event_elapsed(self, 0, start, stop, &ns, nullptr), GANTRY_OK);

  EXPECT_EQ(ns, 250000);
  device.event_destroy(self, 0, start);
  device.event_destroy(self, 0, stop);
  device.event_destroy(self, 0, nullptr);
}

TEST_F(Streams, OrderEventsWithoutATime) {
  void* event = nullptr;
  ASSERT_EQ(device.event_create(self, 0, GANTRY_EVENT_UNTIMED, &event, nullptr), GANTRY_OK);
  std::int64_t ns = 0;

  ASSERT_EQ(device.event_record(self, 0, event, nullptr, nullptr), GANTRY_OK);

  EXPECT_EQ(device.event_wait(self, 0, event, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(device.event_elapsed(self, 0, event, event, &ns, nullptr), GANTRY_INVALID);
  device.event_destroy(self, 0, event);
}

TEST_F(Streams, ReachEventsWithinATime) {
  void* const data = world->alloc(16).value();
  void* const event = this->event();
  const std::vector<float> sent(4, 2);
  std::int32_t reached = 7;
  const auto reach = [&](std::int64_t timeout_ns) {
    EXPECT_EQ(device.event_reached(self, 0, event, timeout_ns, &reached, nullptr), GANTRY_OK);
    return reached;
  };
  fake.queries_run_work = false;
  ASSERT_TRUE(world->copy(on_host(sent.data()), on_cuda(data), 16, 0).ok());
  ASSERT_EQ(device.event_record(self, 0, event, nullptr, nullptr), GANTRY_OK);

  EXPECT_EQ(reach(0), 0);
  EXPECT_EQ(reach(2'000'000), 0) << "nothing runs it";
  EXPECT_GT(fake.count_of("cuEventQuery"), 2u) << "in turns";
  fake.queries_run_work = true;
  EXPECT_EQ(reach(10'000'000'000), 1);
  ASSERT_EQ(device.event_record(self, 0, event, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(reach(GANTRY_NO_TIMEOUT), 1);
  EXPECT_EQ(reach(0), 1);

  device.event_destroy(self, 0, event);
  world->free(data);
}

TEST_F(Streams, NotifyAfterTheirWork) {
  int calls = 0;
  const auto notify = [](void* self_of_calls) { ++*static_cast<int*>(self_of_calls); };

  ASSERT_EQ(device.stream_notify(self, 0, nullptr, notify, &calls, nullptr), GANTRY_OK);
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(world->synchronize().ok());
  EXPECT_EQ(calls, 1);

  fake.fail_function = "cuStreamAddCallback";
  EXPECT_EQ(device.stream_notify(self, 0, nullptr, notify, &calls, nullptr), GANTRY_UNAVAILABLE);
  fake.fail_function.clear();
  ASSERT_TRUE(world->synchronize().ok());
  EXPECT_EQ(calls, 1);

  ASSERT_EQ(device.stream_notify(self, 0, nullptr, notify, &calls, nullptr), GANTRY_OK);
  world.reset();
  EXPECT_EQ(calls, 2) << "before the plugin is destroyed";
}

TEST_F(Streams, OfOthersAreImportedAndLeftToThem) {
  void *stream = nullptr, *first = nullptr, *second = nullptr, *handle = nullptr;
  ASSERT_EQ(device.stream_create(self, 0, 0, &stream, nullptr), GANTRY_OK);
  ASSERT_EQ(device.native_get(self, 0, GANTRY_NATIVE_STREAM, stream, &handle, nullptr), GANTRY_OK);

  ASSERT_EQ(device.stream_import(self, 0, handle, &first, nullptr), GANTRY_OK);
  ASSERT_EQ(device.stream_import(self, 0, handle, &second, nullptr), GANTRY_OK);
  EXPECT_TRUE(world->synchronize(first).ok());
  device.stream_destroy(self, 0, first);
  device.stream_destroy(self, 0, second);

  EXPECT_EQ(fake.count_of("cuStreamDestroy_v2"), 0u);
  device.stream_destroy(self, 0, stream);
  EXPECT_EQ(fake.count_of("cuStreamDestroy_v2"), 1u);
  StatusBuffer status;
  EXPECT_EQ(device.stream_import(self, 0, nullptr, &first, status.get()), GANTRY_INVALID);
}

TEST_F(Streams, HaveTheDriversHandles) {
  void* const data = world->alloc(16).value();
  void* handle = nullptr;

  ASSERT_EQ(device.native_get(self, 0, GANTRY_NATIVE_STREAM, nullptr, &handle, nullptr), GANTRY_OK);
  EXPECT_NE(handle, nullptr) << "the default stream";
  ASSERT_EQ(device.native_get(self, 0, GANTRY_NATIVE_MEMORY, data, &handle, nullptr), GANTRY_OK);
  EXPECT_EQ(handle, data);
  void* other = nullptr;
  ASSERT_EQ(device.native_get(self, 0, GANTRY_NATIVE_CONTEXT, nullptr, &handle, nullptr),
            GANTRY_OK);
  ASSERT_EQ(device.native_get(self, 1, GANTRY_NATIVE_CONTEXT, nullptr, &other, nullptr), GANTRY_OK);
  EXPECT_NE(handle, other);
  EXPECT_EQ(device.native_get(self, 0, 99, nullptr, &handle, nullptr), GANTRY_UNSUPPORTED);
  world->free(data);
}

TEST_F(Streams, AreCapturedAndLaunchedAsAWhole) {
  void* const a = world->alloc(16).value();
  void* const b = world->alloc(16).value();
  std::vector<float> received(4);
  void* graph = nullptr;

  ASSERT_EQ(device.capture_begin(self, 0, nullptr, nullptr), GANTRY_OK);
  ASSERT_TRUE(world->copy(on_cuda(a), on_cuda(b), 16, 0).ok());
  ASSERT_EQ(device.capture_end(self, 0, nullptr, &graph, nullptr), GANTRY_OK);
  for (const float base : {1.0f, 100.0f}) {
    const std::vector<float> sent{base, base + 1, base + 2, base + 3};
    ASSERT_TRUE(world->upload(a, sent).ok());
    ASSERT_EQ(device.capture_launch(self, 0, graph, nullptr, nullptr), GANTRY_OK);
    ASSERT_TRUE(world->download(received, b).ok());
    EXPECT_EQ(received, sent);
  }

  device.capture_destroy(self, 0, graph);
  device.capture_destroy(self, 0, nullptr);
  world->free(a);
  world->free(b);
}

// An application's own use of CUDA on the same thread is not affected.
TEST_F(Streams, RestoreTheThreadsContext) {
  CUcontext of_application = nullptr;
  CUcontext now = nullptr;
  cuDevicePrimaryCtxRetain(&of_application, 101);
  cuCtxPushCurrent(of_application);

  world->free(world->alloc(16).value());

  EXPECT_EQ(fake.context_depth(), 1u);
  cuCtxPopCurrent(&now);
  EXPECT_EQ(now, of_application);
  cuDevicePrimaryCtxRelease(101);
}

TEST_F(Streams, ShareOneContextBetweenThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) world->free(world->alloc(64).value());
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(fake.count_of("cuDevicePrimaryCtxRetain"), 1u);
  EXPECT_EQ(world->live_bytes(), 0);
}

}  // namespace
}  // namespace gantry::cuda::test
