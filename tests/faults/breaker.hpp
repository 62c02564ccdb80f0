// SPDX-License-Identifier: Apache-2.0
//
// A plugin that breaks one rule of the ABI at a time, as the test says: type key "test.break", device "breaker".
#pragma once

#include <gantry/gantry.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace gantry::test {

struct Breaker {
  std::string throws_in;  // the function that throws: "create", "load_binary", "call", ...
  std::string says;  // what create, load_binary or call say when they fail; empty: they succeed
  gantry_code code = GANTRY_UNAVAILABLE;                  // with which they fail
  std::string fails_in;                                   // the function that fails so
  const gantry_module_table* module_table = nullptr;      // instead of the right one
  const gantry_function_table* function_table = nullptr;  // instead of the right one
  bool function_without_table = false;
  const gantry_device_table* device_table = nullptr;  // instead of the right one
  const char* loader_device = nullptr;                // the kind of device that the loader names
  std::uint32_t loader_flags = 0;
  bool writes_although_it_fails = false;  // the function of fails_in fills its output
  std::optional<const gantry_function_info*>
      function_info;           // list_functions gives it as its only one
  std::int64_t consumed = -1;  // instead of the payload's size; below 0: the truth
  std::string text;            // call returns it as a string of the host
  // What call and attribute answer instead.
  std::function<gantry_code(gantry_value*result, gantry_status*)> call, attribute;
  bool keeps_pin = false;   // beside the address of the bytes, which it always keeps
  bool reads_kept = false;  // call returns the byte at that address

  std::function<void(const char* where)>
      inside;  // called in every function of every table, on any thread
  const gantry_host* host = nullptr;
  gantry_object* self_module = nullptr;
  const std::uint8_t* kept = nullptr;  // the newest payload's first byte
};

Breaker& breaker();  // one for the process; a test begins with a new one

// The tables that break nothing, to be changed in a place.
gantry_device_table right_device_table();
gantry_module_table right_module_table();

const gantry_plugin_table* query_breaker(const gantry_host_info*, gantry_status*);

}  // namespace gantry::test
