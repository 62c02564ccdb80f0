// SPDX-License-Identifier: Apache-2.0
//
// The text of a recipe of `gantry pack`.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/writing/recipe.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // As config_fuzz.cpp.
  const Budget budget(size, {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 1500});
  const auto recipe = parse_recipe(text_of(data, size), "model.yaml", "/models");
  if (!recipe.ok()) return expect_refusal(recipe.error(), size);
  expect(recipe->directory == "/models", "files are relative to the recipe's directory");
  return 0;
}
