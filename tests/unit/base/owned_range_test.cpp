// SPDX-License-Identifier: Apache-2.0
#include "core/base/owned_range.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace gantry {
namespace {

std::uintptr_t address_of(const std::byte* byte) { return reinterpret_cast<std::uintptr_t>(byte); }

TEST(OwnedRange, IsFoundByEachOfItsAddressesInItsScope) {
  std::array<std::byte, 64> bytes{};
  std::optional<OwnedRange> range;
  range.emplace(RangeKind::artifact, std::span(bytes).subspan(16, 32), "model.so");
  FoundRange found;

  EXPECT_FALSE(found.find(address_of(&bytes[15])));
  EXPECT_TRUE(found.find(address_of(&bytes[16])));
  EXPECT_TRUE(found.find(address_of(&bytes[47])));
  EXPECT_FALSE(found.find(address_of(&bytes[48])));
  EXPECT_EQ(found.kind, RangeKind::artifact);
  EXPECT_EQ(found.first, address_of(&bytes[16]));
  EXPECT_STREQ(found.title, "model.so");

  range.reset();
  EXPECT_FALSE(found.find(address_of(&bytes[16])));
}

TEST(OwnedRange, IsTheNewestOneAndMayEndInAnyOrder) {
  std::array<std::byte, 8> bytes{};
  std::array<std::optional<OwnedRange>, 3> ranges;
  ranges[0].emplace(RangeKind::file, bytes, "first");
  ranges[1].emplace(RangeKind::file, bytes, "second");
  ranges[2].emplace(RangeKind::file, bytes, "third");
  FoundRange found;

  for (const auto& [ended, expected] :
       {std::pair{1, "third"}, std::pair{2, "first"}, std::pair{0, ""}}) {
    ranges[static_cast<std::size_t>(ended)].reset();

    EXPECT_EQ(found.find(address_of(bytes.data())), *expected != 0);
    if (*expected != 0) {
      EXPECT_STREQ(found.title, expected);
    }
  }
}

TEST(OwnedRange, HasATitleThatIsCut) {
  std::array<std::byte, 8> bytes{};
  const std::string title(1000, 'x');
  const OwnedRange range(RangeKind::plugin, bytes, title);
  FoundRange found;

  ASSERT_TRUE(found.find(address_of(bytes.data())));

  EXPECT_EQ(found.title, title.substr(0, max_range_title - 1));
}

TEST(LibraryAt, ReturnsTheSegmentsOfTheLibraryThatContainsTheAddress) {
  const void* const function = reinterpret_cast<const void*>(&address_of);

  const auto library = library_at(function);

  ASSERT_FALSE(library.empty());
  EXPECT_GE(function, library.data());
  EXPECT_LT(function, library.data() + library.size());
  EXPECT_TRUE(library_at(nullptr).empty());
}

}  // namespace
}  // namespace gantry
