// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.contrib, called by CPU code of every dialect: C sources compiled against the
// layouts of each release, which pass tensors by address, C strings, and booleans as each has them.
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/linked_release.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/half.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace gantry {
namespace {

using test::linked_releases;
using test::LinkedRelease;
using ::testing::ElementsAre;

class ContribRelease : public ::testing::TestWithParam<LinkedRelease> {
 protected:
  template <class T>
  Tensor tensor(std::vector<std::int64_t> shape, gantry_dtype type, const std::vector<T>& values) {
    const Tensor made = runtime.tensor(shape, type).value();
    std::ranges::copy(values, made.elements<T>().begin());
    return made;
  }
  Function function(const char* name) {
    auto found = model.function(name);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return found.ok() ? *found : Function();
  }

  Runtime runtime = test::new_runtime(test::built_plugins_only("contrib"));
  // A library without imports has no container.
  Module model = runtime.load(test::link_release(GetParam(), "functions.c", {})).value();
};

TEST_P(ContribRelease, SortsTheBoxesOfDetectors) {
  const Tensor scores = tensor<float>({2, 4}, dtypes::float32, {1, 3, 2, 9, 4, 5, 6, 7});
  const Tensor counts = tensor<std::int32_t>({2}, dtypes::int32, {3, 0});
  const Tensor order = tensor<std::int32_t>({2, 4}, dtypes::int32, std::vector<std::int32_t>(8));
  const Tensor best = tensor<float>({2, 2}, dtypes::float32, {0, 0, 0, 0});
  const Tensor boxes = tensor<std::int64_t>({2, 2}, dtypes::int64, {0, 0, 0, 0});

  const auto done = function("best_boxes")(scores, counts, order, best, boxes);

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(order.elements<std::int32_t>(), ElementsAre(1, 2, 0, 3, 0, 1, 2, 3));
  EXPECT_THAT(best.elements<float>(), ElementsAre(9, 3, 7, 6));
  EXPECT_THAT(boxes.elements<std::int64_t>(), ElementsAre(3, 1, 3, 2));
}

TEST_P(ContribRelease, SortsHalves) {
  const Tensor x =
      tensor<std::uint16_t>({3}, dtypes::float16, {half_of(2), half_of(-1), half_of(0.5)});
  const Tensor order = tensor<std::int32_t>({3}, dtypes::int32, {0, 0, 0});

  const auto done = function("call_by_name")("tvm.contrib.sort.argsort", x, order, 0, 1);

  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(order.elements<std::int32_t>(), ElementsAre(1, 2, 0));
}

TEST_P(ContribRelease, ReceivesTheErrorOfARefusedCall) {
  const Tensor x = tensor<float>({2}, dtypes::float32, {2, 1});

  const auto refused = function("call_by_name")("tvm.contrib.sort.sort", x, x, 1, 1);

  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              ::testing::HasSubstr("axis is 1, the tensor has 1 dimensions"));
}

INSTANTIATE_TEST_SUITE_P(Of, ContribRelease, ::testing::ValuesIn(linked_releases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
