// SPDX-License-Identifier: Apache-2.0
//
// The model of a sub-command, and the function that it runs.
#pragma once

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// True if the model of the module has a function of this name.
bool is_model_function(const Module& module, std::string_view name);

// Returns the module of one model: that of --function if the file is an archive of several, else the
// module itself.
//
// function [in,out] the option; cleared if it selects a model
// returns  not_found, reason ARCHIVE_MODEL, listing the models
Result<Module> selected_model(const Module& module, std::string& function);

struct FunctionOptions {
  // at least one
  std::vector<std::string> devices;
  // empty: the default one
  std::string function;
  bool capture = false;
};

// returns  as Runtime::model and Model::function, with the options of the command line that apply
Result<Session> model_session(const Runtime& runtime, const Module& module,
                              const FunctionOptions& options);

}  // namespace gantry::cli
