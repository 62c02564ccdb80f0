// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/cpu_device.hpp"

#include <gtest/gtest.h>
#include <gantry/abi_boundary.hpp>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace gantry {
namespace {

const gantry_device_table& cpu() { return *cpu_device_table(); }

gantry_alloc request(std::uint64_t size, std::uint64_t alignment = 0) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = alignment;
  return what;
}

Result<void*> alloc(const gantry_alloc& what, std::int32_t index = 0) {
  StatusBuffer status;
  void* data = nullptr;
  const gantry_code code = cpu().alloc(nullptr, index, &what, &data, status.get());
  if (code != GANTRY_OK) return status.error(code, "alloc");
  return data;
}

Result<gantry_value> attribute(std::int32_t kind, std::int32_t index = 0) {
  StatusBuffer status;
  gantry_value value{};
  const gantry_code code = cpu().attribute(nullptr, index, kind, &value, status.get());
  if (code != GANTRY_OK) return status.error(code, "attribute");
  return value;
}

Status copy(const gantry_location& from, const gantry_location& to, std::uint64_t size,
            void* stream = nullptr, std::int32_t index = 0) {
  gantry_copy what{};
  what.struct_size = sizeof what;
  what.from = from;
  what.to = to;
  what.size = size;
  StatusBuffer status;
  const gantry_code code = cpu().copy(nullptr, index, &what, stream, status.get());
  if (code != GANTRY_OK) return status.error(code, "copy");
  return {};
}

gantry_location location(void* data, std::uint64_t offset = 0, gantry_device_id device = {1, 0}) {
  return {data, offset, device};
}

// Expects an error with this code and complete text.
template <class T>
void expect_error(const Result<T>& result, Code code, std::string_view message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code);
  EXPECT_EQ(result.error().message, message);
}

TEST(CpuDevice, TableHasEveryFunctionThatIsNotOptionalForItself) {
  const gantry_device_table& table = cpu();
  const auto* const first = reinterpret_cast<const char*>(&table.count);
  const auto* const end = reinterpret_cast<const char*>(&table.free_in_stream);

  for (const char* location = first; location < end; location += sizeof(void*)) {
    void* function = nullptr;
    std::memcpy(&function, location, sizeof function);
    EXPECT_NE(function, nullptr) << "slot " << (location - first) / 8 << " from count";
  }
  EXPECT_EQ(table.struct_size, sizeof table);
  EXPECT_EQ(table.type, 1);
}

TEST(CpuDevice, HasOneIndex) {
  std::int32_t count = 0;

  EXPECT_EQ(cpu().count(nullptr, &count, nullptr), GANTRY_OK);

  EXPECT_EQ(count, 1);
}

TEST(CpuDevice, AlignsTo256OrTheRequestedAlignment) {
  for (const std::uint64_t alignment : {0u, 1u, 64u, 128u, 256u, 4096u, 65536u, 1u << 21}) {
    void* const data = alloc(request(1000, alignment)).value();
    const std::uint64_t expected = std::max<std::uint64_t>(alignment, kTensorAlignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % expected, 0u) << alignment;
    std::memset(data, 1, 1000);
    cpu().free(nullptr, 0, data);
  }
}

TEST(CpuDevice, ReturnsDistinctAddressesForZeroBytes) {
  void* const first = alloc(request(0)).value();
  void* const second = alloc(request(0)).value();

  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, second);

  cpu().free(nullptr, 0, first);
  cpu().free(nullptr, 0, second);
}

TEST(CpuDevice, IgnoresFreeOfNull) {
  const std::int64_t before = attribute(1000)->i;

  cpu().free(nullptr, 0, nullptr);

  EXPECT_EQ(attribute(1000)->i, before);
}

TEST(CpuDevice, AcceptsTheGlobalScopeByName) {
  gantry_alloc what = request(8);
  what.scope = gantry_text("global");

  const Result<void*> data = alloc(what);

  ASSERT_TRUE(data.ok()) << data.error().message;
  cpu().free(nullptr, 0, *data);
}

TEST(CpuDevice, RejectsAnotherScopeAndEscapesItsName) {
  gantry_alloc what = request(8);
  what.scope = gantry_text("global.texture\n");

  expect_error(alloc(what), Code::unsupported,
               "cpu: memory scope \"global.texture\\n\" is not supported, the only scope is "
               "\"global\"");
}

TEST(CpuDevice, RejectsAnAlignmentThatIsNotAPowerOfTwo) {
  expect_error(alloc(request(8, 24)), Code::invalid,
               "cpu: alignment is 24, expected a power of two up to 2097152");
}

TEST(CpuDevice, RejectsAnAlignmentAboveAHugePage) {
  expect_error(alloc(request(8, 1u << 22)), Code::invalid,
               "cpu: alignment is 4194304, expected a power of two up to 2097152");
}

TEST(CpuDevice, RejectsMoreBytesThanTheAddressSpace) {
  expect_error(alloc(request(UINT64_MAX)), Code::exhausted,
               "cpu: 16.0 EiB (18446744073709551615 bytes) are requested, maximum is 128.0 TiB "
               "(140737488355328 bytes)");
}

// The allocator of AddressSanitizer ends the program instead.
#if !defined(__SANITIZE_ADDRESS__)
TEST(CpuDevice, ReportsTheRequestedBytesWhenMemoryIsExhausted) {
  expect_error(alloc(request(std::uint64_t{1} << 47)), Code::exhausted,
               "cpu: no memory for 128.0 TiB (140737488355328 bytes) aligned to 256");
}
#endif

TEST(CpuDevice, CountsAllocatedBytes) {
  const std::int64_t before = attribute(1000)->i;

  void* const data = alloc(request(100000)).value();
  const std::int64_t during = attribute(1000)->i;
  cpu().free(nullptr, 0, data);

  EXPECT_GE(during, before + 100000);
  EXPECT_EQ(attribute(1000)->i, before);
}

TEST(CpuDevice, HasNumericAttributes) {
  EXPECT_EQ(attribute(0)->i, 1);
  EXPECT_GE(attribute(7)->i, 1);
  EXPECT_GE(attribute(14)->i, attribute(15)->i);
  EXPECT_GT(attribute(15)->i, 0);
  EXPECT_EQ(attribute(0)->kind, GANTRY_INT);
  const Result<gantry_value> cache = attribute(13);
  EXPECT_TRUE(cache.ok() ? cache->i > 0 : cache.error().code == Code::not_found);
}

TEST(CpuDevice, ReportsThatAnotherIndexDoesNotExist) { EXPECT_EQ(attribute(0, 1)->i, 0); }

TEST(CpuDevice, RejectsAnAttributeThatDoesNotApply) {
  expect_error(attribute(2), Code::not_found, "cpu: attribute 2 does not apply");
}

TEST(CpuDevice, RejectsAnotherIndexInEveryFunction) {
  char byte = 0;
  StatusBuffer status;
  void* slot = nullptr;
  const std::string_view message = "cpu:3 does not exist, the only index is 0";

  expect_error(alloc(request(8), 3), Code::invalid, message);
  expect_error(attribute(7, 3), Code::invalid, message);
  expect_error(copy(location(&byte), location(&byte), 1, nullptr, 3), Code::invalid, message);
  EXPECT_EQ(cpu().synchronize(nullptr, 3, nullptr, status.get()), GANTRY_INVALID);
  EXPECT_EQ(status.error(GANTRY_INVALID, "").message, message);
  EXPECT_EQ(cpu().stream_create(nullptr, 3, 0, &slot, nullptr), GANTRY_INVALID);
  EXPECT_EQ(cpu().event_create(nullptr, 3, 0, &slot, nullptr), GANTRY_INVALID);
}

TEST(CpuDevice, CopiesBetweenOffsetsOnBothSides) {
  std::vector<std::uint8_t> from(64), to(64, 0xff);
  std::iota(from.begin(), from.end(), std::uint8_t{0});

  ASSERT_TRUE(copy(location(from.data(), 3), location(to.data(), 7), 10).ok());

  std::vector<std::uint8_t> expected(64, 0xff);
  std::iota(expected.begin() + 7, expected.begin() + 17, std::uint8_t{3});
  EXPECT_EQ(to, expected);
}

TEST(CpuDevice, CopiesOverlappingRanges) {
  std::string text = "abcdefgh";

  ASSERT_TRUE(copy(location(text.data()), location(text.data(), 2), 6).ok());

  EXPECT_EQ(text, "ababcdef");
}

TEST(CpuDevice, AcceptsNullForACopyOfZeroBytes) {
  EXPECT_TRUE(copy(location(nullptr), location(nullptr), 0).ok());
}

TEST(CpuDevice, RejectsACopyAtAddressZero) {
  char byte = 0;

  expect_error(copy(location(nullptr), location(&byte), 1), Code::invalid,
               "cpu: copy of 1 bytes from address 0");
  expect_error(copy(location(&byte), location(nullptr), 1), Code::invalid,
               "cpu: copy of 1 bytes to address 0");
}

TEST(CpuDevice, RejectsACopyOfAnotherDevicesMemory) {
  char byte = 0;

  expect_error(copy(location(&byte, 0, {4, 0}), location(&byte), 1), Code::invalid,
               "cpu: copy from device 4:0, the only device is 1:0");
  expect_error(copy(location(&byte), location(&byte, 0, {1, 2}), 1), Code::invalid,
               "cpu: copy to device 1:2, the only device is 1:0");
}

TEST(CpuDevice, HasOnlyTheDefaultStream) {
  int x = 0;
  void* stream = &x;

  EXPECT_EQ(cpu().stream_create(nullptr, 0, 0, &stream, nullptr), GANTRY_OK);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(cpu().synchronize(nullptr, 0, stream, nullptr), GANTRY_OK);
  cpu().stream_destroy(nullptr, 0, stream);

  StatusBuffer status;
  EXPECT_EQ(cpu().synchronize(nullptr, 0, &x, status.get()), GANTRY_INVALID);
  EXPECT_TRUE(status.error(GANTRY_INVALID, "").message.text().ends_with("the only stream is NULL"));
}

TEST(CpuDevice, RejectsUnknownFlags) {
  int x = 0;
  void* made = &x;

  StatusBuffer status;
  EXPECT_EQ(cpu().stream_create(nullptr, 0, 1, &made, status.get()), GANTRY_UNSUPPORTED);
  EXPECT_EQ(status.error(GANTRY_UNSUPPORTED, "").reason, "FLAGS");
  EXPECT_EQ(cpu().event_create(nullptr, 0, 0x80000000u, &made, status.get()), GANTRY_UNSUPPORTED);
  EXPECT_EQ(status.error(GANTRY_UNSUPPORTED, "").message,
            "cpu: flags are 0x80000000, supported are 0x1");
  EXPECT_EQ(made, &x) << "outputs are unchanged";
}

TEST(CpuDevice, MeasuresTimeBetweenEvents) {
  void *start = nullptr, *stop = nullptr;
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &start, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &stop, nullptr), GANTRY_OK);
  std::int64_t ns = -1;

  EXPECT_EQ(cpu().event_record(nullptr, 0, start, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(cpu().event_wait(nullptr, 0, start, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(cpu().event_record(nullptr, 0, stop, nullptr, nullptr), GANTRY_OK);
  EXPECT_EQ(cpu().event_elapsed(nullptr, 0, start, stop, &ns, nullptr), GANTRY_OK);

  EXPECT_GE(ns, 0);
  cpu().event_destroy(nullptr, 0, start);
  cpu().event_destroy(nullptr, 0, stop);
}

TEST(CpuDevice, HasEventsWithoutATime) {
  void* event = nullptr;
  ASSERT_EQ(cpu().event_create(nullptr, 0, GANTRY_EVENT_UNTIMED, &event, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_record(nullptr, 0, event, nullptr, nullptr), GANTRY_OK);
  std::int64_t ns = -1;
  std::int32_t reached = 0;
  StatusBuffer status;

  EXPECT_EQ(cpu().event_elapsed(nullptr, 0, event, event, &ns, status.get()), GANTRY_INVALID);
  EXPECT_EQ(status.error(GANTRY_INVALID, "").message, "cpu: an event has no time");
  EXPECT_EQ(cpu().event_reached(nullptr, 0, event, 0, &reached, nullptr), GANTRY_OK);
  EXPECT_EQ(reached, 1);
  cpu().event_destroy(nullptr, 0, event);
}

TEST(CpuDevice, NotifiesAtOnce) {
  int calls = 0;
  const auto notify = [](void* self) { ++*static_cast<int*>(self); };

  EXPECT_EQ(cpu().stream_notify(nullptr, 0, nullptr, notify, &calls, nullptr), GANTRY_OK);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cpu().stream_notify(nullptr, 1, nullptr, notify, &calls, nullptr), GANTRY_INVALID);
  EXPECT_EQ(calls, 1);
}

TEST(CpuDevice, RejectsTheTimeOfAnEventThatIsNotRecorded) {
  void *start = nullptr, *stop = nullptr;
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &start, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &stop, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_record(nullptr, 0, start, nullptr, nullptr), GANTRY_OK);
  std::int64_t ns = -1;
  StatusBuffer status;

  EXPECT_EQ(cpu().event_elapsed(nullptr, 0, start, stop, &ns, status.get()), GANTRY_INVALID);

  EXPECT_EQ(status.error(GANTRY_INVALID, "").message, "cpu: the stop event is not recorded");
  EXPECT_EQ(ns, -1);
  cpu().event_destroy(nullptr, 0, start);
  cpu().event_destroy(nullptr, 0, stop);
}

TEST(CpuDevice, DoesNotSupportCapture) {
  StatusBuffer status;
  void* graph = nullptr;

  EXPECT_EQ(cpu().capture_begin(nullptr, 0, nullptr, status.get()), GANTRY_UNSUPPORTED);
  EXPECT_EQ(status.error(GANTRY_UNSUPPORTED, "").message, "cpu: capture is not supported");
  EXPECT_EQ(cpu().capture_end(nullptr, 0, nullptr, &graph, nullptr), GANTRY_UNSUPPORTED);
  EXPECT_EQ(cpu().capture_launch(nullptr, 0, graph, nullptr, nullptr), GANTRY_UNSUPPORTED);
}

TEST(CpuDevice, WritesWholeAttributes) {
  gantry_value value;
  std::memset(&value, 0xff, sizeof value);

  ASSERT_EQ(cpu().attribute(nullptr, 0, 0, &value, nullptr), GANTRY_OK);

  EXPECT_EQ(value.small_size, 0u);
  EXPECT_EQ(value.i, 1);
}

TEST(CpuDevice, RejectsTheTimeFromAnEventThatIsNotRecorded) {
  void *start = nullptr, *stop = nullptr;
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &start, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_create(nullptr, 0, 0, &stop, nullptr), GANTRY_OK);
  ASSERT_EQ(cpu().event_record(nullptr, 0, stop, nullptr, nullptr), GANTRY_OK);
  std::int64_t ns = -1;
  StatusBuffer status;

  EXPECT_EQ(cpu().event_elapsed(nullptr, 0, start, stop, &ns, status.get()), GANTRY_INVALID);

  EXPECT_EQ(status.error(GANTRY_INVALID, "").message, "cpu: the start event is not recorded");
  cpu().event_destroy(nullptr, 0, start);
  cpu().event_destroy(nullptr, 0, stop);
}

TEST(CpuDevice, FillsWithPatterns) {
  std::vector<char> bytes(16, 'x');
  const auto fill = [&](std::uint64_t offset, std::uint64_t size, std::string_view pattern) {
    StatusBuffer status;
    const gantry_code code =
        cpu().fill(nullptr, 0, bytes.data(), offset, size, pattern.data(),
                   static_cast<std::uint32_t>(pattern.size()), nullptr, status.get());
    return code == GANTRY_OK ? Result<int>(0) : Result<int>(status.error(code, "fill"));
  };

  EXPECT_TRUE(fill(1, 2, "a").ok());
  EXPECT_TRUE(fill(4, 4, "bc").ok());
  EXPECT_TRUE(fill(8, 8, "defg").ok());

  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "xaaxbcbcdefgdefg");
  expect_error(fill(0, 3, "abc"), Code::unsupported,
               "cpu: pattern has 3 bytes, expected 1, 2 or 4");
  expect_error(fill(1, 4, "ab"), Code::invalid,
               "cpu: fill of 4 bytes from 1, expected multiples of the pattern's 2");
}

}  // namespace
}  // namespace gantry
