// SPDX-License-Identifier: Apache-2.0
//
// Selects the function of an artifact that creates executors.
#pragma once

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Factory of executors that record a run on the device and replay the recording. TVM's name for it
// mentions CUDA; it is used for every device.
inline constexpr char capture_factory[] = "cuda_graph_create";

// Creates an executor with `factory`, or with capture_factory if `capture` is set.
//
// returns  unsupported if the device cannot record a run
Result<Executor> make_executor(Runtime& runtime, const Module& model,
                               std::span<const std::string> devices, const std::string& factory,
                               bool capture);

// Returns "default", the name that TVM's exporter uses, if the model has that function; otherwise
// the name of the only model in the file.
//
// returns  not_found, listing the names, if the file contains no model or several with other names
Result<std::string> factory_name(const Runtime& runtime, const Module& model);

// Returns the names of the outputs of a model; empty if its file does not describe them.
//
// factory  [in]   the result of factory_name()
std::vector<std::string> output_names(const Runtime& runtime, const Module& model,
                                      std::string_view factory);

}  // namespace gantry::cli
