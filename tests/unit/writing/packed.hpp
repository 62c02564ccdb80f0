// SPDX-License-Identifier: Apache-2.0
//
// A small model and a fixture that packs it.
#pragma once

#include "core/writing/pack.hpp"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"

#include <gmock/gmock.h>

#include <array>

namespace gantry::test {

// A minimal model of one operator, twice(x, w) -> out.
constexpr std::string_view recipe_text = R"(schema: "1.0"
sources: [twice.c]
graph:
  inputs: {x: "float32[3]"}
  operators:
    - {function: twice, inputs: [x, w], outputs: {out: "float32[3]"}}
  outputs: [out]
parameters:
  w: {file: w.npz, member: w}
)";

// Packs that recipe or another one in a temporary directory.
class PackTest : public ::testing::Test {
 protected:
  PackTest() {
    std::filesystem::create_directory(in());
    std::filesystem::create_directory(out());
    write_file(in() / "twice.c", "int twice(void) { return 2; }\n");
    const std::vector<std::int64_t> shape = {3};
    const std::array<float, 3> data = {1, 2, 3};
    const NpzItem item{
        "w", {2, 32, 1}, shape, {reinterpret_cast<const std::uint8_t*>(data.data()), sizeof data}};
    EXPECT_TRUE(test::write_npz(in() / "w.npz", std::span(&item, 1)).ok());
  }

  std::filesystem::path in() const { return directory_ / "in"; }
  std::filesystem::path out() const { return directory_ / "out"; }
  std::filesystem::path target() const { return out() / "model.so"; }

  Status pack_text(std::string_view text, const PackOptions& options = {}) const {
    GANTRY_TRY(const Recipe recipe, parse_recipe(text, "r.yaml", in()));
    return pack(recipe, target(), options);
  }
  static std::string with(std::string_view before, std::string_view after) {
    std::string text(recipe_text);
    text.replace(text.find(before), before.size(), after);
    return text;
  }
  std::vector<std::string> files_out() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(out()))
      names.push_back(file.path().filename());
    return names;
  }

 private:
  const TempDir directory_;
};

}  // namespace gantry::test
