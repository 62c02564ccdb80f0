// SPDX-License-Identifier: Apache-2.0
//
// The description from which an artifact is built, see RECIPE.md.
//
//     YAML text -> Recipe -> pack() (pack.hpp)
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/writing/generator/build_job.hpp"
#include "core/writing/graph_text.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <variant>

namespace gantry {

// The source of a parameter's data.
struct ParameterSource {
  std::string name;
  // .npy, .npz or .params
  std::filesystem::path file;
  // of a .npz or .params file
  std::string member;
  // swap the two axes of a matrix
  bool transpose = false;
  // the required type after a transposition; none: any type
  std::optional<TensorType> type;
  // "digits.yaml:20:3: parameters.w0", for messages
  std::string location;
};

// One function of a device module.
struct KernelSource {
  std::string name;
  std::vector<gantry_dtype> arguments;
  // launch tags, one packed argument each: "blockIdx.x"
  std::vector<std::string> launch;
  // file of kernel code, as written in the recipe; empty: the code is in the module's data
  std::string source;
  // "digits.yaml:40:7: device_modules[0].kernels.dense"
  std::string location;
};

// A module for a device loader: a kernel table and code, or, without a format, a complete payload.
struct DeviceModuleSource {
  std::string type_key;
  // "ptx", "cl", "vulkan"; empty: `data` is the whole payload. Of kernels with sources: "cl" or the
  // type key
  std::string format;
  // empty: each kernel has a source
  std::filesystem::path data;
  std::vector<KernelSource> kernels;
  // "digits.yaml:38:15: device_modules[0].type_key"
  std::string location;
  // what the sources are compiled for, see core/formats/target/target.hpp; empty: the kind of the type key
  std::string target = {};
  // "digits.yaml:39:13: device_modules[0].target"
  std::string target_location = {};
  KernelCode code = KernelCode::automatic;
};

// A graph and its parameters.
struct RecipeGraph {
  // of the function that creates the executor
  std::string name = "default";
  // described in the recipe, or a file of graph JSON
  std::variant<GraphDescription, std::filesystem::path> source;
  // "digits.yaml:5:3: graph", for messages
  std::string location = {};
  std::vector<ParameterSource> parameters = {};
  // .npz and .params files, each array of which is a parameter; without a name
  std::vector<ParameterSource> parameter_files = {};
};

struct Recipe {
  // empty: read from a text
  std::filesystem::path file;
  // of the recipe; the compiler's working directory
  std::filesystem::path directory;
  std::vector<std::string> sources;
  // "digits.yaml:3:1: sources"; empty: no sources, or not read from a text
  std::string sources_location;
  std::vector<std::string> flags;
  std::vector<std::string> libraries;
  // none: a library of functions. Without `root`, there is at most one.
  std::vector<RecipeGraph> graphs;
  // a complete payload, whose module imports the graphs
  std::optional<DeviceModuleSource> root;
  std::vector<DeviceModuleSource> device_modules;
};

// The fields of a recipe, equal to those in configs/schema/recipe.schema.json.
std::span<const YamlField> recipe_fields();

// Reads and checks a recipe; opens no other file.
//
// returns  malformed with file, line, column and key path; not_found or unavailable if the file
//          cannot be read; unsupported for a schema other than 1.x
Result<Recipe> read_recipe(const std::filesystem::path& file);

// As read_recipe(), from a text. Paths are relative to `directory`.
Result<Recipe> parse_recipe(std::string_view text, std::string file_name,
                            const std::filesystem::path& directory);

}  // namespace gantry
