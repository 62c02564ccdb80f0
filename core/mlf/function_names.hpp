// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/mlf/model_library.hpp"

#include <set>
#include <string>

namespace gantry {

// The functions of a model's code.
struct MlfFunctionNames {
  // defined symbols of its objects and its library
  std::set<std::string, std::less<>> defined;
  // false: the code is source text, or has device modules, which may define others
  bool is_complete = true;
};

// findings  [out]  objects that are no ELF files
MlfFunctionNames function_names_of(const ModelLibrary& archive, std::size_t model,
                                   Findings& findings);

}  // namespace gantry
