// SPDX-License-Identifier: Apache-2.0
//
// Golden payloads of a vendor: bytes that the plugin must load, and calls with their results. The
// format is described in sdk/CONFORMANCE.md.
#pragma once

#include "core/manifest/manifest.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gantry::kit {

struct GoldenTensor {
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // compact
  std::vector<std::uint8_t> bytes;
  // the expected content after the call
  std::optional<std::vector<std::uint8_t>> after;
};

struct GoldenValue {
  enum class Kind {
    none,
    integer,
    boolean,
    number,
    text,
    // passed by reference, on the device of the key
    tensor,
    // passed as the device's data pointer
    buffer,
  };
  Kind kind = Kind::none;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  GoldenTensor tensor;
};

struct GoldenCall {
  std::string function;
  std::vector<GoldenValue> arguments;
  // absent: the result is not compared
  std::optional<GoldenValue> result;
};

struct Payload {
  // "payload 0 of golden.yaml"
  std::string name;
  std::string key;
  std::vector<std::uint8_t> bytes;
  // GANTRY_ARGUMENT_TAGS_*, GANTRY_NUMBERING_*
  std::uint32_t argument_tags = 0, numbering = 0;
  // of floating-point results, absolute and relative
  double tolerance = 0;
  std::vector<GoldenCall> calls;
  // Not empty: the plugin must refuse the payload with a text that contains these words.
  std::vector<std::string> refused;
};

// Reads a payload file and the files that it names, relative to its directory.
//
// manifest [in]   each key of the file is one of its keys or aliases
// returns  malformed with file, line and column; the errors of the files that it names
Result<std::vector<Payload>> read_payload_file(const std::string& path, const Manifest& manifest);

}  // namespace gantry::kit
