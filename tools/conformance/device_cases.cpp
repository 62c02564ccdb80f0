// SPDX-License-Identifier: Apache-2.0
//
// Cases 73 to 75, 78 and 112: the plugin's devices and their memory.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/tested_device.hpp"

#include "core/base/text.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

#include <random>

namespace gantry::kit {
namespace {

constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

Status counts_from_0(Subject& subject) {
  if (subject.manifest().devices.empty()) return {};
  GANTRY_TRY(const auto stage, Stage::open(subject));
  for (const gantry_device_table& table : stage->plugin().devices) {
    const auto device = stage->state().device(table.name);
    std::int32_t count = 0;
    const PluginCall record("count");
    if (!device.ok() || (*device)->table->count((*device)->self, &count, nullptr) != GANTRY_OK)
      continue;
    if (count < 0) return bug("device ", table.name, " counts ", count, ", minimum is 0");
  }
  return {};
}

// 73
Status counts_its_devices(Subject& subject) {
  GANTRY_CHECK(counts_from_0(subject));
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

// ---- 112

// The text of an attribute; nullopt: the device does not have it.
Result<std::optional<std::string>> text_of(const TestedDevice& device, std::int32_t index,
                                           std::int32_t kind) {
  gantry_value value{};
  const Status called = device("attribute", [&](const auto& t, void* s, gantry_status* failure) {
    return t.attribute(s, index, kind, &value, failure);
  });
  if (!called.ok() && called.error().code == Code::not_found) return std::optional<std::string>();
  GANTRY_CHECK(Status(called));
  const Value owned = Value::adopt(value);
  if (const auto text = value_text(owned.get())) return std::optional(std::string(*text));
  if (value.kind == GANTRY_INT) return std::optional(concat(value.i));
  return bug("attribute ", kind, " of device ", device.name(), ":", index, " is of kind ",
             value.kind, ", expected a number or a text");
}

bool has_form(std::string_view text, std::string_view form) {
  return text.size() == form.size() &&
         std::equal(text.begin(), text.end(), form.begin(), [](char c, char wanted) {
           const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           return wanted == 'x' ? is_digit : c == wanted;
         });
}

Status check_attribute(std::string_view subject, std::int32_t kind, const std::string& text) {
  constexpr std::string_view uuid = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
  if (kind == GANTRY_ATTRIBUTE_UUID) {
    if (has_form(text, uuid)) return {};
    return bug(subject, " is ", quoted(text), ", expected 32 digits in lower case");
  }
  if (kind == GANTRY_ATTRIBUTE_PCI_ADDRESS) {
    if (has_form(text, "xxxx:xx:xx.x") || has_form(text, "xxxxxxxx:xx:xx.x")) return {};
    return bug(subject, " is ", quoted(text), ", expected a form like \"0000:65:00.0\"");
  }
  const auto number = parse_number<std::int64_t>(text);
  if (!number) return bug(subject, " is ", quoted(text), ", expected a number");
  return *number >= 0 ? Status() : bug(subject, " is ", *number, ", minimum is 0");
}

Status identifies(Subject& subject) {
  bool any = false;
  Status identified = for_each_device(subject, [&](const TestedDevice& device) -> Status {
    for (std::int32_t index = 0; index < device.count(); ++index) {
      for (std::int32_t kind = GANTRY_ATTRIBUTE_UUID; kind <= GANTRY_ATTRIBUTE_PRODUCT_ID; ++kind) {
        GANTRY_TRY(const auto text, text_of(device, index, kind));
        if (!text) continue;
        any = true;
        const std::string name = concat(device.name(), ":", index);
        const std::string attribute = concat("attribute ", kind, " of device ", name);
        GANTRY_CHECK(check_attribute(attribute, kind, *text));
        GANTRY_TRY(const auto again, text_of(device, index, kind));
        if (again != text) return bug(attribute, " is ", *text, ", then another one");
      }
    }
    return {};
  });
  if (!identified.ok() || any) return identified;
  return skipped("no device of the plugin has an attribute from 1010 to 1014");
}

constexpr Case kDeviceCases[] = {
    {73, Level::D, Weight::must, "counts-its-devices",
     "the count is stable; attribute and alloc with an index that is out of range are INVALID",
     "enumerate devices once, and compare the index with 0 and the count", counts_its_devices},
    {74, Level::D, Weight::must, "allocates",
     "alloc of 0, 1 and 4,097 bytes has each alignment from 1 to 4,096; 2^60 bytes are EXHAUSTED; "
     "free accepts NULL",
     "align as requested, and return EXHAUSTED", allocates, "free"},
    {75, Level::D, Weight::must, "copies",
     "copies to, from and within a device, of parts and of 0 bytes, keep every byte",
     "add byte_offset of both sides", copies},
    {78, Level::D, Weight::must, "accounts-for-memory",
     "attribute 1000 counts allocated bytes, and returns to its value after free",
     "subtract the size of an allocation in free()", accounts_for_memory},
    {112, Level::D, Weight::must, "identifies",
     "UUID and PCI address have their form, numbers are not negative, and all are the same each "
     "time",
     "use gantry/hardware_id.hpp, and return NOT_FOUND for what the driver does not know",
     identifies},
};

}  // namespace

std::span<const Case> device_cases() { return kDeviceCases; }

}  // namespace gantry::kit
