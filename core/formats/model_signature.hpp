// SPDX-License-Identifier: Apache-2.0
//
// The inputs and outputs of a model, read from the graph in its payload.
#pragma once

#include "core/formats/entry.hpp"

#include <gantry/tensor.h>
#include <gantry/parameter_info.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct SignatureTensor {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // device type in the artifact's numbering; -1: the graph names none
  std::int64_t device_number = -1;
};

struct ModelSignature {
  // without parameters
  std::vector<SignatureTensor> inputs;
  // named as in the graph, or by output_name(): compilers store no names of outputs
  std::vector<SignatureTensor> outputs;
};

// Returns the name of an output of a model that is compiled ahead of time: as its library states it.
// Compilers number outputs without a name, also a single one, for which output_name() has no number.
std::string compiled_output_name(std::string_view stated, std::size_t index, std::size_t count);

// Reads the signature of a graph factory.
//
// returns  nullopt if the module is not a graph factory; malformed, unsupported: its graph
// costs    parses the graph
Result<std::optional<ModelSignature>> read_signature(const Entry& entry);

}  // namespace gantry
