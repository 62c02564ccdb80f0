// SPDX-License-Identifier: Apache-2.0
//
// What --arg says: one argument of a function.
//
//     FILE.npy   zeros:float32[2, 16]   int:3   float:0.5   str:text   none
//
// A prefix decides first: "str:a.npy" is a text. A file whose name begins like one is "./int:3.npy".
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

// returns  invalid, naming what is wrong and, for an unknown form, all forms
Result<ArgSpec> parse_arg(std::string_view text);

// NAME=FILE, as --input has it.
struct NamedFile {
  std::string name;
  std::string path;
};
Result<NamedFile> parse_named_file(std::string_view text);

}  // namespace gantry::cli
