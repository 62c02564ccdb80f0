// SPDX-License-Identifier: Apache-2.0
//
// Which function of an artifact makes executors.
#pragma once

#include "core/runtime/runtime.hpp"

#include <gantry/result.hpp>

#include <string>

namespace gantry::cli {

// "default", as TVM's exporter calls it, where the model has a function of that name; else the only name that a model
// in the file has.
//
// path     [in]   where the model was loaded from
// returns  not_found, naming what is there: the file holds no model, or several of other names
Result<std::string> factory_name(const Runtime& runtime, const Module& model,
                                 const std::string& path);

}  // namespace gantry::cli
