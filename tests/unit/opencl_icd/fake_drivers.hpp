// SPDX-License-Identifier: Apache-2.0
//
// Runs the OpenCL plugin with the fake drivers through the real ICD loader.
#pragma once

#include "tests/unit/opencl_icd/fake_icd.hpp"

#include "plugins/opencl/module.hpp"
#include "plugins/opencl/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/opencl/payloads.hpp"

#include <gantry/plugin.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace gantry::opencl::test {

constexpr std::int32_t opencl_2_1 = 0;

// SPIR-V that the fake drivers accept.
inline const std::vector<std::uint32_t> words = {0x07230203, 0x00010000, 0xabcdef01,
                                                 7,          0x80000000, 0};

class FakeDrivers : public ::testing::Test {
 protected:
  void SetUp() override {
    // The ICD loader reads the variable when it first searches.
    setenv("OCL_ICD_VENDORS", GANTRY_FAKE_VENDORS, 1);
    void* const library = dlopen(GANTRY_FAKE_ICD, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    icd = reinterpret_cast<FakeIcdFunction*>(dlsym(library, "gantry_fake_icd"))();
    cl_uint count = 0;
    ASSERT_EQ(clGetPlatformIDs(0, nullptr, &count), CL_SUCCESS);
    ASSERT_EQ(count, 3u);
    icd->reset();
    start();
  }
  void TearDown() override {
    stop();
    if (icd == nullptr) return;
    EXPECT_EQ(icd->pending, 0) << "commands were lost";
    EXPECT_EQ(icd->live, 0) << "a context or a queue was not released";
    icd->reset();
  }
  void start() {
    stop();
    ASSERT_EQ(plugin_table<Plugin>.create(host.table(), &self, nullptr), GANTRY_OK);
  }
  void stop() {
    if (self != nullptr) plugin_table<Plugin>.destroy(self);
    self = nullptr;
  }

  const gantry_loader_table& loader_ = loader_table<Plugin, Module>;
  const gantry_device_table& device_ = device_table<Plugin, DeviceFunctions>;
  gantry::test::FakeHost host;
  FakeIcd* icd = nullptr;
  void* self = nullptr;
};

}  // namespace gantry::opencl::test
