// SPDX-License-Identifier: Apache-2.0
#include "core/engine/tensor/map.hpp"

#include <gantry/value.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gantry {
namespace {

std::vector<std::int64_t> keys_of(const ObjectPtr& map) {
  std::vector<std::int64_t> keys;
  const auto items = map_items(*map).value();
  for (std::size_t i = 0; i < items.size(); i += 2) keys.push_back(items[i].i);
  return keys;
}

std::vector<gantry_value> squares(std::int64_t count) {
  std::vector<gantry_value> items;
  for (std::int64_t i = count; i-- > 0;) {
    items.push_back(int_value(i));
    items.push_back(int_value(i * i));
  }
  return items;
}

class MapOf : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(MapOf, ReturnsItsPairsInTheirOrder) {
  const std::vector<gantry_value> items = squares(GetParam());

  const ObjectPtr map = new_map(items).value();

  const auto found = map_items(*map).value();
  ASSERT_EQ(found.size(), items.size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(found[i].i, items[i].i);
  const auto& layout = reinterpret_cast<const MapObject&>(*map);
  EXPECT_EQ(layout.count, static_cast<std::uint64_t>(GetParam()));
  EXPECT_EQ((layout.slots & kSmallMap) != 0, GetParam() <= 4);
}

INSTANTIATE_TEST_SUITE_P(Pairs, MapOf, ::testing::Values(0, 1, 4, 5, 16, 17, 1000, 20000),
                         ::testing::PrintToStringParamName());

TEST(Map, TakesTheLastValueOfEqualKeys) {
  for (const std::int64_t others : {1, 20}) {
    std::vector<gantry_value> items = squares(others);
    items.insert(items.end(), {int_value(0), int_value(77)});

    const ObjectPtr map = new_map(items).value();

    const auto found = map_items(*map).value();
    ASSERT_EQ(found.size(), 2 * static_cast<std::size_t>(others));
    EXPECT_EQ(found[found.size() - 1].i, 77);
  }
}

// Keys whose hashes name one slot: their table would need time or memory without a limit, and in a small
// map code of tvm-ffi could not add a pair.
TEST(Map, RefusesKeysThatCollide) {
  // The product with the factor of the hash keeps only its low bits.
  std::vector<gantry_value> items;
  for (std::int64_t i = 0; i < 2000; ++i) {
    gantry_value key{};
    key.kind = GANTRY_SMALL_STRING;
    key.small_size = 7;
    // Texts of 7 bytes that are equal modulo 2^31 - 1.
    key.i = 0x20202020202020 + i * 0x7fffffff;
    items.push_back(key);
    items.push_back(int_value(i));
  }

  const auto map = new_map(items);

  ASSERT_FALSE(map.ok());
  EXPECT_EQ(map.error().code, Code::unsupported);
  EXPECT_EQ(
      map.error().message,
      "map has 2000 pairs, of which more than 32 have keys whose hashes collide in a table of "
      "16384 slots; pass them as an array of pairs");
}

// Code of tvm-ffi that holds the only reference changes a map in place.
TEST(Map, ReadsWhatOtherCodeHasChanged) {
  const ObjectPtr map = new_map(squares(10)).value();
  ASSERT_EQ(keys_of(map).front(), 9);
  auto& layout = reinterpret_cast<MapObject&>(*map);
  auto* const blocks = static_cast<unsigned char*>(layout.data);
  const std::uint64_t slot = layout.first;
  auto* const entry =
      reinterpret_cast<gantry_value*>(blocks + slot / 16 * 784 + 16 + slot % 16 * 48);
  ASSERT_EQ(entry[0].i, 9);

  entry[1] = int_value(1234);

  EXPECT_EQ(map_items(*map).value()[1].i, 1234);
}

TEST(Map, RefusesAListOfEntriesThatLeavesItsBlocks) {
  const ObjectPtr map = new_map(squares(10)).value();
  auto& layout = reinterpret_cast<MapObject&>(*map);

  layout.first = layout.slots;

  const auto items = map_items(*map);
  ASSERT_FALSE(items.ok());
  EXPECT_EQ(items.error().code, Code::malformed);
  EXPECT_EQ(items.error().message, "pair 0 of a map is in slot 32 of 32");
}

}  // namespace
}  // namespace gantry
