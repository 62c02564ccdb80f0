// SPDX-License-Identifier: Apache-2.0
//
// What an artifact is made of, as its author writes it: RECIPE.md.
//
//     YAML text -> Recipe -> pack() (pack.hpp)
#pragma once

#include "core/pack/graph_text.hpp"
#include "core/yaml/yaml_record.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <variant>

namespace gantry {

// Where a parameter comes from.
struct ParameterSource {
  std::string name;
  // .npy, .npz or .params
  std::filesystem::path file;
  // of an .npz or .params file
  std::string member;
  // swap the two axes of a matrix
  bool transpose = false;
  // what it must be, after that; none: whatever it is
  std::optional<TensorType> type;
  // "digits.yaml:20:3: parameters.w0", for messages
  std::string location;
};

// One function of a device module.
struct KernelSource {
  std::string name;
  std::vector<gantry_dtype> arguments;
  // tags, one packed argument each: "blockIdx.x"
  std::vector<std::string> launch;
  // OpenCL C or GLSL, as written; empty: the module has its code
  std::string source;
  // "digits.yaml:40:7: device_modules[0].kernels.dense"
  std::string location;
};

// A module for a device's loader: its kernels' table and code, or, without a format, a ready payload.
struct DeviceModuleSource {
  std::string type_key;
  // "ptx", "cl", "vulkan"; empty: `data` is the whole payload
  std::string format;
  // empty: each kernel has a source
  std::filesystem::path data;
  std::vector<KernelSource> kernels;
};

// A graph written in the recipe, or a file of graph JSON; neither: a library of functions.
using GraphSource = std::variant<std::monostate, GraphDescription, std::filesystem::path>;

struct Recipe {
  // of the recipe; the compiler works there
  std::filesystem::path directory;
  std::string module_name = "default";
  std::vector<std::string> sources;
  std::vector<std::string> flags;
  std::vector<std::string> libraries;
  GraphSource graph;
  std::vector<ParameterSource> parameters;
  std::vector<DeviceModuleSource> device_modules;
};

// The fields of a recipe. configs/schema/recipe.schema.json says the same.
std::span<const YamlField> recipe_fields();

// Reads and checks a recipe; opens no other file.
//
// returns  malformed with file, line, column and key path; not_found, unavailable as the file system says;
//          unsupported for a schema that is not 1.x
Result<Recipe> read_recipe(const std::filesystem::path& file);

// The same from a text. Files are relative to `directory`.
Result<Recipe> parse_recipe(std::string_view text, std::string file_name,
                            const std::filesystem::path& directory);

}  // namespace gantry
