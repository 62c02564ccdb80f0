// SPDX-License-Identifier: Apache-2.0
#include "core/formats/stated_devices.hpp"

#include "tests/support/small_graph.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::replaced;
using test::small_graph;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StatedDevices devices_of(std::string_view from, std::string_view to) {
  return stated_devices(
      read_graph_json(replaced(small_graph, std::string(from), std::string(to)), 0).value());
}

TEST(StatedDevices, OfAGraphAreTheDevicesOfAllTensorsOnce) {
  const StatedDevices stated = devices_of("[1,1,1,1]", "[7,0,7,1]");

  EXPECT_THAT(stated.numbers, ElementsAre(0, 1, 7));
  EXPECT_FALSE(stated.are_alternatives);
}

TEST(StatedDevices, AreNoneIfTheGraphNamesNone) {
  EXPECT_THAT(devices_of("\"device_index\":[\"list_int\",[1,1,1,1]],\n", "").numbers, IsEmpty());
}

TEST(StatedDevices, OfAModuleThatIsNoModelAreNone) {
  Entry entry;
  entry.type_key = "opencl";
  const auto stated = read_stated_devices(entry);

  ASSERT_TRUE(stated.ok()) << stated.error().message;
  EXPECT_THAT(stated->numbers, IsEmpty());
}

}  // namespace
}  // namespace gantry
