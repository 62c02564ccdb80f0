// SPDX-License-Identifier: Apache-2.0
//
// Calls of the functions of packed.so.
#pragma once

#include "tests/unit/native/host_world.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace gantry::test {

inline constexpr char packed_location[] = "entry 0 \"_lib\" of packed.so";

class PackedCall : public ::testing::Test {
 protected:
  HostWorld world;
  Ref<ModuleNode> node = world.load_whole(fixture("packed.so"));

  std::string message_of(const Result<Value>& result) {
    return result.ok() ? "it succeeds" : result.error().message;
  }
  std::string refused_in(const std::string& what, const std::string& function) {
    return what + "\n  in host function \"" + function + "\" of " + packed_location;
  }
};

inline gantry_value value_of_kind(std::int32_t kind) {
  gantry_value value{};
  value.kind = kind;
  return value;
}

inline gantry_value small(std::int32_t kind, std::uint32_t size, const char* text) {
  gantry_value value = value_of_kind(kind);
  value.small_size = size;
  std::memcpy(value.small, text, 8);
  return value;
}

}  // namespace gantry::test
