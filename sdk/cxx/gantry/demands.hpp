// SPDX-License-Identifier: Apache-2.0
//
// gantry/demands.hpp - what a device requires of memory: the alignment and padding of tensors, and
// the limit of one allocation; and whether it shares memory with the host.
//
//     GANTRY_TRY(const Demands demands, demands_of(host, device));
//     if (!demands.allow_offset(offset)) ...                // no tensor may begin there
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/device_name.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <bit>
#include <cstdint>
#include <string_view>

namespace gantry {

// GANTRY_ATTRIBUTE_ALIGNMENT, _PADDING and _MAX_ALLOCATION of one device, in bytes, and its
// _SHARED_ADDRESSES.
struct Demands {
  // of addresses, and of byte offsets in handles; a power of two
  std::uint64_t alignment = 1;
  // a tensor has memory up to a multiple of it after its first element
  std::uint64_t padding = 1;
  std::uint64_t max_allocation = UINT64_MAX;
  // kernels use host memory at its address
  bool uses_host_memory = false;
  // the host uses memory of the device at its address, while no work does
  bool is_host_memory = false;

  // Returns the bytes of memory that a tensor of `bytes` requires; UINT64_MAX: more than any memory.
  std::uint64_t padded(std::uint64_t bytes) const {
    const std::uint64_t over = bytes % padding;
    if (over == 0) return bytes;
    return bytes > UINT64_MAX - padding ? UINT64_MAX : bytes - over + padding;
  }
  // True if a tensor may begin so many bytes after the beginning of an allocation. The padding of a
  // tensor before it then ends there.
  bool allow_offset(std::uint64_t byte_offset) const {
    return byte_offset % alignment == 0 && byte_offset % padding == 0;
  }
};

namespace detail {

// Returns the value of GANTRY_ATTRIBUTE_SHARED_ADDRESSES.
//
// returns  BUG    no or-ed number, or of a device with handles (DEVICE_DEMAND)
inline Result<std::uint64_t> shared_addresses(const gantry_device& device,
                                              const gantry_value& value, std::string_view subject) {
  if (value.kind != GANTRY_INT || value.i < 0 || value.i > 3) {
    return bug(subject, ": attribute ", std::int32_t{GANTRY_ATTRIBUTE_SHARED_ADDRESSES}, " is ",
               value.kind == GANTRY_INT ? concat(value.i) : std::string("no number"),
               ", expected 0 to 3")
        .with_reason("DEVICE_DEMAND");
  }
  if (value.i != 0 && (device.table->flags & GANTRY_DEVICE_OPAQUE_DATA) != 0) {
    return bug(subject, ": attribute ", std::int32_t{GANTRY_ATTRIBUTE_SHARED_ADDRESSES}, " is ",
               value.i, ", and its memory has handles, no addresses")
        .with_reason("DEVICE_DEMAND");
  }
  return static_cast<std::uint64_t>(value.i);
}

// Returns an attribute that is a positive number, or GANTRY_ATTRIBUTE_SHARED_ADDRESSES; `absent` if
// the device does not have it.
//
// subject  [in]   of messages: "device npu"
// returns  BUG    another value (DEVICE_DEMAND); the error of the attribute
inline Result<std::uint64_t> read_demand(const gantry_device& device, std::int32_t kind,
                                         std::uint64_t absent, std::string_view subject) {
  if (device.table->attribute == nullptr) return absent;
  gantry_value value{};
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* out) {
    return device.table->attribute(device.self, device.id.index, kind, &value, out);
  });
  if (code == GANTRY_NOT_FOUND || code == GANTRY_UNSUPPORTED) return absent;
  if (code != GANTRY_OK) return status.error(code, concat("attribute of ", subject));
  const Value owned = Value::adopt(value);
  if (kind == GANTRY_ATTRIBUTE_SHARED_ADDRESSES) return shared_addresses(device, value, subject);
  const bool is_aligning = kind == GANTRY_ATTRIBUTE_ALIGNMENT;
  const bool is_number = value.kind == GANTRY_INT && value.i > 0;
  if (is_number && (!is_aligning || std::has_single_bit(static_cast<std::uint64_t>(value.i))))
    return static_cast<std::uint64_t>(value.i);
  return bug(subject, ": attribute ", kind, " is ",
             value.kind == GANTRY_INT ? concat(value.i) : std::string("no number"), ", expected ",
             is_aligning ? "a power of two" : "a positive number of bytes")
      .with_reason("DEVICE_DEMAND");
}

}  // namespace detail

// Reads the demands of a device. They are constant, so that one call for each device is enough.
inline Result<Demands> read_demands(const gantry_device& device, std::string_view subject) {
  const auto read = [&](std::int32_t kind, std::uint64_t absent) {
    return detail::read_demand(device, kind, absent, subject);
  };
  Demands demands;
  GANTRY_TRY(demands.alignment, read(GANTRY_ATTRIBUTE_ALIGNMENT, demands.alignment));
  GANTRY_TRY(demands.padding, read(GANTRY_ATTRIBUTE_PADDING, demands.padding));
  GANTRY_TRY(demands.max_allocation, read(GANTRY_ATTRIBUTE_MAX_ALLOCATION, demands.max_allocation));
  GANTRY_TRY(const std::uint64_t shared, read(GANTRY_ATTRIBUTE_SHARED_ADDRESSES, 0));
  demands.uses_host_memory = (shared & 1) != 0;
  demands.is_host_memory = (shared & 2) != 0;
  return demands;
}

// Returns the demands of a device of any plugin; the CPU has none.
inline Result<Demands> demands_of(const Host& host, gantry_device_id id) {
  if (id.type == cpu_device_type) return Demands();
  GANTRY_TRY(const gantry_device device, host.device(id));
  return read_demands(device, concat("device ", device_text_of(device)));
}

}  // namespace gantry
