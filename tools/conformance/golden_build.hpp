// SPDX-License-Identifier: Apache-2.0
//
// Sources in a payload file from which the plugin's code generator builds payloads. The format is
// described in sdk/CONFORMANCE.md.
#pragma once

#include "core/base/yaml/yaml_record.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "tools/conformance/golden_value.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <string>
#include <vector>

namespace gantry::kit {

struct GoldenKernel {
  std::string name;
  std::vector<gantry_dtype> arguments;
  std::vector<std::string> launch;
};

struct GoldenBuild {
  // "build 0 of golden.yaml"
  std::string name;
  // of the target's kind
  std::string kind, type_key;
  // canonical JSON
  std::string target;
  std::string language;
  std::string source;
  // a text that does not compile
  std::string broken;
  std::vector<GoldenKernel> kernels;
  // canonical JSON of targets that the generator does not support
  std::vector<std::string> refused_targets;
  double tolerance = 0;
  std::vector<GoldenCall> calls;
};

// The fields of a build.
extern const YamlField golden_build_fields[8];

// Reads a record with these fields.
//
// manifest [in]   each target is of one of its kinds with languages
// returns  malformed with file, line and column
Result<GoldenBuild> read_golden_build(const YamlRecord& record, const Manifest& manifest);

}  // namespace gantry::kit
