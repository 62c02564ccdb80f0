// SPDX-License-Identifier: Apache-2.0
//
// The examples of the pages for users, executed.
#include "tests/golden/cli_command.hpp"
#include "tests/golden/console_examples.hpp"
#include "tests/support/page.hpp"

#include "core/formats/arrays/npy.hpp"

#include <gmock/gmock.h>

#include <array>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;

TEST(RecipePage, ContainsAHostFunctionThatRuns) {
  const std::string page = read_page("core/writing/RECIPE.md");
  const TempDir temp;
  const auto path = [&](std::string_view name) { return (temp / name).string(); };
  write_file(temp / "doubled.c", blocks_of(page, "c").at(1));
  write_file(temp / "doubled.yaml", blocks_of(page, "yaml").at(1));
  const std::array<std::int64_t, 1> shape{4};
  const std::array<float, 4> x{1, 2.5, -3, 0};
  const std::span data(reinterpret_cast<const std::uint8_t*>(x.data()), sizeof x);
  write_file(temp / "x.npy", npy_bytes(gantry_dtype{2, 32, 1}, shape, data).value());

  const Outcome pack = run_gantry({"pack", path("doubled.yaml"), "-o", path("doubled.so")});
  const Outcome run = run_gantry(
      {"--plugins", built_plugins(), "run", path("doubled.so"), "--input", "x=" + path("x.npy")});

  EXPECT_EQ(pack.status, 0) << pack.err;
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("float32[4]  2 5 -6 0"));
}

TEST(CommandPage, ShowsWhatTheCommandsPrint) {
  EXPECT_EQ(run_examples("tools/gantry/README.md"), 10);
}

TEST(BenchPage, ShowsWhatTheCommandsPrint) { EXPECT_EQ(run_examples("tools/gantry/BENCH.md"), 3); }

}  // namespace
}  // namespace gantry::test
