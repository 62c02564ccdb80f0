// SPDX-License-Identifier: Apache-2.0
//
// metadata.json of a Model Library Format archive, versions 1 to 7, in one structure. MLF.md lists
// the keys.
//
//     versions 1 to 6  {"version": 5, "model_name": ..., ...}             one model
//     version 7        {"version": 7, "modules": {"a": {...}, "b": {...}}}  several; operators flat
#pragma once

#include "core/formats/mlf/findings.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

constexpr std::uint64_t min_mlf_version = 1, max_mlf_version = 7;
constexpr std::string_view metadata_file = "metadata.json";
constexpr std::string_view full_model_style = "full-model", operator_style = "operator";

// A piece of memory of a graph.
struct MlfStorage {
  std::int64_t storage_id = 0;
  std::uint64_t size_bytes = 0;
  // name of the input or parameter in it; empty: neither
  std::string input_binding;
  auto operator<=>(const MlfStorage&) const = default;
};

struct MlfTensor {
  std::string name;
  std::uint64_t size = 0;
  std::string dtype;
};

// Memory of the main function on one device.
struct MlfMain {
  // device type in the numbering of TVM
  std::int64_t device = 0;
  std::uint64_t workspace_size_bytes = 0;
  std::uint64_t constants_size_bytes = 0;
  std::uint64_t io_size_bytes = 0;
  // absent in archives before TVM v0.11
  std::optional<std::vector<MlfTensor>> inputs, outputs;
};

struct MlfWorkspace {
  std::int64_t device = 0;
  std::uint64_t workspace_size_bytes = 0;
};

struct MlfFunction {
  std::string function_name;
  std::vector<MlfWorkspace> workspace;
};

// An argument of a function of an operator-style archive.
struct MlfArgument {
  std::uint64_t size_bytes = 0;
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::string input_binding;
};

struct MlfOperator {
  std::string function_name;
  std::vector<MlfArgument> arguments;
};

struct MlfTarget {
  // key of versions 1 to 5: the device type as a decimal number; else empty
  std::string device_type;
  std::string text;
};

struct MlfDependency {
  std::string short_name, url, url_type, version_spec;
};

// A file of this project's extension: a shared library, or the payload of a device module.
struct MlfFile {
  std::string path;
  // of a payload: "cuda"
  std::string type_key;
  // 64 lower-case hex digits
  std::string sha256;
};

struct MlfModel {
  // of the keys in metadata.json: "modules.digits"; empty: at the top
  std::string path;
  // in file names and in version 7 the key
  std::string name;
  std::string model_name;
  std::string export_datetime;
  std::vector<MlfTarget> targets;
  // "graph" or "aot"; empty for operator style
  std::vector<std::string> executors;
  // versions before 4 have full models only
  std::string style = std::string(full_model_style);
  // nullopt: the archive has none, because no graph plans it
  std::optional<std::vector<MlfStorage>> sids;
  std::vector<MlfMain> main;
  std::vector<MlfFunction> functions;
  // of operator style
  std::vector<MlfOperator> operators;
  std::vector<MlfDependency> dependencies;
  std::optional<MlfFile> library;
  std::vector<MlfFile> blobs;

  bool is_operator() const { return style == operator_style; }
  bool has_executor(std::string_view executor) const;
};

struct MlfMetadata {
  // of the keys and the names of members: 7 in a file with "modules", whatever number it has
  std::uint64_t version = max_mlf_version;
  // at least one
  std::vector<MlfModel> models;
};

// Reads metadata.json.
//
// text      [in]   not referred to by the result
// findings  [out]  missing and unknown keys, and values of a wrong type; what they would set is empty
// returns   malformed    no JSON object, no version, or no model
//           unsupported  a version above 7 or below 1
// costs     O(text)
// source    apache/tvm python/tvm/micro/model_library_format.py, at the commits of MLF.md
Result<MlfMetadata> read_mlf_metadata(std::string_view text, Findings& findings);

// Returns metadata.json of `version`, 5 or 7: keys sorted, indented by two spaces, as TVM writes it.
//
// returns  invalid  version 5 and a model of operators have one model only; another version
Result<std::string> write_mlf_metadata(const MlfMetadata& metadata, std::uint64_t version);

}  // namespace gantry
