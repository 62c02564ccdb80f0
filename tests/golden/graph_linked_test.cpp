// SPDX-License-Identifier: Apache-2.0
//
// A model whose parameters are constants of its library, as TVM v0.8 exported them with
// --link-params, packed and run by the built program.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include "core/formats/arrays/npy.hpp"
#include "tests/support/array_value.hpp"

#include <gmock/gmock.h>

#include <cstring>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LinkedModel : public ::testing::Test {
 protected:
  LinkedModel() {
    const Outcome packed =
        run_gantry({"pack", "../graph_linked/linked.yaml", "--output", library()});
    EXPECT_EQ(packed.status, 0) << packed.err;
  }
  std::string library() const { return (temp / "linked.so").string(); }
  Outcome run(std::vector<std::string> options) const {
    options.insert(options.begin(), {"--plugins", built_plugins("graph"), "run", library()});
    return run_gantry(options);
  }
  TempDir temp;
};

TEST_F(LinkedModel, RunsWithoutParameterFiles) {
  const std::vector<float> x{1, 2, 3, 4};
  const std::vector<std::int64_t> shape{4};
  const std::span data(reinterpret_cast<const std::uint8_t*>(x.data()), 4 * x.size());
  write_file(temp / "x.npy", npy_bytes({2, 32, 1}, shape, data).value());

  const Outcome done =
      run({"--input", "x=" + (temp / "x.npy").string(), "--output", (temp / "y.npz").string()});

  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(floats_in(temp / "y.npz", "output"), ElementsAre(11, 42, 93, 164));
}

TEST_F(LinkedModel, DoesNotListConstantsAsInputs) {
  const Outcome done = run({});

  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.err,
              HasSubstr("gantry: input \"x\" of the model is missing, expected float32[4]\n"
                        "  for example --input x=x.npy or --input x=random\n"
                        "  inputs of the model: x float32[4]\n"));
}

}  // namespace
}  // namespace gantry::test
