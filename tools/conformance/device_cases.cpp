// SPDX-License-Identifier: Apache-2.0
//
// Cases 73 to 78: the plugin's devices.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/stage.hpp"

#include <gantry/abi_boundary.hpp>

#include <functional>
#include <random>

namespace gantry::kit {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
constexpr int kGraphs = 100;

// A device of the plugin on this host.
class TestedDevice {
 public:
  explicit TestedDevice(const Device& device, std::int32_t count)
      : device_(device), count_(count) {}

  const gantry_device_table& table() const { return *device_.table; }
  void* self() const { return device_.self; }
  std::int32_t count() const { return count_; }
  std::string name() const { return device_.name; }
  bool is_opaque() const { return (table().flags & GANTRY_DEVICE_OPAQUE_DATA) != 0; }
  gantry_location at(void* data, std::uint64_t offset = 0) const {
    return {data, offset, {device_.type, 0}};
  }

  // Calls a function of the table.
  template <class Make>
  Status operator()(std::string_view what, Make make) const {
    StatusBuffer status;
    const gantry_code code =
        status.call([&](gantry_status* failure) { return make(table(), self(), failure); });
    if (code == GANTRY_OK) return {};
    Error error = status.error(code, what);
    return std::move(error.at("in ", what, " of device ", name()));
  }

  Result<void*> alloc(std::uint64_t size, std::uint64_t alignment = 64) const {
    gantry_alloc what{};
    what.struct_size = sizeof what;
    what.size = size;
    what.alignment = alignment;
    what.dtype = {1, 8, 1};
    void* data = nullptr;
    GANTRY_CHECK((*this)("alloc", [&](const auto& t, void* s, gantry_status* failure) {
      return t.alloc(s, 0, &what, &data, failure);
    }));
    return data;
  }
  void free(void* data) const { table().free(self(), 0, data); }
  Status copy(const gantry_location& from, const gantry_location& to, std::uint64_t size,
              void* stream = nullptr, std::uint32_t flags = GANTRY_COPY_BLOCKING) const {
    gantry_copy what{};
    what.struct_size = sizeof what;
    what.flags = flags;
    what.from = from;
    what.to = to;
    what.size = size;
    return (*this)("copy", [&](const auto& t, void* s, gantry_status* failure) {
      return t.copy(s, 0, &what, stream, failure);
    });
  }
  Status synchronize(void* stream = nullptr) const {
    return (*this)("synchronize", [&](const auto& t, void* s, gantry_status* failure) {
      return t.synchronize(s, 0, stream, failure);
    });
  }
  // nullopt: the device does not have the attribute.
  Result<std::optional<std::int64_t>> number(std::int32_t kind) const {
    gantry_value value{};
    const Status called = (*this)("attribute", [&](const auto& t, void* s, gantry_status* failure) {
      return t.attribute(s, 0, kind, &value, failure);
    });
    if (called.ok() && value.kind == GANTRY_INT) return std::optional(value.i);
    if (called.ok() && value.kind >= GANTRY_OBJECT) gantry_release(value.object);
    return std::optional<std::int64_t>();
  }

 private:
  const Device& device_;
  std::int32_t count_;
};

gantry_location in_host(const void* data, std::uint64_t offset = 0) {
  return {const_cast<void*>(data), offset, {kCpu, 0}};
}

std::vector<std::uint8_t> bytes_with_pattern(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Runs a check for each kind of device of which this host has one.
Status for_each_device(Subject& subject, const std::function<Status(const TestedDevice&)>& check) {
  if (subject.manifest().devices.empty()) return skipped("the plugin has no device");
  GANTRY_TRY(const auto stage, Stage::open(subject));
  bool any = false;
  for (const gantry_device_table& table : stage->plugin().devices) {
    const auto device = stage->state().device(table.name);
    if (!device.ok()) continue;
    std::int32_t count = 0;
    if ((*device)->table->count((*device)->self, &count, nullptr) != GANTRY_OK || count <= 0)
      continue;
    any = true;
    GANTRY_CHECK(check(TestedDevice(**device, count)));
  }
  return any ? Status() : not_run("no device of the plugin is on this host");
}

// Memory of a device, freed with the scope.
class DeviceMemory {
 public:
  static Result<DeviceMemory> make(const TestedDevice& device, std::uint64_t size) {
    GANTRY_TRY(void* const data, device.alloc(size));
    return DeviceMemory(device, data);
  }
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() {
    if (data_ != nullptr) device_.free(data_);
  }
  gantry_location at(std::uint64_t offset = 0) const { return device_.at(data_, offset); }

 private:
  DeviceMemory(const TestedDevice& device, void* data) : device_(device), data_(data) {}
  const TestedDevice& device_;
  void* data_;
};

// 73
Status counts_its_devices(Subject& subject) {
  return for_each_device(subject, [](const TestedDevice& device) -> Status {
    for (int i = 0; i < 10; ++i) {
      std::int32_t again = 0;
      GANTRY_CHECK(device("count", [&](const auto& t, void* s, gantry_status* failure) {
        return t.count(s, &again, failure);
      }));
      if (again != device.count())
        return bug("device ", device.name(), " counts ", device.count(), ", then ", again);
    }
    for (const std::int32_t index : {-1, device.count(), INT32_MAX, INT32_MIN}) {
      gantry_value value{};
      const Status named = device("attribute", [&](const auto& t, void* s, gantry_status* failure) {
        return t.attribute(s, index, GANTRY_ATTRIBUTE_DEVICE_NAME, &value, failure);
      });
      // NOT_FOUND: a device without names.
      const bool refused = !named.ok() && (named.error().code == Code::invalid ||
                                           named.error().code == Code::not_found ||
                                           named.error().code == Code::unsupported);
      if (!refused)
        return bug("attribute of device ", device.name(), ":", index, " returns ",
                   named.ok() ? "ok" : name_of(named.error().code), ", expected invalid");
      gantry_alloc what{};
      what.struct_size = sizeof what;
      what.size = 64;
      what.alignment = 64;
      what.dtype = {1, 8, 1};
      void* data = nullptr;
      const Status made = device("alloc", [&](const auto& t, void* s, gantry_status* failure) {
        return t.alloc(s, index, &what, &data, failure);
      });
      if (made.ok() || made.error().code != Code::invalid)
        return bug("alloc on device ", device.name(), ":", index, " returns ",
                   made.ok() ? "ok" : name_of(made.error().code), ", expected invalid");
    }
    return {};
  });
}

// 74
Status allocates(Subject& subject) {
  return for_each_device(subject, [](const TestedDevice& device) -> Status {
    for (const std::uint64_t size : {0, 1, 4097}) {
      for (std::uint64_t alignment = 1; alignment <= 4096; alignment *= 2) {
        GANTRY_TRY(void* const data, device.alloc(size, alignment));
        const bool aligned = reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
        device.free(data);
        if (!aligned && !device.is_opaque())
          return bug("alloc of ", size, " bytes on ", device.name(), " is not aligned to ",
                     alignment);
      }
    }
    const auto huge = device.alloc(std::uint64_t{1} << 60);
    if (huge.ok()) {
      device.free(*huge);
      return bug("alloc of 2^60 bytes on ", device.name(), " succeeds");
    }
    if (huge.error().code != Code::exhausted)
      return bug("alloc of 2^60 bytes on ", device.name(), " fails as ", name_of(huge.error().code),
                 ", expected exhausted");
    device.free(nullptr);
    // It is still usable.
    GANTRY_TRY(const DeviceMemory after, DeviceMemory::make(device, 4096));
    return {};
  });
}

// 75
Status copies(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    constexpr std::size_t size = 10'000;
    const std::vector<std::uint8_t> source = bytes_with_pattern(size, seed);
    GANTRY_TRY(const DeviceMemory a, DeviceMemory::make(device, size));
    GANTRY_TRY(const DeviceMemory b, DeviceMemory::make(device, size));
    std::vector<std::uint8_t> found(size, 0), wanted(size, 0);
    // The whole, through two buffers of the device.
    GANTRY_CHECK(device.copy(in_host(source.data()), a.at(), size));
    GANTRY_CHECK(device.copy(a.at(), b.at(), size));
    GANTRY_CHECK(device.copy(b.at(), in_host(found.data()), size));
    if (found != source) return bug("a copy through device ", device.name(), " changes bytes");
    // Parts at offsets that are no multiples of anything.
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> on_device = source;
    for (int k = 0; k < 100; ++k) {
      const std::size_t part = random() % 257;
      const std::size_t from = random() % (size - part), to = random() % (size - part);
      if (k % 2 == 0) {
        GANTRY_CHECK(device.copy(in_host(source.data(), from), b.at(to), part));
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), part,
                    on_device.begin() + static_cast<std::ptrdiff_t>(to));
      } else {
        GANTRY_CHECK(device.copy(a.at(from), b.at(to), part));
        std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), part,
                    on_device.begin() + static_cast<std::ptrdiff_t>(to));
      }
    }
    GANTRY_CHECK(device.copy(b.at(), in_host(found.data()), size));
    if (found != on_device)
      return bug("copies of parts on device ", device.name(), " give other bytes, with seed ",
                 seed);
    GANTRY_CHECK(device.copy(in_host(source.data()), a.at(), 0));
    return {};
  });
}

struct DeviceStream {
  const TestedDevice& device;
  void* stream = nullptr;
  explicit DeviceStream(const TestedDevice& of) : device(of) {
    if (device.table().stream_create(device.self(), 0, 0, &stream, nullptr) != GANTRY_OK)
      stream = nullptr;
  }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream() {
    if (stream != nullptr) device.table().stream_destroy(device.self(), 0, stream);
  }
};

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
  const gantry_device_table& table = device.table();
  void* event = nullptr;
  const bool has_events = table.event_create(device.self(), 0, 0, &event, nullptr) == GANTRY_OK;
  const auto run = [&]() -> Status {
    void* last = streams[0].stream;
    GANTRY_CHECK(device.copy(in_host(source.data()), buffers[0].at(), size, last, 0));
    std::size_t at = 0;
    for (int k = 0; k < 8; ++k) {
      void* const next = streams[random() % std::size(streams)].stream;
      if (next != last && has_events) {
        GANTRY_CHECK(device("event_record", [&](const auto& t, void* s, gantry_status* failure) {
          return t.event_record(s, 0, event, last, failure);
        }));
        GANTRY_CHECK(device("event_wait", [&](const auto& t, void* s, gantry_status* failure) {
          return t.event_wait(s, 0, event, next, failure);
        }));
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
  for (const DeviceStream& each : streams) (void)device.synchronize(each.stream);
  if (has_events) table.event_destroy(device.self(), 0, event);
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

// 78
Status accounts_for_memory(Subject& subject) {
  return for_each_device(subject, [](const TestedDevice& device) -> Status {
    GANTRY_TRY(const auto before, device.number(GANTRY_ATTRIBUTE_ALLOCATED_BYTES));
    if (!before) return skipped("device ", device.name(), " has no attribute 1000");
    {
      GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, 3 * kMib));
      GANTRY_TRY(const auto during, device.number(GANTRY_ATTRIBUTE_ALLOCATED_BYTES));
      if (*during < *before + static_cast<std::int64_t>(3 * kMib))
        return bug("attribute 1000 of device ", device.name(), " is ", *during,
                   " after an alloc of 3 MiB, and ", *before, " before it");
    }
    GANTRY_CHECK(device.synchronize());
    GANTRY_TRY(const auto after, device.number(GANTRY_ATTRIBUTE_ALLOCATED_BYTES));
    if (*after <= *before + static_cast<std::int64_t>(kMib)) return {};
    return bug("attribute 1000 of device ", device.name(), " is ", *after, " after free, and ",
               *before, " before alloc");
  });
}

constexpr Case kDeviceCases[] = {
    {73, Level::D, Weight::must, "counts-its-devices",
     "the count is stable; attribute and alloc with an index that is out of range are INVALID",
     "enumerate devices once, and compare the index with 0 and the count", counts_its_devices},
    {74, Level::D, Weight::must, "allocates",
     "alloc of 0, 1 and 4,097 bytes has each alignment from 1 to 4,096; 2^60 bytes are EXHAUSTED; "
     "free accepts NULL",
     "align as requested, and return EXHAUSTED", allocates},
    {75, Level::D, Weight::must, "copies",
     "copies to, from and within a device, of parts and of 0 bytes, keep every byte",
     "add byte_offset of both sides", copies},
    {76, Level::D, Weight::must, "orders-streams",
     "100 random chains of copies over streams and events run in order",
     "make later work of a stream wait for an event", orders_streams},
    {78, Level::D, Weight::must, "accounts-for-memory",
     "attribute 1000 counts allocated bytes, and returns to its value after free",
     "subtract the size of an allocation in free()", accounts_for_memory},
};

}  // namespace

std::span<const Case> device_cases() { return kDeviceCases; }

}  // namespace gantry::kit
