// SPDX-License-Identifier: Apache-2.0
//
// The value of --arg: one argument of a function.
//
//     FILE.npy   zeros:float32[2, 16]   int:3   float:0.5   shape:[2, 16]
//     str:text   none
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
struct ShapeArg {
  std::vector<std::int64_t> extents;
};
using ArgSpec =
    std::variant<NoneArg, std::int64_t, double, std::string, FileArg, ZerosArg, ShapeArg>;

// returns  invalid, with the wrong part; for an unknown form, with a list of all forms
Result<ArgSpec> parse_arg(std::string_view text);

// The value of --input, one or all inputs of a model.
//
//     NAME=FILE   NAME=FILE.npz:MEMBER   FILE.npz   FILE.npy
struct InputSpec {
  // empty: the members of the file are the names
  std::string name;
  std::string path;
  // empty: the only member, or the one of the input's name
  std::string member;
};
// returns  invalid, with a list of all forms
Result<InputSpec> parse_input(std::string_view text);

}  // namespace gantry::cli
