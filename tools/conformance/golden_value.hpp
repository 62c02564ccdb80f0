// SPDX-License-Identifier: Apache-2.0
//
// Golden calls of a payload file: arguments and results, as sdk/CONFORMANCE.md describes them.
#pragma once

#include "core/base/yaml/yaml_record.hpp"

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

// One run of a function of a model.
struct GoldenRun {
  // empty: the default function
  std::string function;
  // by name
  std::vector<std::pair<std::string, GoldenValue>> inputs;
  // in order
  std::vector<GoldenValue> outputs;
};

// The fields of a call.
extern const YamlField golden_call_fields[3];

// Reads a record with these fields.
//
// returns  malformed with file, line and column
Result<GoldenCall> read_golden_call(const YamlRecord& record);

// The fields of a run.
extern const YamlField golden_run_fields[3];

// Reads a record with these fields.
//
// returns  malformed with file, line and column
Result<GoldenRun> read_golden_run(const YamlDocument& document, const YamlRecord& record);

}  // namespace gantry::kit
