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
  // the function that throws: "create", "load_binary", "call", ...
  std::string throws_in;
  // what create, load_binary or call say when they fail; empty: they succeed
  std::string says;
  // with which they fail
  gantry_code code = GANTRY_UNAVAILABLE;
  // the function that fails so
  std::string fails_in;
  // instead of the right one
  const gantry_module_table* module_table = nullptr;
  // instead of the right one
  const gantry_function_table* function_table = nullptr;
  bool function_without_table = false;
  // instead of the right one
  const gantry_device_table* device_table = nullptr;
  // the kind of device that the loader names
  const char* loader_device = nullptr;
  std::uint32_t loader_flags = 0;
  // the function of fails_in fills its output
  bool writes_although_it_fails = false;
  // list_functions gives it as its only one
  std::optional<const gantry_function_info*> function_info;
  // instead of the payload's size; below 0: the truth
  std::int64_t consumed = -1;
  // call returns it as a string of the host
  std::string text;
  // What call and attribute answer instead.
  std::function<gantry_code(gantry_value*result, gantry_status*)> call, attribute;
  // beside the address of the bytes, which it always keeps
  bool keeps_pin = false;
  // call returns the byte at that address
  bool reads_kept = false;

  // called in every function of every table, on any thread
  std::function<void(const char* where)> inside;
  const gantry_host* host = nullptr;
  gantry_object* self_module = nullptr;
  // the newest payload's first byte
  const std::uint8_t* kept = nullptr;
};

// one for the process; a test begins with a new one
Breaker& breaker();

// The tables that break nothing, to be changed in a place.
gantry_device_table right_device_table();
gantry_module_table right_module_table();

const gantry_plugin_table* query_breaker(const gantry_host_info*, gantry_status*);

}  // namespace gantry::test
