// SPDX-License-Identifier: Apache-2.0
//
// Code of a module that uses a list with three items.
#pragma once

#include "core/engine/native/value_list.hpp"
#include "core/engine/tensor/tensor.hpp"
#include "tests/unit/native/host_world.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gantry::test {

class ListTest : public ::testing::Test {
 protected:
  ~ListTest() override {
    for (gantry_value& item : list) Value::adopt(item);
  }
  Value tensor() {
    const gantry_tensor like{nullptr, {1, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0};
    return owned_value(tensor_new(world.devices, like, "").value());
  }
  static std::uint64_t references(const gantry_value& value) {
    return value.object->counts & UINT32_MAX;
  }
  const std::string& error() const { return here().error.message.text(); }

  HostWorld world{1};
  std::shared_ptr<Artifact> artifact = artifact_of({"_lib"});
  Ref<ModuleNode> node = node_of(artifact, 0);
  gantry_env env{{1, 0}, nullptr, nullptr, nullptr};
  CpuScope scope{{&world.services, node.get()}, env};
  gantry_value list[3]{};
};

}  // namespace gantry::test
