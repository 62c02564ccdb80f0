// SPDX-License-Identifier: Apache-2.0
//
// A function of an artifact's library, in either dialect.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/native/context.hpp"

#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <string>
#include <utility>

namespace gantry {

// The `self` of the dialect's function table, created with new.
//
// Code     pointer to the function
template <class Code>
struct CpuFunctionOf {
  Code code;
  // the caller keeps the module
  CpuOwner owner;
  std::string name;
};

// Adds the line of context of errors in the function.
template <class Code>
Error in_function(Error error, const CpuFunctionOf<Code>& function) {
  return std::move(error).at("in host function ", quoted(function.name), " of ",
                             location_of(*function.owner.node));
}

}  // namespace gantry
