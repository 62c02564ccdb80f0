// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/devices.hpp"

#include "core/base/near_name.hpp"
#include "core/base/process_end.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/device_name.hpp>
#include <gantry/join.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/quoted.hpp>
#include <gantry/utf8.hpp>

#include <algorithm>

namespace gantry {
namespace {

struct Attribute {
  std::int32_t number;
  const char* name;
};

// source   apache/tvm include/tvm/runtime/device_api.h; gantry/device.h from 1000 on
constexpr Attribute kAttributes[] = {
    {5, "name"},
    {12, "driver_version"},
    {11, "api_version"},
    {4, "compute_version"},
    {10, "gcn_arch"},
    {7, "multiprocessors"},
    {6, "max_clock_khz"},
    {1, "max_threads_per_block"},
    {8, "max_thread_dimensions"},
    {2, "warp_size"},
    {3, "max_shared_memory_per_block_bytes"},
    {9, "max_registers_per_block"},
    {13, "l2_cache_bytes"},
    {14, "total_global_memory_bytes"},
    {15, "available_global_memory_bytes"},
    {16, "image_pitch_alignment"},
    {1000, "allocated_bytes"},
    {GANTRY_ATTRIBUTE_UUID, "uuid"},
    {GANTRY_ATTRIBUTE_PCI_ADDRESS, "pci_address"},
    {GANTRY_ATTRIBUTE_NUMA_NODE, "numa_node"},
    {GANTRY_ATTRIBUTE_VENDOR_ID, "vendor_id"},
    {GANTRY_ATTRIBUTE_PRODUCT_ID, "product_id"},
};

// Converts an attribute, without its name. The object of a value that is neither a number nor a text is not
// accessed, because it may be invalid.
Result<ListedAttribute> listed(gantry_value given) {
  switch (given.kind) {
    case GANTRY_INT:
    case GANTRY_BOOL:
      return ListedAttribute{{}, concat(given.i), true};
    case GANTRY_FLOAT:
      return ListedAttribute{{}, concat(given.f)};
    case GANTRY_STRING:
      if (given.object == nullptr) return bug("a text at address 0").with_reason("RESULT_KIND");
      [[fallthrough]];
    case GANTRY_SMALL_STRING: {
      const Value value = Value::adopt(given);
      gantry_bytes text{};
      gantry_value_bytes(&value.get(), &text);
      const std::string_view shown(text.data, text.size);
      if (is_utf8(shown)) return ListedAttribute{{}, std::string(shown)};
      return invalid("a text that is not UTF-8, ", shown).with_reason("TEXT_UTF8");
    }
    default:
      return bug("a value that is ", kind_text(given.kind), ", expected a number or a text")
          .with_reason("RESULT_KIND");
  }
}

// Returns one attribute of a device, without its name; its text is empty if it does not apply.
Result<ListedAttribute> attribute_of(const Device& device, std::int32_t index,
                                     const Attribute& asked) {
  const std::string function = concat("attribute ", asked.name);
  gantry_value value{};
  const Status read = call_table(device, index, function, [&](gantry_status* said) {
    return device.table->attribute(device.self, index, asked.number, &value, said);
  });
  if (!read.ok()) {
    const Error& error = read.error();
    const bool is_reported = error.reason == "EXCEPTION" || error.reason == "STATUS_CODE" ||
                             error.code == Code::lost || !may_call(device);
    return is_reported ? Result<ListedAttribute>(error) : ListedAttribute();
  }
  auto read_value = listed(value);
  if (read_value.ok()) return read_value;
  Error error = std::move(read_value).error();
  error.message = Message(function, " of ", described(device), " returns ", error.message);
  return error;
}

std::vector<ListedDevice> devices_of(const Device& device, std::vector<Error>& problems) {
  const auto count = device_count(device);
  if (!count.ok()) {
    problems.push_back(count.error());
    return {};
  }
  std::vector<ListedDevice> all;
  for (std::int32_t index = 0; index < *count; ++index) {
    ListedDevice info{device.name, device.type, index, device.plugin, {}, {}};
    for (const Attribute& attribute : kAttributes) {
      auto read = attribute_of(device, index, attribute);
      if (!read.ok()) {
        problems.push_back(read.error());
        // One defect is reported for each device; its other attributes are not read.
        break;
      }
      if (read->text.empty()) continue;
      read->name = attribute.name;
      info.attributes.push_back(*std::move(read));
    }
    all.push_back(std::move(info));
  }
  return all;
}

void find_same(std::vector<ListedDevice>& all) {
  for (ListedDevice& device : all) {
    const std::string_view uuid = device.attribute("uuid");
    if (uuid.empty()) continue;
    for (const ListedDevice& other : all) {
      if (&other != &device && other.attribute("uuid") == uuid)
        device.same_as.push_back(concat(other.name, ":", other.index));
    }
  }
}

// Opens the plugins of these kinds, and returns the devices of all that are open, the CPU first.
std::vector<ListedDevice> list_kinds(RuntimeState& state, const std::vector<std::string>& kinds,
                                     std::vector<Error>& problems) {
  for (const std::string& kind : kinds) {
    const auto opened = state.device(kind);
    if (!opened.ok()) problems.push_back(opened.error());
  }
  std::vector<ListedDevice> all;
  for (const auto& device : state.devices.all()) {
    for (ListedDevice& info : devices_of(*device, problems)) all.push_back(std::move(info));
  }
  find_same(all);
  return all;
}

// The devices for an error. Plugins that have failed are not tried, and reported, again.
std::vector<ListedDevice> other_devices(RuntimeState& state) {
  std::vector<Error> ignored;
  return list_kinds(state, state.plugins->served_devices(), ignored);
}

// Explains that no plugin serves the kind of a device.
Error unknown_device(RuntimeState& state, const std::string& name, Error cause) {
  const auto parsed = parse_device_name(name);
  if (!parsed.ok()) return cause;
  const std::string kind(parsed->kind);
  const std::vector<ListedDevice> found = other_devices(state);
  // The kind exists: the cause states how many devices it has.
  if (std::ranges::find(found, kind, &ListedDevice::name) != found.end()) return cause;
  std::vector<std::string_view> names;
  for (const ListedDevice& device : found) names.push_back(device.name);
  const std::string near = did_you_mean(kind, names);
  Error error =
      fail(cause.code, "device ", quoted(name), " not found", near, "; ", devices_text(state))
          .with_reason(cause.reason);
  // The plugins for a kind that exists on other hosts.
  return dlpack_number(kind) != 0 ? std::move(error).at(cause.message) : error;
}

}  // namespace

std::string_view ListedDevice::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &ListedAttribute::name);
  return found == attributes.end() ? std::string_view() : found->text;
}

Result<gantry_device_id> find_device(RuntimeState& state, std::string_view name) {
  GANTRY_TRY(const DeviceName asked, parse_device_name(name));
  GANTRY_TRY(const auto device, state.device(asked.kind));
  GANTRY_TRY(const gantry_device found, device_at(*device, asked.index, name));
  return found.id;
}

Result<gantry_device> device_of(RuntimeState& state, gantry_device_id id) {
  GANTRY_TRY(const auto found, state.device(id.type));
  return device_at(*found, id.index, concat(found->name, ":", id.index));
}

Status check_not_lost(const RuntimeState& state, gantry_device_id device) {
  const auto* const kind = state.devices.find(device.type);
  return kind != nullptr ? (*kind)->lost->check(device.index) : Status();
}

Result<gantry_device_id> given_device(RuntimeState& state, const std::string& name) {
  auto found = find_device(state, name);
  if (found.ok()) return found;
  return unknown_device(state, name, std::move(found).error());
}

std::string devices_text(RuntimeState& state) {
  return "this host has: " + join(other_devices(state), ", ", [](const ListedDevice& device) {
           return device.type == cpu_device_type ? device.name
                                                 : concat(device.name, ":", device.index);
         });
}

Result<std::int32_t> device_count(const Device& device) {
  if (!may_call(device)) return process_end_error(concat("count of ", described(device)));
  std::int32_t count = 0;
  StatusBuffer status;
  const auto owner = [&] { return described(device); };
  const gantry_code code = call_plugin(
      status, "count", device.plugin, owner,
      [&](gantry_status* said) { return device.table->count(device.self, &count, said); });
  if (code != GANTRY_OK) return status.error(code, concat("count of ", described(device)));
  if (count < 0)
    return bug(described(device), " reports ", count, " devices").with_reason("DEVICE_COUNT");
  return count;
}

Result<gantry_device> device_at(const Device& device, std::int32_t index, std::string_view name) {
  GANTRY_TRY(const std::int32_t count, device_count(device));
  if (index < 0 || index >= count) {
    return not_found("device ", quoted(name), " not found; ", device.name, " has ", count,
                     count == 1 ? " device" : " devices");
  }
  GANTRY_CHECK(device.lost->check(index));
  return gantry_device{device.self, device.table, {device.type, index}};
}

std::vector<ListedDevice> list_devices(RuntimeState& state, std::string_view kind,
                                       std::vector<Error>& problems) {
  const auto opened = state.device(kind);
  if (opened.ok()) return devices_of(**opened, problems);
  problems.push_back(opened.error());
  return {};
}

std::vector<ListedDevice> list_devices(RuntimeState& state, std::vector<Error>& problems) {
  return list_kinds(state, state.plugins->offered_devices(), problems);
}

}  // namespace gantry
