// SPDX-License-Identifier: Apache-2.0
//
// A plugin that is part of the test program: type keys "test.block" (its payload begins with its own length, which no
// manifest declares) and "test.broken", and a device "test_npu" that computes in host memory.
#pragma once

#include <gantry/gantry.h>

#include <functional>
#include <string>

namespace gantry::test {

const gantry_plugin_table* query_program_plugin(const gantry_host_info* host,
                                                gantry_status* status);

// What the plugin saw and is told to do; reset() before each test. One thread.
struct ProgramPlugin {
  // of the newest instance
  const gantry_host* host = nullptr;
  // alive now
  int instances = 0;
  // alive now
  int modules = 0;
  int loads = 0;
  bool last_was_exact = false;
  // host->device_type("test_npu") at create
  std::int32_t device_number = 0;
  // added to `consumed`
  std::uint64_t lie = 0;
  // success without one
  bool no_module = false;
  // so many times create() fails
  int refusals = 0;
  // on its device, in use now
  int blocks = 0;
  // blocks freed after the last instance was destroyed
  int late_frees = 0;
  // The function "call" of a "test.block" module.
  std::function<gantry_code(const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                            gantry_status*)>
      call;
};
ProgramPlugin& program_plugin();

}  // namespace gantry::test
