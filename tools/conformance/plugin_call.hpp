// SPDX-License-Identifier: Apache-2.0
//
// A call of the plugin under test by the kit, in the scope of the object: for the places of
// place_report.hpp.
//
//     const PluginCall record("load_binary");
//     const gantry_code code = loader.load_binary(...);
#pragma once

#include "core/base/running_code.hpp"

#include <string>
#include <string_view>

namespace gantry::kit {

// The id of the plugin that this process checks; Subject::open() sets it.
std::string& id_of_subject();

class PluginCall {
 public:
  // function [in]   valid as long as the object
  explicit PluginCall(std::string_view function) : record_(function, id_of_subject()) {}

 private:
  CallRecord record_;
};

}  // namespace gantry::kit
