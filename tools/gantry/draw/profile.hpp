// SPDX-License-Identifier: Apache-2.0
//
// The times of operators that `gantry bench --json` has printed, and their nodes in a drawing.
#pragma once

#include "tools/gantry/draw/flow.hpp"

#include <gantry/result.hpp>

#include <map>
#include <string>
#include <string_view>

namespace gantry::cli {

// By name, as it is in the profile.
struct Profile {
  struct Operator {
    // of one run
    double ns = 0;
    // of all operators' time
    double share = 0;
  };
  std::map<std::string, Operator, std::less<>> operators;
  // of a virtual machine; empty: not given
  std::string function;
};

// Reads the list `operators` of the document of `gantry bench --json`.
//
// returns  malformed  no JSON, no such list, or an operator without name and time
Result<Profile> read_profile(std::string_view json);

// Sets the times of nodes and functions that the profile's run reaches. Nodes of the same name share its time evenly, because a profile has
// the sum of all calls.
//
// returns  invalid  no node has a name of the profile
Status add_profile(const Profile& profile, Drawing& drawing);

}  // namespace gantry::cli
