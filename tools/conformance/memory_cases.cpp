// SPDX-License-Identifier: Apache-2.0
//
// Cases 99 to 106: what a device requires of memory, and its functions for memory that may be NULL.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/device_stream.hpp"

#include <gantry/demands.hpp>

#include <algorithm>
#include <cstdlib>
#include <span>

namespace gantry::kit {
namespace {

Status lacks(const TestedDevice& device, std::string_view function) {
  return skipped("device ", device.name(), " has no ", function);
}

// ---- 99

Result<Demands> demands_of(const TestedDevice& device) {
  return read_demands({device.self(), &device.table(), {device.at(nullptr).device.type, 0}},
                      concat("device ", device.name()));
}

Status obeys_demands(Subject& subject) {
  return for_each_device(subject, [](const TestedDevice& device) -> Status {
    GANTRY_TRY(const Demands demands, demands_of(device));
    bool has_any = false;
    for (const std::int32_t kind :
         {GANTRY_ATTRIBUTE_ALIGNMENT, GANTRY_ATTRIBUTE_PADDING, GANTRY_ATTRIBUTE_MAX_ALLOCATION}) {
      GANTRY_TRY(const auto first, device.number(kind));
      has_any = has_any || first;
      for (int i = 0; i < 10; ++i) {
        GANTRY_TRY(const auto again, device.number(kind));
        if (again != first)
          return bug("attribute ", kind, " of device ", device.name(), " is ", first.value_or(0),
                     ", then ", again.value_or(0));
      }
    }
    if (!has_any) return lacks(device, "demands");
    // As the host allocates it.
    const std::uint64_t bytes = std::min(demands.padded(1000), demands.max_allocation);
    GANTRY_TRY(void* const data,
               device.alloc(bytes, std::max<std::uint64_t>(demands.alignment, 256)));
    device.free(data);
    if (demands.max_allocation == UINT64_MAX) return {};
    const auto huge = device.alloc(demands.max_allocation + 1);
    if (huge.ok()) {
      device.free(*huge);
      return bug("alloc of a byte beyond attribute 1003 succeeds on device ", device.name());
    }
    if (huge.error().code == Code::exhausted) return {};
    return bug("alloc of a byte beyond attribute 1003 on device ", device.name(), " fails as ",
               name_of(huge.error().code), ", expected exhausted");
  });
}

// ---- 100

// Returns what is at the source of a copy, after the copy.
Result<std::vector<std::uint8_t>> copied(const TestedDevice& device, const gantry_location& from,
                                         std::size_t size) {
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
  std::vector<std::uint8_t> found(size);
  GANTRY_CHECK(device.copy(from, memory.at(), size));
  GANTRY_CHECK(device.copy(memory.at(), in_host(found.data()), size));
  return found;
}

// The host reads and writes memory of the device at its address.
Status is_host_memory(const TestedDevice& device, void* address, const gantry_location& there,
                      std::size_t size, std::uint64_t seed) {
  const std::vector<std::uint8_t> first = bytes_with_pattern(size, seed);
  const std::vector<std::uint8_t> second = bytes_with_pattern(size, seed + 1);
  auto* const bytes = static_cast<std::uint8_t*>(address);
  GANTRY_CHECK(device.copy(in_host(first.data()), there, size));
  GANTRY_CHECK(device.synchronize());
  if (!std::equal(first.begin(), first.end(), bytes))
    return bug("the host reads other bytes at the host address of memory of device ",
               device.name());
  std::ranges::copy(second, bytes);
  std::vector<std::uint8_t> found(size);
  GANTRY_CHECK(device.copy(there, in_host(found.data()), size));
  if (found == second) return {};
  return bug("device ", device.name(), " reads other bytes than the host has written");
}

// The device reads and writes host memory as its own.
Status uses_host_memory(const TestedDevice& device, const Demands& demands, std::size_t size,
                        std::uint64_t seed) {
  // With the alignment that the device demands, and no better one.
  const std::uint64_t alignment = std::max<std::uint64_t>(demands.alignment, 64);
  std::vector<std::uint8_t> room(demands.padded(size) + 2 * alignment);
  const auto begin = reinterpret_cast<std::uintptr_t>(room.data());
  std::uint64_t offset = (alignment - begin % alignment) % alignment;
  if ((begin + offset) % (2 * alignment) == 0) offset += alignment;
  const std::span<std::uint8_t> host = std::span(room).subspan(offset, size);
  const gantry_location there = device.at(host.data());

  const std::vector<std::uint8_t> first = bytes_with_pattern(size, seed);
  std::ranges::copy(first, host.begin());
  GANTRY_TRY(const std::vector<std::uint8_t> read, copied(device, there, size));
  if (read != first)
    return bug("device ", device.name(), " reads other bytes from host memory at its address");
  const std::vector<std::uint8_t> second = bytes_with_pattern(size, seed + 1);
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
  GANTRY_CHECK(device.copy(in_host(second.data()), memory.at(), size));
  GANTRY_CHECK(device.copy(memory.at(), there, size));
  GANTRY_CHECK(device.synchronize());
  if (std::ranges::equal(host, second)) return {};
  return bug("device ", device.name(), " writes other bytes to host memory at its address");
}

Status shares_addresses(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    GANTRY_TRY(const Demands demands, demands_of(device));
    if (!demands.uses_host_memory && !demands.is_host_memory)
      return skipped("device ", device.name(), " shares no addresses with the host");
    constexpr std::size_t size = 12'000;
    if (demands.is_host_memory) {
      GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
      GANTRY_CHECK(is_host_memory(device, memory.at().data, memory.at(), size, seed));
    }
    return demands.uses_host_memory ? uses_host_memory(device, demands, size, seed) : Status();
  });
}

// ---- 101

Result<void*> alloc_host(const TestedDevice& device, std::uint64_t size, std::uint64_t alignment) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = alignment;
  what.dtype = {1, 8, 1};
  what.scope = gantry_text(GANTRY_SCOPE_HOST);
  void* data = nullptr;
  GANTRY_CHECK(device("alloc", [&](const auto& t, void* s, gantry_status* failure) {
    return t.alloc(s, 0, &what, &data, failure);
  }));
  return data;
}

// Memory of scope "host", freed with the scope.
struct HostBlock {
  const TestedDevice& device;
  std::uint8_t* data = nullptr;
  HostBlock(const TestedDevice& of, void* at) : device(of), data(static_cast<std::uint8_t*>(at)) {}
  HostBlock(const HostBlock&) = delete;
  HostBlock& operator=(const HostBlock&) = delete;
  ~HostBlock() { device.free(data); }
};

// Copies that do not block, of the whole and of a part, between two host blocks and the device.
Status copies_in_order(const TestedDevice& device, std::uint64_t seed) {
  constexpr std::size_t size = 1 << 20, part = 4097, at = 777;
  GANTRY_TRY(void* const first, alloc_host(device, size, 256));
  const HostBlock sent(device, first);
  GANTRY_TRY(void* const second, alloc_host(device, size, 256));
  const HostBlock received(device, second);
  std::vector<std::uint8_t> expected = bytes_with_pattern(size, seed);
  std::ranges::copy(expected, sent.data);
  std::fill_n(received.data, size, std::uint8_t{0});
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
  GANTRY_CHECK(device.copy(in_host(sent.data), memory.at(), size, nullptr, 0));
  GANTRY_CHECK(device.copy(in_host(sent.data, at), memory.at(), part, nullptr, 0));
  GANTRY_CHECK(device.copy(memory.at(), in_host(received.data), size, nullptr, 0));
  GANTRY_CHECK(device.synchronize());
  std::copy_n(sent.data + at, part, expected.begin());
  if (!std::equal(expected.begin(), expected.end(), received.data))
    return bug("copies from and to memory of scope \"host\" of device ", device.name(),
               " give other bytes");
  // It is freed while copies use it.
  for (int k = 0; k < 8; ++k) {
    GANTRY_TRY(void* const unused, alloc_host(device, size, 256));
    const HostBlock late(device, unused);
    std::fill_n(late.data, size, static_cast<std::uint8_t>(k));
    GANTRY_CHECK(device.copy(in_host(late.data), memory.at(), size, nullptr, 0));
  }
  GANTRY_CHECK(device.copy(memory.at(), in_host(received.data), size));
  if (std::all_of(received.data, received.data + size, [](std::uint8_t byte) { return byte == 7; }))
    return {};
  return bug("memory of scope \"host\" of device ", device.name(), " is freed before its copies");
}

Status copies_host_memory(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    for (const std::uint64_t alignment : {1, 64, 4096}) {
      const auto made = alloc_host(device, 1000, alignment);
      if (!made.ok() && made.error().code == Code::unsupported)
        return lacks(device, "memory of scope \"host\"");
      GANTRY_CHECK(made.ok() ? Status() : Status(made.error()));
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(*made) % alignment == 0;
      // It is an address, also of devices with handles.
      if (is_aligned) std::fill_n(static_cast<std::uint8_t*>(*made), 1000, std::uint8_t{1});
      device.free(*made);
      if (!is_aligned)
        return bug("memory of scope \"host\" of device ", device.name(), " is not aligned to ",
                   alignment);
    }
    return copies_in_order(device, seed);
  });
}

// ---- 102

Result<void*> alloc_in_stream(const TestedDevice& device, std::uint64_t size, void* stream) {
  gantry_alloc what{};
  what.struct_size = sizeof what;
  what.size = size;
  what.alignment = 64;
  what.dtype = {1, 8, 1};
  what.flags = GANTRY_ALLOC_IN_STREAM;
  what.stream = stream;
  void* data = nullptr;
  GANTRY_CHECK(device("alloc", [&](const auto& t, void* s, gantry_status* failure) {
    return t.alloc(s, 0, &what, &data, failure);
  }));
  return data;
}

// Memory is written, copied and freed in one stream, and allocated again, while nothing waits.
Status frees_after_work(const TestedDevice& device, void* stream, std::uint64_t seed) {
  constexpr std::size_t size = 64 << 10;
  const std::vector<std::uint8_t> source = bytes_with_pattern(size, seed);
  const std::vector<std::uint8_t> other = bytes_with_pattern(size, seed + 1);
  GANTRY_TRY(const DeviceMemory result, DeviceMemory::make(device, size));
  for (const auto* content : {&source, &other}) {
    GANTRY_TRY(void* const data, alloc_in_stream(device, size, stream));
    GANTRY_CHECK(device.copy(in_host(content->data()), device.at(data), size, stream, 0));
    // The first content is the result, the second one is in memory that may be the same.
    if (content == &source)
      GANTRY_CHECK(device.copy(device.at(data), result.at(), size, stream, 0));
    const PluginCall record("free_in_stream");
    device.table().free_in_stream(device.self(), 0, data, stream);
  }
  GANTRY_CHECK(device.synchronize(stream));
  std::vector<std::uint8_t> found(size);
  GANTRY_CHECK(device.copy(result.at(), in_host(found.data()), size));
  if (found == source) return {};
  return bug("memory is freed before the work in its stream of device ", device.name());
}

Status frees_in_order(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    if (device.table().free_in_stream == nullptr) return lacks(device, "free_in_stream");
    const DeviceStream stream(device);
    for (std::uint64_t k = 0; k < 50; ++k)
      GANTRY_CHECK(frees_after_work(device, k % 2 == 0 ? nullptr : stream.get(), seed + k));
    return {};
  });
}

// ---- 103

Status trims(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    if (device.table().trim == nullptr) return lacks(device, "trim");
    constexpr std::size_t size = 100'000;
    const std::vector<std::uint8_t> source = bytes_with_pattern(size, seed);
    std::vector<std::uint8_t> found(size);
    for (int k = 0; k < 10; ++k) {
      // Memory that the plugin may keep.
      for (const std::uint64_t bytes : {4096, 1 << 20, 5 << 20}) {
        GANTRY_TRY(const DeviceMemory unused, DeviceMemory::make(device, bytes));
      }
      GANTRY_TRY(const DeviceMemory a, DeviceMemory::make(device, size));
      GANTRY_TRY(const DeviceMemory b, DeviceMemory::make(device, size));
      GANTRY_CHECK(device.copy(in_host(source.data()), a.at(), size));
      {
        GANTRY_TRY(const DeviceMemory between, DeviceMemory::make(device, size));
        GANTRY_CHECK(device.copy(a.at(), between.at(), size, nullptr, 0));
        GANTRY_CHECK(device.copy(between.at(), b.at(), size, nullptr, 0));
      }
      {
        const PluginCall record("trim");
        device.table().trim(device.self(), 0);
      }
      GANTRY_CHECK(device.copy(b.at(), in_host(found.data()), size));
      if (found != source)
        return bug("trim of device ", device.name(), " changes memory that is allocated");
    }
    return {};
  });
}

// ---- 104

Status fill(const TestedDevice& device, const gantry_location& at, std::uint64_t size,
            std::span<const std::uint8_t> pattern, void* stream = nullptr) {
  return device("fill", [&](const auto& t, void* s, gantry_status* failure) {
    return t.fill(s, 0, at.data, at.byte_offset, size, pattern.data(),
                  static_cast<std::uint32_t>(pattern.size()), stream, failure);
  });
}

// Fills parts of memory of known content.
//
// returns  UNSUPPORTED  patterns of this size
Status fills_parts(const TestedDevice& device, std::size_t pattern_size, std::uint64_t seed) {
  constexpr std::size_t size = 4096;
  const std::vector<std::uint8_t> before = bytes_with_pattern(size, seed);
  const std::vector<std::uint8_t> pattern = bytes_with_pattern(pattern_size, seed + 1);
  GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
  for (const std::size_t first : {std::size_t{0}, pattern_size, 7 * pattern_size}) {
    for (const std::size_t count : {0, 1, 3, 500}) {
      const std::size_t bytes = count * pattern_size;
      std::vector<std::uint8_t> expected = before, found(size);
      for (std::size_t i = 0; i < bytes; ++i) expected[first + i] = pattern[i % pattern_size];
      GANTRY_CHECK(device.copy(in_host(before.data()), memory.at(), size));
      GANTRY_CHECK(fill(device, memory.at(first), bytes, pattern));
      GANTRY_CHECK(device.copy(memory.at(), in_host(found.data()), size));
      if (found != expected)
        return bug("fill of ", bytes, " bytes from ", first, " on device ", device.name(),
                   " with a pattern of ", pattern_size, " gives other bytes");
    }
  }
  return {};
}

// A fill, a copy of what it has written, and another fill.
Status fills_in_order(const TestedDevice& device, std::size_t pattern_size) {
  constexpr std::size_t size = 64 << 10;
  GANTRY_TRY(const DeviceMemory a, DeviceMemory::make(device, size));
  GANTRY_TRY(const DeviceMemory b, DeviceMemory::make(device, size));
  const std::vector<std::uint8_t> first(pattern_size, 0x11), second(pattern_size, 0x22);
  GANTRY_CHECK(fill(device, a.at(), size, first));
  GANTRY_CHECK(device.copy(a.at(), b.at(), size, nullptr, 0));
  GANTRY_CHECK(fill(device, a.at(), size, second));
  std::vector<std::uint8_t> found(size);
  GANTRY_CHECK(device.copy(b.at(), in_host(found.data()), size));
  if (std::ranges::all_of(found, [](std::uint8_t byte) { return byte == 0x11; })) return {};
  return bug("fill and copy in one stream of device ", device.name(), " run in another order");
}

Status fills(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    if (device.table().fill == nullptr) return lacks(device, "fill");
    std::size_t supported = 0;
    for (const std::size_t pattern_size : {1, 2, 4}) {
      Status done = fills_parts(device, pattern_size, seed);
      if (!done.ok() && done.error().code == Code::unsupported) continue;
      GANTRY_CHECK(std::move(done));
      supported = pattern_size;
    }
    if (supported == 0)
      return bug("fill of device ", device.name(), " supports no pattern of 1, 2 or 4 bytes");
    return fills_in_order(device, supported);
  });
}

// ---- 105

Status maps(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    if (device.table().host_address == nullptr) return lacks(device, "host_address");
    constexpr std::size_t size = 10'000;
    GANTRY_TRY(const DeviceMemory memory, DeviceMemory::make(device, size));
    void* address = nullptr;
    const Status mapped = device("host_address", [&](const auto& t, void* s, gantry_status* out) {
      return t.host_address(s, 0, memory.at().data, &address, out);
    });
    if (!mapped.ok() && mapped.error().code == Code::unsupported)
      return skipped("the host does not address memory of device ", device.name());
    GANTRY_CHECK(Status(mapped));
    if (address == nullptr) return bug("host_address of device ", device.name(), " returns NULL");
    return is_host_memory(device, address, memory.at(), size, seed);
  });
}

// ---- 106

Result<void*> import(const TestedDevice& device, const gantry_external& what) {
  void* data = nullptr;
  GANTRY_CHECK(device("memory_import", [&](const auto& t, void* s, gantry_status* failure) {
    return t.memory_import(s, 0, &what, &data, failure);
  }));
  return data;
}

Status imports_host_memory(const TestedDevice& device, std::uint64_t seed) {
  // Aligned for every driver.
  constexpr std::size_t page = 65536, size = 2 * page;
  struct Pages {
    std::uint8_t* data = static_cast<std::uint8_t*>(std::aligned_alloc(page, 2 * size));
    ~Pages() { std::free(data); }
  } const pages;
  const std::vector<std::uint8_t> source = bytes_with_pattern(2 * size, seed);
  std::ranges::copy(source, pages.data);
  const gantry_external what{sizeof what, GANTRY_EXTERNAL_HOST, pages.data, -1, page, size};
  GANTRY_TRY(void* const data, import(device, what));
  std::vector<std::uint8_t> found(size),
      expected(source.begin() + page, source.begin() + page + size);
  Status copied = device.copy(device.at(data), in_host(found.data()), size);
  const bool is_same = found == expected;
  const std::vector<std::uint8_t> other = bytes_with_pattern(size, seed + 1);
  std::vector<std::uint8_t> again(size);
  if (copied.ok()) copied = device.copy(in_host(other.data()), device.at(data), size);
  if (copied.ok()) copied = device.copy(device.at(data), in_host(again.data()), size);
  // The driver may have the content elsewhere until then.
  const std::vector<std::uint8_t> before(pages.data, pages.data + 2 * size);
  device.free(data);
  GANTRY_CHECK(std::move(copied));
  GANTRY_CHECK(device.synchronize());
  if (!is_same)
    return bug("the device reads other bytes than the imported ones on device ", device.name());
  if (again != other)
    return bug("imported memory of device ", device.name(), " does not keep what is copied to it");
  if (!std::equal(before.begin(), before.begin() + page, source.begin()) ||
      !std::equal(pages.data, pages.data + page, source.begin()) ||
      !std::equal(pages.data + page + size, pages.data + 2 * size, source.begin() + page + size))
    return bug("memory around the imported part changes on device ", device.name());
  const auto is_one_of = [&](std::uint8_t value, std::size_t i) {
    return value == expected[i] || value == other[i];
  };
  for (std::size_t i = 0; i < size; ++i) {
    if (!is_one_of(pages.data[page + i], i))
      return bug("free changes imported memory of device ", device.name());
  }
  return {};
}

Status imports(Subject& subject) {
  const std::uint64_t seed = subject.options().seed;
  return for_each_device(subject, [=](const TestedDevice& device) -> Status {
    if (device.table().memory_import == nullptr) return lacks(device, "memory_import");
    Status done = imports_host_memory(device, seed);
    if (!done.ok() && done.error().reason != "EXTERNAL_KIND") return done;
    int unused = 0;
    for (const std::int32_t kind : {-1, 0, 99, INT32_MAX}) {
      const auto made = import(device, {sizeof(gantry_external), kind, &unused, -1, 0, 4});
      if (made.ok() || made.error().code != Code::unsupported)
        return bug("memory_import of kind ", kind, " on device ", device.name(), " returns ",
                   made.ok() ? "ok" : name_of(made.error().code), ", expected unsupported");
    }
    return {};
  });
}

constexpr Case kMemoryCases[] = {
    {99, Level::D, Weight::must, "obeys-demands",
     "attributes 1001 to 1003 are constant and positive, 1001 is a power of two; alloc with them "
     "succeeds, and beyond 1003 is EXHAUSTED",
     "read demands from the driver once, and refuse in alloc what they exclude", obeys_demands},
    {100, Level::D, Weight::must, "shares-addresses",
     "attribute 1004 is 0 to 3, 0 for handles; with 1, the device copies host memory at its "
     "address "
     "as its own; with 2, the host reads and writes memory of alloc at its address",
     "report only what the hardware keeps coherent", shares_addresses},
    {101, Level::D, Weight::must, "copies-host-memory",
     "memory of scope \"host\" is at an aligned host address; copies from and to it that do not "
     "block "
     "run in order, and it may be freed while they do",
     "free it after the copies that use it", copies_host_memory},
    {102, Level::D, Weight::must, "frees-in-order",
     "free_in_stream frees memory after the work that is in its stream, while nothing waits",
     "free memory with a command of the stream, or keep it until the stream has passed",
     frees_in_order},
    {103, Level::D, Weight::must, "trims",
     "trim leaves allocated memory and work in streams alone; memory can be allocated after it",
     "return only memory that nothing uses to the driver", trims},
    {104, Level::D, Weight::must, "fills",
     "fill writes patterns of 1, 2 and 4 bytes to exactly its range, in stream order",
     "add byte_offset, and fill whole patterns only", fills},
    {105, Level::D, Weight::must, "maps",
     "at the address of host_address the host reads what the device has, and the device what the "
     "host writes",
     "return the address of the first byte, of coherent memory", maps},
    {106, Level::D, Weight::must, "imports",
     "memory_import over host memory uses its bytes, and free leaves it to its owner; other kinds "
     "are "
     "UNSUPPORTED",
     "add offset to the address, and free only what the import has created", imports},
};

}  // namespace

std::span<const Case> memory_cases() { return kMemoryCases; }

}  // namespace gantry::kit
