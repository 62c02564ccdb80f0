// SPDX-License-Identifier: Apache-2.0
//
// A plugin that breaks the ABI rules that a test selects: type key "test.break", device "breaker".
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
  // error text of create, load_binary or call; empty: they succeed
  std::string error_text;
  // code of that error
  gantry_code code = GANTRY_UNAVAILABLE;
  // the function that fails with it
  std::string fails_in;
  // replaces the correct table
  const gantry_module_table* module_table = nullptr;
  // replaces the correct table
  const gantry_function_table* function_table = nullptr;
  bool function_without_table = false;
  // replaces the correct table
  const gantry_device_table* device_table = nullptr;
  // the kind of device that the loader names
  const char* loader_device = nullptr;
  std::uint32_t loader_flags = 0;
  // the function of fails_in writes its output although it fails
  bool writes_although_it_fails = false;
  // the only function that list_functions lists
  std::optional<const gantry_function_info*> function_info;
  // reported instead of the payload's size; below 0: the payload's size
  std::int64_t consumed = -1;
  // call returns it as a string of the host; empty: unused
  std::string text;
  // replace the results of call and attribute
  std::function<gantry_code(gantry_value*result, gantry_status*)> call, attribute;
  // load_binary retains the pin of the payload; it always stores the address
  bool keeps_pin = false;
  // call returns the byte at the stored address
  bool reads_kept = false;

  // called in every function of every table, on any thread
  std::function<void(const char* where)> inside;
  const gantry_host* host = nullptr;
  gantry_object* self_module = nullptr;
  // first byte of the newest payload
  const std::uint8_t* kept = nullptr;
};

// One for the process; each test starts with a new one.
Breaker& breaker();

// Correct tables, in which a test changes one field.
gantry_device_table right_device_table();
gantry_module_table right_module_table();

const gantry_plugin_table* query_breaker(const gantry_host_info*, gantry_status*);

}  // namespace gantry::test
