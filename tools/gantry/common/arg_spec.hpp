// SPDX-License-Identifier: Apache-2.0
//
// The value of --arg: one argument of a function.
//
//     FILE.npy   zeros:float32[2, 16]   int:3   float:0.5   str:text   none
//
// A prefix takes precedence: "str:a.npy" is a string. A file whose name begins with a prefix is
// written as "./int:3.npy".
#pragma once

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::cli {

struct NoneArg {};
struct FileArg {
  std::string path;
};
struct ZerosArg {
  gantry_dtype dtype;
  std::vector<std::int64_t> shape;
};
using ArgSpec = std::variant<NoneArg, std::int64_t, double, std::string, FileArg, ZerosArg>;

// returns  invalid, with the wrong part; for an unknown form, with a list of all forms
Result<ArgSpec> parse_arg(std::string_view text);

// NAME=FILE, the value of --input.
struct NamedFile {
  std::string name;
  std::string path;
};
Result<NamedFile> parse_named_file(std::string_view text);

}  // namespace gantry::cli
