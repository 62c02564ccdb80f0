// SPDX-License-Identifier: Apache-2.0
//
// gantry/hardware_id.hpp - what drivers report about the hardware, as the texts of
// GANTRY_ATTRIBUTE_UUID and GANTRY_ATTRIBUTE_PCI_ADDRESS, which are the same for all drivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gantry {

namespace detail {
// Appends the digits of a number.
inline void add_hex(std::string& text, std::uint32_t number, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    text += "0123456789abcdef"[number >> shift & 15u];
}
}  // namespace detail

// "5a0f...": 32 digits in lower case, in the order of the bytes. Empty if all are 0, which drivers
// return for none.
inline std::string uuid_text(std::span<const std::uint8_t, 16> bytes) {
  std::string text;
  std::uint8_t any = 0;
  for (const std::uint8_t byte : bytes) {
    detail::add_hex(text, byte, 2);
    any |= byte;
  }
  return any != 0 ? text : std::string();
}

// "0000:65:00.0"
inline std::string pci_address_text(std::uint32_t domain, std::uint32_t bus, std::uint32_t device,
                                    std::uint32_t function) {
  std::string text;
  detail::add_hex(text, domain, domain > 0xffff ? 8 : 4);
  text += ':';
  detail::add_hex(text, bus, 2);
  text += ':';
  detail::add_hex(text, device, 2);
  text += '.';
  detail::add_hex(text, function, 1);
  return text;
}

}  // namespace gantry
