// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/cpu_device.hpp"

#include "core/engine/tensor/device_set.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>

namespace gantry {
namespace {

// Formats an error text on the stack: it does not throw, and some errors report exhausted memory.
template <class... Parts>
gantry_code refuse(gantry_status* status, gantry_code code, const char* form, Parts... parts) {
  char text[256];
  std::snprintf(text, sizeof text, form, parts...);
  return gantry_fail(status, code, "", text);
}

// size of a huge page
constexpr std::uint64_t kMaxAlignment = std::uint64_t{1} << 21;
// address space of a process
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 47;

// Attribute 1000, shared by all runtimes of the process since the table has no self. It adds up the
// usable sizes of blocks, which alloc and free can both query without a header or a map.
std::atomic<std::int64_t> allocated_bytes{0};

gantry_code check_flags(std::uint32_t flags, std::uint32_t known, gantry_status* status) {
  if ((flags & ~known) == 0) return GANTRY_OK;
  char text[96];
  std::snprintf(text, sizeof text, "cpu: flags are %#" PRIx32 ", supported are %#" PRIx32, flags,
                known);
  return gantry_fail(status, GANTRY_UNSUPPORTED, "FLAGS", text);
}

gantry_code check_index(std::int32_t i, gantry_status* status) {
  if (i == 0) return GANTRY_OK;
  return refuse(status, GANTRY_INVALID, "cpu:%" PRId32 " does not exist, the only index is 0", i);
}

gantry_code check_queue(std::int32_t i, const void* stream, gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  if (stream == nullptr) return GANTRY_OK;
  return refuse(status, GANTRY_INVALID, "cpu: stream %p does not exist, the only stream is NULL",
                stream);
}

gantry_code count(void*, std::int32_t* count, gantry_status*) {
  *count = 1;
  return GANTRY_OK;
}

// Returns the value of an attribute; -1 if it does not apply.
//
// source   apache/tvm include/tvm/runtime/device_api.h DeviceAttrKind; from 1000 on: gantry's own
std::int64_t attribute_number(std::int32_t kind) {
  const auto pages = [](int which) {
    const long number = sysconf(which);
    return number < 0 ? -1 : std::int64_t{number} * sysconf(_SC_PAGESIZE);
  };
  switch (kind) {
    // exists
    case 0:
      return 1;
    // number of multiprocessors: hardware threads
    case 7: {
      const unsigned threads = std::thread::hardware_concurrency();
      return threads == 0 ? -1 : std::int64_t{threads};
    }
    // L2 cache, bytes
    case 13: {
      const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
      return bytes <= 0 ? -1 : bytes;
    }
    // memory, bytes
    case 14:
      return pages(_SC_PHYS_PAGES);
    // available memory, bytes
    case 15:
      return pages(_SC_AVPHYS_PAGES);
    case 1000:
      return allocated_bytes.load(std::memory_order_relaxed);
    default:
      return -1;
  }
}

gantry_code attribute(void*, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  std::int64_t number = 0;
  // "exists" is 0 for another index and not an error
  if (i == 0 || kind != 0) {
    if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
    number = attribute_number(kind);
    if (number < 0) {
      return refuse(status, GANTRY_NOT_FOUND, "cpu: attribute %" PRId32 " does not apply", kind);
    }
  }
  *out = gantry_value{};
  out->kind = GANTRY_INT;
  out->i = number;
  return GANTRY_OK;
}

gantry_code alloc(void*, std::int32_t i, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  if (const gantry_code code = check_flags(what->flags, GANTRY_ALLOC_IN_STREAM, status);
      code != GANTRY_OK) {
    return code;
  }
  if (what->scope.size != 0 && !gantry_bytes_equal(what->scope, gantry_text("global"))) {
    return abi_boundary(status, [&]() -> Status {
      const std::string_view scope(what->scope.data, what->scope.size);
      return unsupported("cpu: memory scope ", quoted(scope),
                         " is not supported, the only scope is \"global\"");
    });
  }
  const std::uint64_t alignment = std::max(what->alignment, kTensorAlignment);
  if ((what->alignment & (what->alignment - 1)) != 0 || alignment > kMaxAlignment) {
    return refuse(status, GANTRY_INVALID,
                  "cpu: alignment is %" PRIu64 ", expected a power of two up to %" PRIu64,
                  what->alignment, kMaxAlignment);
  }
  if (what->size > kMaxBytes) {
    return refuse(status, GANTRY_EXHAUSTED, "cpu: %s are requested, maximum is %s",
                  ByteCount(what->size).c_str(), ByteCount(kMaxBytes).c_str());
  }
  // aligned_alloc requires a multiple of the alignment. A tensor without bytes also has a unique
  // address.
  const std::uint64_t size = std::max((what->size + alignment - 1) & ~(alignment - 1), alignment);
  void* const block = std::aligned_alloc(alignment, size);
  if (block == nullptr) {
    return refuse(status, GANTRY_EXHAUSTED, "cpu: no memory for %s aligned to %" PRIu64,
                  ByteCount(what->size).c_str(), alignment);
  }
  allocated_bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(block)),
                            std::memory_order_relaxed);
  *data = block;
  return GANTRY_OK;
}

void free_block(void*, std::int32_t, void* data) {
  allocated_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(data)),
                            std::memory_order_relaxed);
  std::free(data);
}

gantry_code check_location(const gantry_location& location, const char* side, std::uint64_t size,
                           gantry_status* status) {
  if (location.device.type != kCpu || location.device.index != 0) {
    return refuse(status, GANTRY_INVALID,
                  "cpu: copy %s device %" PRId32 ":%" PRId32 ", the only device is 1:0", side,
                  location.device.type, location.device.index);
  }
  if (location.data == nullptr && size != 0) {
    return refuse(status, GANTRY_INVALID, "cpu: copy of %s %s address 0", ByteCount(size).c_str(),
                  side);
  }
  return GANTRY_OK;
}

gantry_code copy(void*, std::int32_t i, const gantry_copy* what, void* stream,
                 gantry_status* status) {
  if (const gantry_code code = check_flags(what->flags, GANTRY_COPY_BLOCKING, status);
      code != GANTRY_OK) {
    return code;
  }
  if (const gantry_code code = check_queue(i, stream, status); code != GANTRY_OK) return code;
  for (const bool source : {true, false}) {
    const gantry_code code =
        check_location(source ? what->from : what->to, source ? "from" : "to", what->size, status);
    if (code != GANTRY_OK) return code;
  }
  if (what->size == 0) return GANTRY_OK;
  std::memmove(static_cast<char*>(what->to.data) + what->to.byte_offset,
               static_cast<const char*>(what->from.data) + what->from.byte_offset, what->size);
  return GANTRY_OK;
}

gantry_code synchronize(void*, std::int32_t i, void* stream, gantry_status* status) {
  return check_queue(i, stream, status);
}

// All work is complete when a call returns, so the only stream is NULL.
gantry_code stream_create(void*, std::int32_t i, std::uint32_t flags, void** stream,
                          gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  if (const gantry_code code = check_flags(flags, 0, status); code != GANTRY_OK) return code;
  *stream = nullptr;
  return GANTRY_OK;
}

void stream_destroy(void*, std::int32_t, void*) {}

// The time at which it was recorded.
using Clock = std::chrono::steady_clock;
struct Event {
  bool is_timed;
  std::atomic<Clock::time_point> at{};
};

gantry_code event_create(void*, std::int32_t i, std::uint32_t flags, void** event,
                         gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  if (const gantry_code code = check_flags(flags, GANTRY_EVENT_UNTIMED, status); code != GANTRY_OK)
    return code;
  auto* const fresh = new (std::nothrow) Event{(flags & GANTRY_EVENT_UNTIMED) == 0};
  if (fresh == nullptr) return refuse(status, GANTRY_EXHAUSTED, "cpu: no memory for an event");
  *event = fresh;
  return GANTRY_OK;
}

void event_destroy(void*, std::int32_t, void* event) { delete static_cast<Event*>(event); }

gantry_code event_record(void*, std::int32_t i, void* event, void* stream, gantry_status* status) {
  if (const gantry_code code = check_queue(i, stream, status); code != GANTRY_OK) return code;
  static_cast<Event*>(event)->at.store(Clock::now());
  return GANTRY_OK;
}

gantry_code event_wait(void*, std::int32_t i, void*, void* stream, gantry_status* status) {
  return check_queue(i, stream, status);
}

gantry_code event_elapsed(void*, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  if (!static_cast<Event*>(start)->is_timed || !static_cast<Event*>(stop)->is_timed)
    return refuse(status, GANTRY_INVALID, "cpu: an event has no time");
  const Clock::time_point from = static_cast<Event*>(start)->at.load();
  const Clock::time_point to = static_cast<Event*>(stop)->at.load();
  if (from == Clock::time_point{} || to == Clock::time_point{}) {
    return refuse(status, GANTRY_INVALID, "cpu: the %s event is not recorded",
                  from == Clock::time_point{} ? "start" : "stop");
  }
  *ns = std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count();
  return GANTRY_OK;
}

gantry_code no_capture(gantry_status* status) {
  return refuse(status, GANTRY_UNSUPPORTED, "cpu: capture is not supported");
}
gantry_code capture_begin(void*, std::int32_t, void*, gantry_status* status) {
  return no_capture(status);
}
gantry_code capture_end(void*, std::int32_t, void*, void**, gantry_status* status) {
  return no_capture(status);
}
gantry_code capture_launch(void*, std::int32_t, void*, void*, gantry_status* status) {
  return no_capture(status);
}
void capture_destroy(void*, std::int32_t, void*) {}

gantry_code fill(void*, std::int32_t i, void* data, std::uint64_t byte_offset, std::uint64_t size,
                 const void* pattern, std::uint32_t pattern_size, void* stream,
                 gantry_status* status) {
  if (const gantry_code code = check_queue(i, stream, status); code != GANTRY_OK) return code;
  if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4) {
    char text[96];
    std::snprintf(text, sizeof text, "cpu: pattern has %" PRIu32 " bytes, expected 1, 2 or 4",
                  pattern_size);
    return gantry_fail(status, GANTRY_UNSUPPORTED, "PATTERN", text);
  }
  if (byte_offset % pattern_size != 0 || size % pattern_size != 0) {
    return refuse(status, GANTRY_INVALID,
                  "cpu: fill of %" PRIu64 " bytes from %" PRIu64
                  ", expected multiples of the pattern's %" PRIu32,
                  size, byte_offset, pattern_size);
  }
  char* const first = static_cast<char*>(data) + byte_offset;
  if (pattern_size == 1) {
    std::memset(first, *static_cast<const unsigned char*>(pattern), size);
    return GANTRY_OK;
  }
  for (std::uint64_t done = 0; done < size; done += pattern_size)
    std::memcpy(first + done, pattern, pattern_size);
  return GANTRY_OK;
}

gantry_code event_reached(void*, std::int32_t i, void*, std::int64_t, std::int32_t* reached,
                          gantry_status* status) {
  if (const gantry_code code = check_index(i, status); code != GANTRY_OK) return code;
  *reached = 1;
  return GANTRY_OK;
}

gantry_code stream_notify(void*, std::int32_t i, void* stream, void (*notify)(void*),
                          void* argument, gantry_status* status) {
  if (const gantry_code code = check_queue(i, stream, status); code != GANTRY_OK) return code;
  notify(argument);
  return GANTRY_OK;
}

}  // namespace

const gantry_device_table* cpu_device_table() {
  static constexpr gantry_device_table table = {
      .struct_size = sizeof(gantry_device_table),
      .flags = 0,
      .name = "cpu",
      .type = kCpu,
      .zero = 0,
      .count = count,
      .attribute = attribute,
      .alloc = alloc,
      .free = free_block,
      .copy = copy,
      .synchronize = synchronize,
      .stream_create = stream_create,
      .stream_destroy = stream_destroy,
      .event_create = event_create,
      .event_destroy = event_destroy,
      .event_record = event_record,
      .event_wait = event_wait,
      .event_elapsed = event_elapsed,
      .capture_begin = capture_begin,
      .capture_end = capture_end,
      .capture_launch = capture_launch,
      .capture_destroy = capture_destroy,
      .fill = fill,
      .event_reached = event_reached,
      .stream_notify = stream_notify,
  };
  return &table;
}

}  // namespace gantry
