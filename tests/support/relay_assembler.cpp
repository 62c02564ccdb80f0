// SPDX-License-Identifier: Apache-2.0
#include "tests/support/relay_assembler.hpp"

#include "tests/support/payload_blob.hpp"

#include <gantry/array_record.hpp>

#include <cstring>

namespace gantry::test {
namespace {

int minor_of(const std::string& version) { return std::stoi(version.substr(2)); }

// As serialize_utils.h of TVM describes it; core/formats has another implementation.
std::int64_t hash_of(const std::vector<std::int64_t>& words) {
  std::uint64_t hash = static_cast<std::uint64_t>(words.at(0));
  for (std::size_t i = 1; i < words.size(); ++i) {
    hash ^= static_cast<std::uint64_t>(words[i]) + 0x9e3779b9u + (hash << 6) + (hash >> 2);
  }
  return static_cast<std::int64_t>(hash);
}

void write_texts(Words& to, const std::vector<std::string>& texts) {
  to.u64(texts.size());
  for (const std::string& text : texts) to.str(text);
}

}  // namespace

gantry_blob RelayPayload::blob(gantry_object* pin) const {
  return payload_blob(bytes.bytes(), -1, true, pin);
}

RelayAssembler::RelayAssembler(std::string release)
    : version(std::move(release)),
      has_devices(minor_of(version) >= 9),
      has_scopes(minor_of(version) >= 14),
      has_tags(minor_of(version) >= 9) {}

std::int64_t RelayAssembler::packed(std::string_view name) {
  packed_functions.emplace_back(name);
  return static_cast<std::int64_t>(packed_functions.size()) - 1;
}

std::int64_t RelayAssembler::device(std::int32_t type, std::int32_t index, std::string_view scope) {
  devices.push_back({type, index, std::string(scope)});
  return static_cast<std::int64_t>(devices.size()) - 1;
}

// Code without virtual devices has device types; that of the CPU is 1.
std::int64_t RelayAssembler::function(std::string_view name, std::vector<std::string> params,
                                      std::int64_t registers) {
  globals.emplace_back(name);
  const std::vector<std::int64_t> param_devices(params.size(), has_devices ? 0 : 1);
  functions.push_back(
      {std::string(name), std::to_string(registers), "", std::move(params), param_devices, {}});
  return static_cast<std::int64_t>(functions.size()) - 1;
}

std::int64_t RelayAssembler::array(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                                   std::span<const std::uint8_t> data) {
  Words record;
  record.u64(array_record_magic).u64(0).i32(1).i32(0).i32(static_cast<std::int32_t>(shape.size()));
  record.u8(dtype.code).u8(dtype.bits).u16(dtype.lanes);
  for (const std::int64_t extent : shape) record.i64(extent);
  record.u64(data.size()).bytes(data);
  constants.push_back({0, std::move(record), has_devices ? 0 : 1});
  return static_cast<std::int64_t>(constants.size()) - 1;
}

std::int64_t RelayAssembler::floats(const std::vector<std::int64_t>& shape,
                                    const std::vector<float>& values) {
  const Words data = Words().raw(values.data(), values.size() * sizeof(float));
  return array(dtypes::float32, shape, data.bytes());
}

std::int64_t RelayAssembler::integer(std::int64_t number) {
  return array(dtypes::int64, {}, Words().i64(number).bytes());
}

std::int64_t RelayAssembler::integers(const std::vector<std::int64_t>& numbers) {
  Words data;
  for (const std::int64_t number : numbers) data.i64(number);
  return array(dtypes::int64, {static_cast<std::int64_t>(numbers.size())}, data.bytes());
}

std::int64_t RelayAssembler::late(std::string_view name) {
  constants.push_back({1, Words().str(name), 0});
  return static_cast<std::int64_t>(constants.size()) - 1;
}

void RelayAssembler::load_const(std::int64_t constant, std::int64_t dst) {
  if (has_scopes) {
    add({11, constant, 0, dst});
  } else {
    add({11, constant, dst});
  }
}

void RelayAssembler::alloc_storage(std::int64_t size_register, gantry_dtype dtype,
                                   std::int64_t device, std::int64_t dst,
                                   const std::vector<std::int64_t>& shape) {
  if (has_scopes) {
    add({16, size_register, 64, dtype.code, dtype.bits, dtype.lanes, device, size(shape), dst},
        shape);
  } else {
    add({16, size_register, 64, dtype.code, dtype.bits, dtype.lanes, device, dst});
  }
}

void RelayAssembler::tensor(gantry_dtype dtype, const std::vector<std::int64_t>& shape,
                            std::int64_t bytes, std::int64_t first, std::int64_t dst,
                            std::int64_t device) {
  load_const(integer(bytes), first);
  load_const(integer(0), first + 1);
  const std::int64_t cpu = has_devices ? 0 : 1;
  alloc_storage(first, dtype, device == -1 ? cpu : device, first + 2);
  alloc_tensor(first + 2, first + 1, dtype, shape, dst);
}

void RelayAssembler::add(std::vector<std::int64_t> words, const std::vector<std::int64_t>& list) {
  words.insert(words.end(), list.begin(), list.end());
  functions.back().instructions.push_back(std::move(words));
}

RelayPayload RelayAssembler::payload() const {
  RelayPayload payload;
  Words code;
  const auto here = [&] { return sizeof(std::uint64_t) + code.size(); };
  code.u64(0xD225DE2F4214151D).str(version);
  if (has_devices) {
    code.u64(devices.size());
    for (const RelayDeviceText& device : devices) {
      code.i32(device.type).i32(device.index);
      if (has_scopes) code.str(device.scope);
    }
    payload.host_at = here();
    code.i32(host_device);
  }
  payload.globals_at = here();
  write_texts(code, globals);
  payload.constants_at = here();
  code.u64(constants.size());
  for (const RelayConstantText& constant : constants) {
    payload.constant_at.push_back(here());
    if (has_tags) code.u32(constant.tag);
    code.bytes(constant.content.bytes());
  }
  code.u64(constants.size());
  payload.constant_devices_at = here();
  for (const RelayConstantText& constant : constants) code.i64(constant.device);
  write_texts(code, packed_functions);
  if (has_attributes) {
    code.u64(packed_functions.empty() ? 0 : 1);
    if (!packed_functions.empty()) code.u64(0).u64(1).str("hash").str("12");
  }
  payload.functions_at = here();
  code.u64(functions.size());
  for (const RelayFunctionText& function : functions) {
    payload.function_at.push_back(here());
    const std::string count = function.instruction_count.empty()
                                  ? std::to_string(function.instructions.size())
                                  : function.instruction_count;
    write_texts(code, {function.name, function.register_count, count});
    write_texts(code, function.params);
    code.u64(function.param_devices.size());
    for (const std::int64_t device : function.param_devices) code.i64(device);
    auto& instruction_at = payload.instruction_at.emplace_back();
    for (const std::vector<std::int64_t>& words : function.instructions) {
      instruction_at.push_back(here());
      code.u64(words.size() + 1).i64(hash_of(words) + hash_change);
      for (const std::int64_t word : words) code.i64(word);
    }
  }
  payload.bytes.u64(code.size()).bytes(code.bytes());
  return payload;
}

}  // namespace gantry::test
