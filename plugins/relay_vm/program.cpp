// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "decoder.hpp"

#include <gantry/device_name.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace gantry::relay {

Result<Program> Decoder::decode() {
  program_.packed_functions = code_.packed_functions;
  GANTRY_CHECK(read_devices());
  GANTRY_CHECK(place_functions());
  GANTRY_CHECK(read_constant_devices());
  program_.instructions.reserve(code_.instructions.size());
  for (std::uint32_t i = 0; i < code_.functions.size(); ++i) {
    if (Status decoded = decode_function(i); !decoded.ok())
      return in_function(std::move(decoded).error(), i);
  }
  return std::move(program_);
}

Error Decoder::in_function(Error error, std::uint32_t index) const {
  return std::move(error).at("in function ", index, " ", quoted(code_.functions[index].name));
}

Status Decoder::read_devices() {
  program_.devices = code_.virtual_devices;
  if (!has_virtual_devices()) {
    // The host has to be the CPU; other types are added as they are found.
    program_.devices = {{cpu_device_type, 0, {}}};
    return {};
  }
  const std::size_t count = program_.devices.size();
  if (code_.host_device < 0 || static_cast<std::size_t>(code_.host_device) >= count) {
    return refuse_code(code_.host_at, "host device is ", code_.host_device,
                       ", virtual device count is ", count);
  }
  program_.host_device = static_cast<std::uint32_t>(code_.host_device);
  return {};
}

Result<std::uint32_t> Decoder::device_of(std::int64_t field, std::uint64_t at,
                                         std::string_view what) {
  if (has_virtual_devices()) {
    const std::size_t count = program_.devices.size();
    if (field >= 0 && static_cast<std::uint64_t>(field) < count)
      return static_cast<std::uint32_t>(field);
    return refuse_code(at, what, " is ", field, ", virtual device count is ", count);
  }
  // TVM of v0.8 has numbers up to 16 or so.
  constexpr std::int64_t max_type = 1 << 16;
  if (field < 1 || field > max_type)
    return refuse_code(at, what, " has type ", field, ", range is 1 to ", max_type);
  const auto type = static_cast<std::int32_t>(field);
  const auto found = std::ranges::find(program_.devices, type, &RelayDevice::type);
  const auto index = static_cast<std::uint32_t>(found - program_.devices.begin());
  if (found == program_.devices.end()) program_.devices.push_back({type, 0, {}});
  return index;
}

Status Decoder::read_constant_devices() {
  for (std::size_t i = 0; i < code_.devices.size(); ++i) {
    const std::uint64_t at = code_.devices_end - 8 * (code_.devices.size() - i);
    auto device = device_of(code_.devices[i], at, "device of a constant");
    if (!device.ok()) return std::move(device).error().at("in constant ", i);
    program_.constant_devices.push_back(*device);
  }
  return {};
}

// The index of a function is that of its name among the globals.
Status Decoder::place_functions() {
  std::map<std::string_view, std::uint32_t> global_of;
  for (std::uint32_t i = 0; i < code_.globals.size(); ++i) {
    if (!global_of.emplace(code_.globals[i], i).second)
      return refuse_code(code_.globals_at, "global ", i, " has the name ", quoted(code_.globals[i]),
                         " of another one");
  }
  for (const auto& [name, index] : global_of) program_.by_name.push_back(index);
  if (code_.functions.size() != code_.globals.size()) {
    return refuse_code(code_.functions_at, "code has ", code_.functions.size(),
                       " functions, global count is ", code_.globals.size());
  }
  program_.functions.resize(code_.functions.size());
  std::vector<bool> is_placed(code_.functions.size(), false);
  for (std::uint32_t i = 0; i < code_.functions.size(); ++i) {
    const RelayFunction& function = code_.functions[i];
    const auto found = global_of.find(function.name);
    if (found == global_of.end() || is_placed[found->second]) {
      return in_function(
          refuse_code(function.at, found == global_of.end() ? "name is not one of the globals"
                                                            : "name is that of another function"),
          i);
    }
    is_placed[found->second] = true;
    global_of_function_.push_back(found->second);
    Status described = describe_function(function, program_.functions[found->second]);
    if (!described.ok()) return in_function(std::move(described).error(), i);
  }
  return {};
}

Status Decoder::describe_function(const RelayFunction& function, FunctionCode& to) {
  to.name = function.name;
  to.params = function.params;
  if (function.register_count > max_registers) {
    return refuse_code(function.at, "register count is ", function.register_count, ", maximum is ",
                       max_registers);
  }
  to.register_count = static_cast<std::uint32_t>(function.register_count);
  to.register_count_in_file = to.register_count;
  if (function.params.size() > to.register_count) {
    return refuse_code(function.at, "parameter count is ", function.params.size(),
                       ", register count is ", to.register_count);
  }
  if (function.param_devices.size() != function.params.size()) {
    return refuse_code(function.at, "parameter devices are ", function.param_devices.size(),
                       ", expected ", function.params.size());
  }
  for (const std::int64_t field : function.param_devices) {
    GANTRY_TRY(const std::uint32_t device, device_of(field, function.at, "device of a parameter"));
    to.param_devices.push_back(device);
  }
  if (function.instruction_count == 0)
    return refuse_code(function.at, "function has no instructions");
  to.begin = function.first_instruction;
  to.end = function.first_instruction + function.instruction_count;
  return {};
}

std::optional<std::uint32_t> Program::find(std::string_view function) const {
  const auto name_of_index = [&](std::uint32_t index) { return functions[index].name; };
  const auto found = std::ranges::lower_bound(by_name, function, {}, name_of_index);
  if (found == by_name.end() || name_of_index(*found) != function) return std::nullopt;
  return *found;
}

Result<Program> decode(const RelayCode& code) { return Decoder(code).decode(); }

}  // namespace gantry::relay
