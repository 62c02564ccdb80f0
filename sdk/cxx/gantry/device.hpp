// SPDX-License-Identifier: Apache-2.0
//
// gantry/device.hpp - exposes a class as a kind of device of the ABI. There is one object for each
// device; its functions have the names of those in gantry_device_table.
//
//     class Device {
//      public:
//       static constexpr gantry::DeviceIdentity identity{.name = "acme", .type = 0};
//
//       static gantry::Result<std::int32_t> count(Plugin& plugin);
//       // Returns the device with that index, or no_such_device(). May also return a
//       // Result<Device>, an object for one call.
//       static gantry::Result<Device*> at(Plugin& plugin, std::int32_t index);
//
//       gantry::Result<void*> alloc(const gantry_alloc& what);
//       void free(void* data);
//       gantry::Status copy(const gantry_copy& what, Stream* stream);
//
//       // Optional; functions of streams, events and capture are optional as a group:
//       gantry::Result<gantry::Attribute> attribute(std::int32_t kind) const;
//       gantry::Status synchronize(Stream* stream);
//       gantry::Result<Stream*> stream_create();
//       void stream_destroy(Stream* stream);
//       event_create() event_destroy(event) event_record(event, stream) event_wait(event, stream)
//       event_elapsed(start, stop)                     // only with the others; none: no clock
//       capture_begin(stream) capture_end(stream) capture_launch(graph, stream)
//       capture_destroy(graph)
//
//       // Optional, each for itself:
//       gantry::Status fill(const gantry::DeviceFill& what, Stream* stream);
//       void trim();
//       void free_in_stream(void* data, Stream* stream);
//       gantry::Result<void*> host_address(void* data);
//       gantry::Result<void*> memory_import(const gantry_external& what);
//       gantry::Result<bool> event_reached(Event* event, std::int64_t timeout_ns);
//       gantry::Status stream_notify(Stream* stream, void (*notify)(void*), void* argument);
//       gantry::Result<Stream*> stream_import(void* handle);
//       gantry::Result<void*> native_get(std::int32_t kind, void* object);
//     };
//
// event_create may instead have the flags, GANTRY_EVENT_*, as its argument.
//
// Streams, events and graphs are pointers to any type. If attributes can be read without starting
// the device, attribute may instead be `static Result<Attribute> attribute(Plugin&, std::int32_t
// index, std::int32_t kind)`. Functions that release something return void, or a Status, which is
// logged.
//
// A member `gantry::DeviceLoss loss`, or a reference to one, makes the loss of a device final.
//
// These templates reject flags that version 1.0 does not define (UNSUPPORTED, FLAGS) and implement
// GANTRY_ATTRIBUTE_EXISTS.
#pragma once

#include <gantry/device.h>
#include <gantry/attribute.hpp>
#include <gantry/device_call.hpp>
#include <gantry/device_loss.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace gantry {

struct DeviceIdentity {
  // [a-z][a-z0-9_]*, as in the manifest: "opencl"
  const char* name;
  // DLPack's number. 0: the core assigns a number.
  std::int32_t type = 0;
  // Bitwise or of GANTRY_DEVICE_*.
  std::uint32_t flags = 0;
};

// Memory that is filled. See gantry_device_table.fill.
struct DeviceFill {
  // The result of alloc.
  void* data;
  std::uint64_t byte_offset;
  std::uint64_t size;
  // 1, 2 or 4 bytes, whose number divides byte_offset and size; valid during the call.
  std::span<const std::uint8_t> pattern;
};

// Returns the error for an index without a device.
//
// returns  INVALID (DEVICE_INDEX)
inline Failure no_such_device(std::string_view kind, std::int32_t index, std::int64_t count) {
  return invalid("device ", kind, ":", index, " not found, device count is ", count)
      .with_reason("DEVICE_INDEX");
}

// Returns the error for a kind of external memory that a device does not import.
//
// returns  UNSUPPORTED (EXTERNAL_KIND)
inline Failure no_external_kind(std::string_view kind, std::int32_t external) {
  return unsupported("device ", kind, " does not import external memory of kind ", external)
      .with_reason("EXTERNAL_KIND");
}

// Returns the error for a kind of handle that a device does not have.
//
// kind     [in]   GANTRY_NATIVE_*
// returns  UNSUPPORTED (NATIVE_KIND)
inline Failure no_native_handle(std::string_view device, std::int32_t kind) {
  return unsupported("native_get of device ", device, ": kind is ", kind,
                     ", which this device does not have")
      .with_reason("NATIVE_KIND");
}

namespace detail {

// Rejects flags that are not in `known`.
//
// known    [in]   bitwise or of flags
// returns  UNSUPPORTED (FLAGS)
inline Status check_flags(std::uint32_t flags, std::uint32_t known, std::string_view function,
                          std::string_view kind) {
  if ((flags & ~known) == 0) return {};
  return unsupported(function, " of device ", kind, ": flags are ", Hex{flags}, ", known are ",
                     Hex{known})
      .with_reason("FLAGS");
}

// The number of functions of each group that the class has.
#define GANTRY_HAS_(CALL) (requires(D & d, Handle h) { d.CALL; })
template <class D>
constexpr int stream_functions = GANTRY_HAS_(stream_create()) + GANTRY_HAS_(stream_destroy(h));
template <class D>
constexpr int event_functions = (GANTRY_HAS_(event_create()) || GANTRY_HAS_(event_create(0u))) +
                                GANTRY_HAS_(event_destroy(h)) + GANTRY_HAS_(event_record(h, h)) +
                                GANTRY_HAS_(event_wait(h, h));
template <class D>
constexpr bool has_event_elapsed = GANTRY_HAS_(event_elapsed(h, h));
template <class D>
constexpr bool has_event_reached = GANTRY_HAS_(event_reached(h, 0));
template <class D>
constexpr bool has_stream_notify = GANTRY_HAS_(stream_notify(h, nullptr, nullptr));
template <class D>
constexpr bool has_stream_import = GANTRY_HAS_(stream_import(nullptr));
template <class D>
constexpr bool has_native_get = GANTRY_HAS_(native_get(0, nullptr));
template <class D>
constexpr int capture_functions = GANTRY_HAS_(capture_begin(h)) + GANTRY_HAS_(capture_end(h)) +
                                  GANTRY_HAS_(capture_launch(h, h)) +
                                  GANTRY_HAS_(capture_destroy(h));
#undef GANTRY_HAS_
template <class D>
concept HasSynchronize = requires(D& device, Handle h) {
  device.synchronize(h);
};
template <class P, class D>
concept HasStaticAttribute = requires(P& plugin) {
  D::attribute(plugin, 0, 0);
};
template <class P, class D>
concept HasAttribute = HasStaticAttribute<P, D> || requires(D& device) {
  device.attribute(0);
};

template <class P, class D>
Result<Attribute> attribute_of(P& plugin, std::int32_t i, std::int32_t kind) {
  if constexpr (HasStaticAttribute<P, D>) {
    return D::attribute(plugin, i, kind);
  } else {
    Attribute out;
    GANTRY_CHECK(with_device<D>(plugin, i, [&](D& device) -> Status {
      GANTRY_TRY(out, Result<Attribute>(device.attribute(kind)));
      return {};
    }));
    return out;
  }
}

template <class P, class D>
gantry_code attribute(void* self, std::int32_t i, std::int32_t kind, gantry_value* out,
                      gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    P& plugin = *static_cast<P*>(self);
    if (kind == GANTRY_ATTRIBUTE_EXISTS) {
      const Result<std::int32_t> count = D::count(plugin);
      *out = int_value(count.ok() && i >= 0 && i < *count ? 1 : 0);
      return {};
    }
    GANTRY_TRY(const Attribute found, attribute_of<P, D>(plugin, i, kind));
    if (const std::int64_t* const number = found.number()) {
      *out = int_value(*number);
      return {};
    }
    if (found.text() == nullptr) {
      return not_found("attribute ", kind, " does not apply to device ", D::identity.name, ":", i)
          .with_reason("ATTRIBUTE");
    }
    GANTRY_TRY(Value text, host_of(plugin).text(*found.text()));
    *out = text.take();
    return {};
  });
}

template <class P, class D>
consteval void add_memory(gantry_device_table& table) {
  table.count = [](void* self, std::int32_t* out, gantry_status* status) {
    return abi_boundary(status, [&]() -> Status {
      GANTRY_TRY(*out, Result<std::int32_t>(D::count(*static_cast<P*>(self))));
      return {};
    });
  };
  if constexpr (HasAttribute<P, D>) table.attribute = attribute<P, D>;
  table.alloc = [](void* self, std::int32_t i, const gantry_alloc* what, void** data,
                   gantry_status* status) {
    return on_device<P, D>(self, i, data, status, [&](D& device) -> Result<void*> {
      GANTRY_CHECK(check_flags(what->flags, GANTRY_ALLOC_IN_STREAM, "alloc", D::identity.name));
      return device.alloc(*what);
    });
  };
  table.free = [](void* self, std::int32_t i, void* data) {
    release_on_device<P, D>(self, i, "free", [&](D& device) { return device.free(data); });
  };
  table.copy = [](void* self, std::int32_t i, const gantry_copy* what, void* stream,
                  gantry_status* status) {
    return on_device<P, D>(self, i, status, [&](D& device) -> Status {
      GANTRY_CHECK(check_flags(what->flags, GANTRY_COPY_BLOCKING, "copy", D::identity.name));
      return device.copy(*what, Handle{stream});
    });
  };
}

template <class P, class D>
consteval void add_streams(gantry_device_table& table) {
  if constexpr (HasSynchronize<D>) {
    table.synchronize = [](void* self, std::int32_t i, void* stream, gantry_status* status) {
      return on_device<P, D>(self, i, status,
                             [&](D& device) { return device.synchronize(Handle{stream}); });
    };
  }
  if constexpr (stream_functions<D> != 0) {
    table.stream_create = [](void* self, std::int32_t i, std::uint32_t flags, void** stream,
                             gantry_status* status) {
      return on_device<P, D>(self, i, status, [&](D& device) -> Status {
        GANTRY_CHECK(check_flags(flags, 0, "stream_create", D::identity.name));
        GANTRY_TRY(auto made, device.stream_create());
        *stream = released(std::move(made));
        return {};
      });
    };
    table.stream_destroy = [](void* self, std::int32_t i, void* stream) {
      release_on_device<P, D>(self, i, "stream_destroy",
                              [&](D& device) { return device.stream_destroy(Handle{stream}); });
    };
  }
}

template <class P, class D>
consteval void add_events(gantry_device_table& table) {
  table.event_create = [](void* self, std::int32_t i, std::uint32_t flags, void** event,
                          gantry_status* status) {
    return on_device<P, D>(self, i, status, [&](D& device) -> Status {
      GANTRY_CHECK(check_flags(flags, GANTRY_EVENT_UNTIMED, "event_create", D::identity.name));
      if constexpr (requires { device.event_create(flags); }) {
        GANTRY_TRY(auto made, device.event_create(flags));
        *event = released(std::move(made));
      } else {
        GANTRY_TRY(auto made, device.event_create());
        *event = released(std::move(made));
      }
      return {};
    });
  };
  table.event_destroy = [](void* self, std::int32_t i, void* event) {
    release_on_device<P, D>(self, i, "event_destroy",
                            [&](D& device) { return device.event_destroy(Handle{event}); });
  };
  table.event_record = [](void* self, std::int32_t i, void* event, void* stream,
                          gantry_status* status) {
    return on_device<P, D>(self, i, status, [&](D& device) {
      return device.event_record(Handle{event}, Handle{stream});
    });
  };
  table.event_wait = [](void* self, std::int32_t i, void* event, void* stream,
                        gantry_status* status) {
    return on_device<P, D>(self, i, status, [&](D& device) {
      return device.event_wait(Handle{event}, Handle{stream});
    });
  };
  if constexpr (has_event_elapsed<D>) {
    table.event_elapsed = [](void* self, std::int32_t i, void* start, void* stop, std::int64_t* ns,
                             gantry_status* status) {
      return on_device<P, D>(self, i, ns, status, [&](D& device) {
        return device.event_elapsed(Handle{start}, Handle{stop});
      });
    };
  }
}

template <class P, class D>
consteval void add_completion(gantry_device_table& table) {
  if constexpr (has_event_reached<D>) {
    table.event_reached = [](void* self, std::int32_t i, void* event, std::int64_t timeout_ns,
                             std::int32_t* reached, gantry_status* status) {
      return on_device<P, D>(self, i, status, [&](D& device) -> Status {
        GANTRY_TRY(const bool is_reached, device.event_reached(Handle{event}, timeout_ns));
        *reached = is_reached ? 1 : 0;
        return {};
      });
    };
  }
  if constexpr (has_stream_notify<D>) {
    table.stream_notify = [](void* self, std::int32_t i, void* stream,
                             void (*notify)(void* argument), void* argument,
                             gantry_status* status) {
      return on_device<P, D>(self, i, status, [&](D& device) {
        return device.stream_notify(Handle{stream}, notify, argument);
      });
    };
  }
}

template <class P, class D>
consteval void add_native(gantry_device_table& table) {
  if constexpr (has_stream_import<D>) {
    table.stream_import = [](void* self, std::int32_t i, void* handle, void** stream,
                             gantry_status* status) {
      return on_device<P, D>(self, i, stream, status,
                             [&](D& device) { return device.stream_import(handle); });
    };
  }
  if constexpr (has_native_get<D>) {
    table.native_get = [](void* self, std::int32_t i, std::int32_t kind, void* object,
                          void** handle, gantry_status* status) {
      return on_device<P, D>(self, i, handle, status,
                             [&](D& device) { return device.native_get(kind, object); });
    };
  }
}

template <class P, class D>
consteval void add_capture(gantry_device_table& table) {
  table.capture_begin = [](void* self, std::int32_t i, void* stream, gantry_status* status) {
    return on_device<P, D>(self, i, status,
                           [&](D& device) { return device.capture_begin(Handle{stream}); });
  };
  table.capture_end = [](void* self, std::int32_t i, void* stream, void** graph,
                         gantry_status* status) {
    return on_device<P, D>(self, i, graph, status,
                           [&](D& device) { return device.capture_end(Handle{stream}); });
  };
  table.capture_launch = [](void* self, std::int32_t i, void* graph, void* stream,
                            gantry_status* status) {
    return on_device<P, D>(self, i, status, [&](D& device) {
      return device.capture_launch(Handle{graph}, Handle{stream});
    });
  };
  table.capture_destroy = [](void* self, std::int32_t i, void* graph) {
    release_on_device<P, D>(self, i, "capture_destroy",
                            [&](D& device) { return device.capture_destroy(Handle{graph}); });
  };
}

// ---- memory beyond alloc, free and copy: each function for itself

template <class D>
concept HasFill = requires(D& device, const DeviceFill& what, Handle stream) {
  device.fill(what, stream);
};

template <class D>
concept HasFreeInStream = requires(D& device, void* data, Handle stream) {
  device.free_in_stream(data, stream);
};
template <class D>
concept HasHostAddress = requires(D& device, void* data) {
  device.host_address(data);
};
template <class D>
concept HasMemoryImport = requires(D& device, const gantry_external& what) {
  device.memory_import(what);
};
template <class D>
concept HasTrim = requires(D& device) {
  device.trim();
};

// returns  UNSUPPORTED  another size of pattern (PATTERN)
//          INVALID      offset or size are no multiples of it (ARGUMENT_RANGE)
inline Status check_fill(const DeviceFill& what, std::string_view kind) {
  const std::uint64_t unit = what.pattern.size();
  if (unit != 1 && unit != 2 && unit != 4) {
    return unsupported("fill of device ", kind, ": pattern has ", unit,
                       " bytes, expected 1, 2 or 4")
        .with_reason("PATTERN");
  }
  if (what.byte_offset % unit == 0 && what.size % unit == 0) return {};
  return invalid("fill of device ", kind, ": ", what.size, " bytes from ", what.byte_offset,
                 " are no multiples of the pattern's ", unit)
      .with_reason("ARGUMENT_RANGE");
}

template <class P, class D>
consteval void add_further_memory(gantry_device_table& table) {
  if constexpr (HasFill<D>) {
    table.fill = [](void* self, std::int32_t i, void* data, std::uint64_t byte_offset,
                    std::uint64_t size, const void* pattern, std::uint32_t pattern_size,
                    void* stream, gantry_status* status) {
      return on_device<P, D>(self, i, status, [&](D& device) -> Status {
        const DeviceFill what{
            data, byte_offset, size, {static_cast<const std::uint8_t*>(pattern), pattern_size}};
        GANTRY_CHECK(check_fill(what, D::identity.name));
        return device.fill(what, Handle{stream});
      });
    };
  }
  if constexpr (HasFreeInStream<D>) {
    table.free_in_stream = [](void* self, std::int32_t i, void* data, void* stream) {
      release_on_device<P, D>(self, i, "free_in_stream", [&](D& device) {
        return device.free_in_stream(data, Handle{stream});
      });
    };
  }
  if constexpr (HasHostAddress<D>) {
    table.host_address = [](void* self, std::int32_t i, void* data, void** address,
                            gantry_status* status) {
      return on_device<P, D>(self, i, address, status,
                             [&](D& device) { return device.host_address(data); });
    };
  }
  if constexpr (HasMemoryImport<D>) {
    table.memory_import = [](void* self, std::int32_t i, const gantry_external* what, void** data,
                             gantry_status* status) {
      return on_device<P, D>(self, i, data, status, [&](D& device) -> Result<void*> {
        if (what->kind < GANTRY_EXTERNAL_HOST || what->kind > GANTRY_EXTERNAL_NATIVE)
          return no_external_kind(D::identity.name, what->kind);
        return device.memory_import(*what);
      });
    };
  }
  if constexpr (HasTrim<D>) {
    table.trim = [](void* self, std::int32_t i) {
      release_on_device<P, D>(self, i, "trim", [](D& device) { return device.trim(); });
    };
  }
}

template <class P, class D>
consteval gantry_device_table make_device_table() {
  static_assert(stream_functions<D> == 0 || stream_functions<D> == 2,
                "a device has stream_create and stream_destroy, or neither");
  static_assert(stream_functions<D> == 0 || HasSynchronize<D>,
                "a device with streams has synchronize");
  static_assert(event_functions<D> == 0 || event_functions<D> == 4,
                "a device has all four of event_create, event_destroy, event_record and "
                "event_wait, or none");
  static_assert(event_functions<D> == 4 || !has_event_elapsed<D>,
                "a device with event_elapsed has the other event functions");
  static_assert(capture_functions<D> == 0 || capture_functions<D> == 4,
                "a device has all four capture functions, or none");
  gantry_device_table table{};
  table.struct_size = sizeof table;
  table.flags = D::identity.flags;
  table.name = D::identity.name;
  table.type = D::identity.type;
  add_memory<P, D>(table);
  add_further_memory<P, D>(table);
  add_streams<P, D>(table);
  if constexpr (event_functions<D> != 0) add_events<P, D>(table);
  if constexpr (capture_functions<D> != 0) add_capture<P, D>(table);
  add_completion<P, D>(table);
  add_native<P, D>(table);
  return table;
}

}  // namespace detail

// P is the plugin's class, D the device's.
template <class P, class D>
inline constexpr gantry_device_table device_table = detail::make_device_table<P, D>();

}  // namespace gantry
