// SPDX-License-Identifier: Apache-2.0
//
// A call of the plugin under test by the kit, in the scope of the object: for the places of
// place_report.hpp.
//
//     const PluginCall record("load_binary");
//     const gantry_code code = loader.load_binary(...);
#pragma once

#include "core/base/running_code.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::kit {

// The id of the plugin that this process checks; Subject::open() sets it.
std::string& id_of_subject();

// Number of the calls that this thread has begun: a place with the same number is the same call.
inline thread_local constinit std::uint64_t calls_of_thread = 0;

class PluginCall {
 public:
  // function [in]   valid as long as the object
  explicit PluginCall(std::string_view function) : record_(function, id_of_subject()) {
    ++calls_of_thread;
  }

 private:
  CallRecord record_;
};

}  // namespace gantry::kit
