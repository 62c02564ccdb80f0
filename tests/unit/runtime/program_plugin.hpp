// SPDX-License-Identifier: Apache-2.0
//
// A plugin that is part of the test program: type keys "test.block" (the payload begins with its
// length, but no manifest declares this layout), "test.broken" and "test.unit" (as "test.block", but
// its modules run on the plugin's device and are loaded in parallel), and a device "test_npu" that
// uses host memory.
#pragma once

#include <gantry/gantry.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gantry::test {

const gantry_plugin_table* query_program_plugin(const gantry_host_info* host,
                                                gantry_status* status);

// What the plugin recorded and how it behaves. Call reset() before each test. One thread.
struct ProgramPlugin {
  // host of the newest instance
  const gantry_host* host = nullptr;
  // alive now
  int instances = 0;
  // alive now
  int modules = 0;
  int loads = 0;
  bool last_was_exact = false;
  // the last payload; only its numbers stay valid
  gantry_blob last{};
  std::string last_key, last_origin;
  // called by create()
  std::function<void()> creating;
  // called by destroy()
  std::function<void()> destroying;
  // called by load_binary
  std::function<void()> loading;
  // of its device
  std::int32_t count = 2;
  // of check_binary
  std::int32_t verdict = GANTRY_VERDICT_USABLE;
  // host->device_type("test_npu") at create
  std::int32_t device_number = 0;
  // added to `consumed`
  std::uint64_t lie = 0;
  // return success without a module
  bool no_module = false;
  // number of times that create() fails
  int refusals = 0;
  // blocks on its device that are in use
  int blocks = 0;
  // blocks freed after the last instance was destroyed
  int late_frees = 0;
  // index of each synchronized device
  std::vector<std::int32_t> synchronized;
  // synchronize fails
  bool is_lost = false;
  std::string call_name = "call";
  // The function of that name of a "test.block" module.
  std::function<gantry_code(const gantry_env*, const gantry_value*, std::int32_t, gantry_value*,
                            gantry_status*)>
      call;
};
ProgramPlugin& program_plugin();

}  // namespace gantry::test
