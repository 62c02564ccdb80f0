// SPDX-License-Identifier: Apache-2.0
//
// The values of --input and --shape: inputs of a model.
//
//     NAME=FILE.npy  NAME=FILE.npz:MEMBER  NAME=FILE.npz    an array of a file
//     NAME=zeros  NAME=ones  NAME=random:SEED:LOW:HIGH      elements that are made
//     NAME=1,2,3  NAME=@FILE                                numbers; a text file with numbers
//     NAME=(VALUE; VALUE)                                   a tuple
//     NAME=int:3  float:0.5  str:text  shape:[2, 16]  json:[1]  none  see arg_spec.hpp
//     FILE.npz    the inputs that it names
//     zeros  ones  random:SEED:LOW:HIGH                     all inputs that nothing else sets
//
// A word is a word: a file of its name is "./zeros".
#pragma once

#include "tools/gantry/common/arg_spec.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry::cli {

// A long double represents every number of 64 bits exactly, see element_value.hpp.
using Number = long double;

// Returns the number that the whole text is: "3", "-0.5", "1e-3", "nan", "inf", "true" (1), "false";
// nullopt if it is none. Integers of 64 bits are exact, others are doubles.
std::optional<Number> number_in(std::string_view text);

struct FileValue {
  std::string path;
  // empty: the only member, or the one of the input's name
  std::string member;
};
struct FillValue {
  enum class Kind { zeros, ones, random };
  // low <= x < high
  struct Range {
    Number low, high;
  };
  Kind kind = Kind::zeros;
  std::uint64_t seed = 0;
  // nullopt: [-1, 1) for floating-point numbers, 0 and 1 for integers
  std::optional<Range> range;
};
// "1,2,3", each item a number
struct NumbersValue {
  std::string text;
};
struct NumbersFile {
  std::string path;
};
struct InputValue;
struct TupleValue {
  std::vector<InputValue> items;
};
struct InputValue {
  // an ArgSpec is none, a number, a text or a shape
  std::variant<FileValue, FillValue, NumbersValue, NumbersFile, TupleValue, ArgSpec> content;
};

struct InputSpec {
  // empty: the members of the file are the names, or all inputs that nothing else sets
  std::string name;
  InputValue value;

  // The files that it reads.
  std::vector<std::string> files() const;
};

// returns  invalid, with the wrong part; for an unknown form, with a list of all forms
Result<InputSpec> parse_input(std::string_view text);

// The value of --shape.
//
//     x=4,3,224,224   x=float32[4,3]   n=4
struct ShapeSpec {
  // of an input or of an extent
  std::string name;
  // nullopt: as the model states it
  std::optional<gantry_dtype> dtype;
  std::vector<std::int64_t> extents;
};

// returns  invalid, with the wrong part
Result<ShapeSpec> parse_shape(std::string_view text);

}  // namespace gantry::cli
