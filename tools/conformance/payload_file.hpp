// SPDX-License-Identifier: Apache-2.0
//
// Golden payloads of a vendor: bytes that the plugin must load, and calls with their results; and
// sources from which the plugin's code generator builds payloads. The format is described in
// sdk/CONFORMANCE.md.
#pragma once

#include "core/plugins/manifest/manifest.hpp"
#include "tools/conformance/golden_value.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry::kit {

struct Payload {
  // "payload 0 of golden.yaml"
  std::string name;
  std::string key;
  std::vector<std::uint8_t> bytes;
  // The file with the modules that it imports, and its index there; empty: it imports none.
  std::string artifact;
  std::size_t entry = 0;
  // GANTRY_ARGUMENT_TAGS_*, GANTRY_NUMBERING_*
  std::uint32_t argument_tags = 0, numbering = 0;
  // of floating-point results, absolute and relative
  double tolerance = 0;
  std::vector<GoldenCall> calls;
  // of the model that the payload is
  std::vector<GoldenRun> runs;
  // Not empty: the plugin must refuse the payload with a text that contains these words.
  std::vector<std::string> refused;
  // Makes device 0 stop.
  std::optional<GoldenCall> loses;
};

struct GoldenKernel {
  std::string name;
  std::vector<gantry_dtype> arguments;
  std::vector<std::string> launch;
};

// Sources from which the plugin's code generator builds payloads.
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

struct GoldenFile {
  std::vector<Payload> payloads;
  std::vector<GoldenBuild> builds;
};

// Reads a payload file and the files that it names, relative to its directory.
//
// manifest [in]   each key of the file is one of its keys or aliases
// returns  malformed with file, line and column; the errors of the files that it names
Result<GoldenFile> read_payload_file(const std::string& path, const Manifest& manifest);

}  // namespace gantry::kit
