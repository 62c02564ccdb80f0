// SPDX-License-Identifier: Apache-2.0
//
// Which function of an artifact makes executors.
#pragma once

#include <gantry/runtime.hpp>

#include <gantry/result.hpp>

#include <span>
#include <string>

namespace gantry::cli {

// The factory of executors that have a device record a run and replay the recording: called by CUDA's name for that,
// whatever the device.
inline constexpr char capture_factory[] = "cuda_graph_create";

// An executor of `factory`, or with `capture` of the one above.
//
// returns  unsupported, saying what would run, where a device does not record
Result<Executor> make_executor(Runtime& runtime, const Module& model,
                               std::span<const std::string> devices, const std::string& factory,
                               bool capture);

// "default", as TVM's exporter calls it, where the model has a function of that name; else the only name that a model
// in the file has.
//
// path     [in]   where the model was loaded from
// returns  not_found, naming what is there: the file holds no model, or several of other names
Result<std::string> factory_name(const Runtime& runtime, const Module& model,
                                 const std::string& path);

}  // namespace gantry::cli
