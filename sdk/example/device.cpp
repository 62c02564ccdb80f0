// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <cstring>
#include <utility>

namespace abacus {
namespace {

// DLPack's number of the CPU
constexpr std::int32_t host_memory = 1;

Plugin& plugin_of(void* self) { return *static_cast<Plugin*>(self); }

gantry::Result<std::int64_t> option(const gantry_host* host, std::string_view key) {
  gantry_value value{};
  gantry::StatusBuffer status;
  const gantry_code code = host->config_get(host, gantry::bytes_of(key), &value, status.get());
  if (code != GANTRY_OK) return status.error(code, "host function config_get");
  // of the type in the manifest's config_schema
  return value.i;
}

// ---- what there is -------------------------------------------------------------------------------------------------

gantry_code count(void* self, std::int32_t* count, gantry_status*) {
  *count = plugin_of(self).device_count();
  return GANTRY_OK;
}

gantry_code attribute(void* self, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    const Plugin& plugin = plugin_of(self);
    const auto found = plugin.device(i);
    // to ask is never wrong
    if (kind == GANTRY_ATTRIBUTE_EXISTS) {
      *out = gantry::int_value(found.ok());
      return {};
    }
    GANTRY_TRY(const Device* device, found);
    const auto number = [&](std::uint64_t value) {
      *out = gantry::int_value(static_cast<std::int64_t>(value));
      return gantry::Status();
    };
    const gantry::Host host(plugin.host());
    switch (kind) {
      case GANTRY_ATTRIBUTE_DEVICE_NAME: {
        GANTRY_TRY(gantry::Value name, host.text("Abacus, an accelerator that nobody has built"));
        *out = name.take();
        return {};
      }
      case GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return number(1024);
      case GANTRY_ATTRIBUTE_WARP_SIZE:
      case GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return number(1);
      case GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY:
        return number(device->memory.capacity());
      case GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY:
        return number(device->memory.capacity() - device->memory.alive());
      case GANTRY_ATTRIBUTE_ALLOCATED_BYTES:
        return number(device->memory.alive());
      default:
        return gantry::not_found("abacus: attribute ", kind, " does not apply");
    }
  });
}

// ---- memory --------------------------------------------------------------------------------------------------------

gantry_code alloc(void* self, std::int32_t i, const gantry_alloc* what, void** data,
                  gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Device * device, plugin_of(self).device(i));
    const std::string_view scope = gantry::view_of(what->scope);
    if (!scope.empty() && scope != "global") {
      return gantry::unsupported("abacus: memory scope ", gantry::quoted(scope),
                                 " is not there, the only scope is \"global\"");
    }
    GANTRY_TRY(*data, device->memory.alloc(what->size));
    return {};
  });
}

void free_memory(void* self, std::int32_t i, void* data) {
  if (const auto device = plugin_of(self).device(i); device.ok()) (*device)->memory.free(data);
}

// One side of a copy, kept as long as the copy is under way.
struct Side {
  std::byte* bytes = nullptr;
  // NULL: host memory, which the host keeps
  std::shared_ptr<Buffer> buffer;
};

gantry::Result<Side> side_of(const Plugin& plugin, const gantry_location& location,
                             std::uint64_t size) {
  if (location.device.type == host_memory)
    return Side{static_cast<std::byte*>(location.data) + location.byte_offset, nullptr};
  if (location.device.type != plugin.device_type()) {
    return gantry::unsupported("abacus: a copy with device ", location.device.type, ":",
                               location.device.index, " is none of this kind or the host's");
  }
  GANTRY_TRY(const Device* device, plugin.device(location.device.index));
  GANTRY_TRY(std::shared_ptr<Buffer> buffer,
             device->memory.find(location.data, location.byte_offset, size));
  std::byte* const bytes = buffer->data() + location.byte_offset;
  return Side{bytes, std::move(buffer)};
}

gantry_code copy(void* self, std::int32_t i, const gantry_copy* what, void* in,
                 gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    const Plugin& plugin = plugin_of(self);
    GANTRY_TRY(Stream * stream, plugin.stream(i, in));
    GANTRY_TRY(Side from, side_of(plugin, what->from, what->size));
    GANTRY_TRY(Side to, side_of(plugin, what->to, what->size));
    const bool blocking = (what->flags & GANTRY_COPY_BLOCKING) != 0;
    if (blocking && stream->is_captured()) {
      return gantry::invalid("abacus: a captured stream takes no blocking copy")
          .with_reason("CAPTURE");
    }
    GANTRY_CHECK(stream->push(
        [from = std::move(from), to = std::move(to), size = what->size]() -> gantry::Status {
          if (size != 0) std::memmove(to.bytes, from.bytes, size);
          return {};
        }));
    if (blocking) GANTRY_CHECK(stream->wait());
    return {};
  });
}

// ---- order of work -------------------------------------------------------------------------------------------------

gantry_code synchronize(void* self, std::int32_t i, void* in, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    return stream->wait();
  });
}

gantry_code stream_create(void* self, std::int32_t i, std::uint32_t, void** stream,
                          gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_CHECK(plugin_of(self).device(i));
    *stream = new Stream;
    return {};
  });
}

void stream_destroy(void*, std::int32_t, void* stream) { delete static_cast<Stream*>(stream); }

// The last place in a stream where it was recorded; NULL: nowhere yet.
struct Event {
  std::mutex mutex;
  std::shared_ptr<Mark> mark;

  std::shared_ptr<Mark> now() {
    const std::lock_guard lock(mutex);
    return mark;
  }
};

gantry_code event_create(void* self, std::int32_t i, std::uint32_t, void** event,
                         gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_CHECK(plugin_of(self).device(i));
    *event = new Event;
    return {};
  });
}

void event_destroy(void*, std::int32_t, void* event) { delete static_cast<Event*>(event); }

gantry::Status not_captured(const Stream& stream) {
  if (!stream.is_captured()) return {};
  return gantry::unsupported("abacus: events in a captured stream").with_reason("CAPTURE");
}

gantry_code event_record(void* self, std::int32_t i, void* event, void* in, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    GANTRY_CHECK(not_captured(*stream));
    const auto mark = std::make_shared<Mark>();
    GANTRY_CHECK(stream->push([mark]() -> gantry::Status {
      mark->reach();
      return {};
    }));
    auto& recorded = *static_cast<Event*>(event);
    const std::lock_guard lock(recorded.mutex);
    recorded.mark = mark;
    return {};
  });
}

gantry_code event_wait(void* self, std::int32_t i, void* event, void* in, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    GANTRY_CHECK(not_captured(*stream));
    const std::shared_ptr<Mark> mark = static_cast<Event*>(event)->now();
    // never recorded: nothing to wait for
    if (mark == nullptr) return {};
    return stream->push([mark]() -> gantry::Status {
      mark->wait();
      return {};
    });
  });
}

gantry_code event_elapsed(void* self, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_CHECK(plugin_of(self).device(i));
    const std::shared_ptr<Mark> from = static_cast<Event*>(start)->now();
    const std::shared_ptr<Mark> to = static_cast<Event*>(stop)->now();
    if (from == nullptr || to == nullptr) {
      return gantry::invalid("abacus: the ", from == nullptr ? "start" : "stop",
                             " event is not recorded");
    }
    const auto begun = from->wait();
    *ns = std::chrono::duration_cast<std::chrono::nanoseconds>(to->wait() - begun).count();
    return {};
  });
}

// ---- captured graphs -----------------------------------------------------------------------------------------------

gantry_code capture_begin(void* self, std::int32_t i, void* in, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    return stream->begin_capture();
  });
}

gantry_code capture_end(void* self, std::int32_t i, void* in, void** graph, gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    GANTRY_TRY(std::unique_ptr<Recording> recording, stream->end_capture());
    *graph = recording.release();
    return {};
  });
}

gantry_code capture_launch(void* self, std::int32_t i, void* graph, void* in,
                           gantry_status* status) {
  return gantry::abi_boundary(status, [&]() -> gantry::Status {
    GANTRY_TRY(Stream * stream, plugin_of(self).stream(i, in));
    return stream->push_all(*static_cast<const Recording*>(graph));
  });
}

void capture_destroy(void*, std::int32_t, void* graph) { delete static_cast<Recording*>(graph); }

}  // namespace

gantry::Result<std::unique_ptr<Plugin>> Plugin::create(const gantry_host* host) {
  std::unique_ptr<Plugin> plugin(new Plugin(host));
  gantry::StatusBuffer status;
  if (const gantry_code code =
          host->device_type(host, gantry_text("abacus"), &plugin->type_, status.get())) {
    return status.error(code, "host function device_type");
  }
  GANTRY_TRY(const std::int64_t devices, option(host, "devices"));
  GANTRY_TRY(const std::int64_t mebibytes, option(host, "memory_mib"));
  for (std::int64_t i = 0; i < devices; ++i) {
    plugin->devices_.push_back(std::make_unique<Device>(
        static_cast<std::int32_t>(i), static_cast<std::uint64_t>(mebibytes) << 20));
  }
  return plugin;
}

gantry::Result<Device*> Plugin::device(std::int32_t index) const {
  if (index >= 0 && index < device_count()) return devices_[static_cast<std::size_t>(index)].get();
  return gantry::invalid("abacus:", index, " is not there, device count is ", device_count())
      .with_reason("DEVICE_INDEX");
}

gantry::Result<Stream*> Plugin::stream(std::int32_t index, void* stream) const {
  GANTRY_TRY(Device * found, device(index));
  return stream == nullptr ? &found->default_stream : static_cast<Stream*>(stream);
}

const gantry_device_table device_table = {
    .struct_size = sizeof(gantry_device_table),
    .flags = GANTRY_DEVICE_OPAQUE_DATA,
    .name = "abacus",
    // DLPack has no number for it: the host assigns one
    .type = 0,
    .zero = 0,
    .count = count,
    .attribute = attribute,
    .alloc = alloc,
    .free = free_memory,
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
};

}  // namespace abacus
