// SPDX-License-Identifier: Apache-2.0
//
// One --arg, one --input and one --shape of the command line.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "tools/gantry/common/input_spec.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// The canonical text of a parsed argument parses to the same value.
void check_zeros(const cli::ZerosArg& zeros) {
  std::string text = "zeros:" + dtype_text(zeros.dtype) + "[";
  for (std::size_t i = 0; i < zeros.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(zeros.shape[i]);
  }
  const auto again = cli::parse_arg(text + "]");
  expect(again.ok(), "zeros in canonical form can be parsed");
  const auto* same = std::get_if<cli::ZerosArg>(&*again);
  expect(same != nullptr && same->shape == zeros.shape, "zeros keep their shape");
  expect(std::all_of(zeros.shape.begin(), zeros.shape.end(), [](auto n) { return n >= 0; }),
         "no extent is negative");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, {.bytes_per_input_byte = 256});
  const std::string_view text = text_of(data, size);
  const auto argument = cli::parse_arg(text);
  if (!argument.ok()) {
    expect_refusal(argument.error(), size);
  } else if (const auto* zeros = std::get_if<cli::ZerosArg>(&*argument)) {
    check_zeros(*zeros);
  } else if (const auto* file = std::get_if<cli::FileArg>(&*argument)) {
    expect(file->path == text, "a file's path is the argument");
  }

  const auto shape = cli::parse_shape(text);
  if (!shape.ok()) {
    expect_refusal(shape.error(), size);
  } else {
    expect(std::ranges::all_of(shape->extents, [](auto n) { return n >= 0; }),
           "no extent is negative");
  }

  const auto named = cli::parse_input(text);
  if (!named.ok()) return expect_refusal(named.error(), size);
  const std::string name = named->name.empty() ? "" : named->name + "=";
  expect(text.starts_with(name), "an input begins with its name");
  if (const auto* file = std::get_if<cli::FileValue>(&named->value.content))
    expect(text.starts_with(name + file->path), "a file follows its name");
  for (const std::string& file : named->files())
    expect(text.find(file) != text.npos, "each file is a part of the text");
  return 0;
}
