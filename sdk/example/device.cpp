// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include "plugin.hpp"

#include <gantry/device_name.hpp>
#include <gantry/hardware_id.hpp>
#include <gantry/quoted.hpp>

#include <array>
#include <cstring>
#include <utility>

namespace abacus {

std::int32_t Device::count(Plugin& plugin) { return plugin.device_count(); }

gantry::Result<Device*> Device::at(Plugin& plugin, std::int32_t index) {
  return plugin.device(index);
}

gantry::Attribute Device::attribute(std::int32_t kind) const {
  switch (kind) {
    case GANTRY_ATTRIBUTE_DEVICE_NAME:
      return "Abacus, an invented accelerator";
    case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case GANTRY_ATTRIBUTE_WARP_SIZE:
    case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 1;
    case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
      return memory.capacity();
    case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
      return memory.capacity() - memory.alive();
    case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
      return memory.alive();
    case GANTRY_ATTRIBUTE_ALIGNMENT:
      return demands_.alignment;
    case GANTRY_ATTRIBUTE_PADDING:
      return demands_.padding;
    case GANTRY_ATTRIBUTE_MAX_ALLOCATION:
      return demands_.max_allocation;
    case GANTRY_ATTRIBUTE_UUID: {
      // Hardware has one of its own, which all its drivers report.
      std::array<std::uint8_t, 16> bytes{0xab, 0xac, 0x05};
      bytes.back() = static_cast<std::uint8_t>(index_);
      return gantry::uuid_text(bytes);
    }
    case GANTRY_ATTRIBUTE_VENDOR_ID:
      return 0xabac;
    case GANTRY_ATTRIBUTE_PRODUCT_ID:
      return 1;
    default:
      return {};
  }
}

gantry::Result<void*> Device::alloc(const gantry_alloc& what) {
  const std::string_view scope = gantry::view_of(what.scope);
  if (scope == GANTRY_SCOPE_HOST) return host_memory.alloc(what.size, what.alignment);
  if (!scope.empty() && scope != GANTRY_SCOPE_GLOBAL) {
    return gantry::unsupported("abacus: memory scope is ", gantry::quoted(scope),
                               ", expected \"global\" or \"host\"");
  }
  return memory.alloc(what.size);
}

// One side of a copy, kept as long as the copy is in a stream.
struct Device::Side {
  std::byte* bytes = nullptr;
  // NULL: host memory.
  std::shared_ptr<Buffer> buffer;
  // Memory of scope "host"; NULL: other host memory, which the host keeps.
  std::shared_ptr<std::byte> host;
};

gantry::Result<Device::Side> Device::side_of(const gantry_location& location,
                                             std::uint64_t size) const {
  if (location.device.type == gantry::cpu_device_type)
    return Side{static_cast<std::byte*>(location.data) + location.byte_offset, nullptr,
                host_memory.find(location.data)};
  if (location.device.type != plugin_.device_type()) {
    return gantry::unsupported("abacus: one side of the copy is on device ", location.device.type,
                               ":", location.device.index, ", expected abacus or host memory");
  }
  GANTRY_TRY(const Device* const other, plugin_.device(location.device.index));
  GANTRY_TRY(std::shared_ptr<Buffer> buffer,
             other->memory.find(location.data, location.byte_offset, size));
  std::byte* const bytes = buffer->data() + location.byte_offset;
  return Side{bytes, std::move(buffer), nullptr};
}

gantry::Status Device::copy(const gantry_copy& what, Stream* given) {
  Stream& stream = stream_of(given);
  GANTRY_TRY(Side from, side_of(what.from, what.size));
  GANTRY_TRY(Side to, side_of(what.to, what.size));
  const bool is_blocking = (what.flags & GANTRY_COPY_BLOCKING) != 0;
  if (is_blocking && stream.is_captured())
    return wrong_capture("a blocking copy in a stream that is being captured");
  GANTRY_CHECK(stream.push(
      [from = std::move(from), to = std::move(to), size = what.size]() -> gantry::Status {
        if (size != 0) std::memmove(to.bytes, from.bytes, size);
        return {};
      }));
  return is_blocking ? stream.wait() : gantry::Status();
}

// The accelerator works on host memory where it is.
gantry::Result<void*> Device::memory_import(const gantry_external& what) {
  if (what.kind != GANTRY_EXTERNAL_HOST) return gantry::no_external_kind(identity.name, what.kind);
  return memory.import(static_cast<std::byte*>(what.handle) + what.offset, what.size);
}

gantry::Status Device::fill(const gantry::DeviceFill& what, Stream* given) {
  GANTRY_TRY(std::shared_ptr<Buffer> buffer, memory.find(what.data, what.byte_offset, what.size));
  // The host's pattern is valid during this call only.
  std::vector<std::uint8_t> pattern(what.pattern.begin(), what.pattern.end());
  return stream_of(given).push([buffer = std::move(buffer), pattern = std::move(pattern),
                                offset = what.byte_offset, size = what.size]() -> gantry::Status {
    for (std::uint64_t done = 0; done < size; done += pattern.size())
      std::memcpy(buffer->data() + offset + done, pattern.data(), pattern.size());
    return {};
  });
}

namespace {

gantry::Status not_captured(const Stream& stream) {
  if (!stream.is_captured()) return {};
  return gantry::unsupported("abacus: an event in a stream that is being captured")
      .with_reason("CAPTURE");
}

}  // namespace

gantry::Status Device::event_record(Event* event, Stream* given) {
  Stream& stream = stream_of(given);
  GANTRY_CHECK(not_captured(stream));
  const auto mark = std::make_shared<Mark>();
  GANTRY_CHECK(stream.push([mark]() -> gantry::Status {
    mark->reach();
    return {};
  }));
  event->set(mark);
  return {};
}

gantry::Status Device::event_wait(Event* event, Stream* given) {
  Stream& stream = stream_of(given);
  GANTRY_CHECK(not_captured(stream));
  const std::shared_ptr<Mark> mark = event->mark();
  // Never recorded: there is nothing to wait for.
  if (mark == nullptr) return {};
  return stream.push([mark]() -> gantry::Status {
    mark->wait();
    return {};
  });
}

gantry::Result<bool> Device::event_reached(Event* event, std::int64_t timeout_ns) {
  const std::shared_ptr<Mark> mark = event->mark();
  if (mark == nullptr) return gantry::invalid("abacus: the event is not recorded");
  return mark->wait_for(timeout_ns);
}

// The stream does all its work, also after a failure and before it is destroyed.
gantry::Status Device::stream_notify(Stream* given, void (*notify)(void* argument),
                                     void* argument) {
  Stream& stream = stream_of(given);
  if (stream.is_captured())
    return wrong_capture("a notification in a stream that is being captured");
  return stream.push([notify, argument]() -> gantry::Status {
    notify(argument);
    return {};
  });
}

gantry::Result<std::int64_t> Device::event_elapsed(Event* start, Event* stop) {
  if (!start->is_timed || !stop->is_timed)
    return gantry::invalid("abacus: the ", start->is_timed ? "stop" : "start",
                           " event has no time");
  const std::shared_ptr<Mark> from = start->mark();
  const std::shared_ptr<Mark> to = stop->mark();
  if (from == nullptr || to == nullptr) {
    return gantry::invalid("abacus: the ", from == nullptr ? "start" : "stop",
                           " event is not recorded");
  }
  const auto begun = from->wait();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to->wait() - begun).count();
}

}  // namespace abacus
