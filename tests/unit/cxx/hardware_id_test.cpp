// SPDX-License-Identifier: Apache-2.0
#include <gantry/hardware_id.hpp>

#include <gtest/gtest.h>

#include <array>

namespace gantry {
namespace {

TEST(HardwareId, IsInLowerCaseDigitsInTheOrderOfItsBytes) {
  const std::array<std::uint8_t, 16> bytes{0xAB, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xF0};

  EXPECT_EQ(uuid_text(bytes), "ab0100000000000000000000000000f0");
}

TEST(HardwareId, OfZeroesIsNone) { EXPECT_EQ(uuid_text(std::array<std::uint8_t, 16>{}), ""); }

TEST(HardwareId, OfPciIsAsTheKernelPrintsIt) {
  EXPECT_EQ(pci_address_text(0, 0x65, 0, 0), "0000:65:00.0");
  EXPECT_EQ(pci_address_text(0xABCD, 0xFF, 0x1F, 7), "abcd:ff:1f.7");
  EXPECT_EQ(pci_address_text(0x10000, 1, 2, 3), "00010000:01:02.3");
}

}  // namespace
}  // namespace gantry
