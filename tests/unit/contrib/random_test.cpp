// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/contrib/functions.hpp"

#include <gantry/half.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gantry::contrib::test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Lt;

class Random : public Functions {
 protected:
  std::vector<float> seeded(const char* name, std::int64_t seed, std::int64_t second, double first,
                            double last, std::int64_t count) {
    Floats out = floats({count}, std::vector<float>(static_cast<std::size_t>(count)));
    done(name,
         {int_value(seed), int_value(second), float_value(first), float_value(last), out.value()});
    return out.data;
  }
};

// tests/golden/data/functions/random_seeded compares many more with TVM's.
TEST_F(Random, NumbersOfASeedAreTheSameInEachCall) {
  for (const char* name : {"tvm.contrib.random.uniform", "tvm.contrib.random.normal"}) {
    const auto numbers = seeded(name, 7, -3, 1, 4, 9);

    EXPECT_EQ(seeded(name, 7, -3, 1, 4, 9), numbers);
    EXPECT_NE(seeded(name, 7, -2, 1, 4, 9), numbers);
    EXPECT_NE(seeded(name, 0, 0, 1, 4, 9), seeded(name, 0, 0, 1, 4, 9)) << "two zeros are no seed";
  }
}

TEST_F(Random, NumbersAreOfTheirRange) {
  Floats out = floats({1000}, std::vector<float>(1000));

  done("tvm.contrib.random.uniform", {int_value(-2), bool_value(true), out.value()});

  EXPECT_THAT(out.data, Each(AllOf(Ge(-2.0F), Lt(1.0F))));
}

template <class T>
class RandomIntegers : public Random {};
using IntegerTypes = ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                      std::int32_t, std::uint32_t>;
TYPED_TEST_SUITE(RandomIntegers, IntegerTypes);

TYPED_TEST(RandomIntegers, HaveTheRangeThatTheirTypeHas) {
  using Limits = std::numeric_limits<TypeParam>;
  const gantry_dtype dtype =
      dtypes::of(Limits::is_signed ? TypeCode::int_ : TypeCode::uint, 8 * sizeof(TypeParam));
  Numbers<TypeParam> out({2000}, std::vector<TypeParam>(2000), dtype);

  this->done("tvm.contrib.random.randint", {int_value(3), int_value(6), out.value()});

  EXPECT_THAT(out.data, Each(AllOf(Ge(3), Le(5))));
  EXPECT_TRUE(std::ranges::count(out.data, 3) > 0 && std::ranges::count(out.data, 5) > 0);

  this->done("tvm.contrib.random.randint",
             {int_value(INT64_MIN), int_value(INT64_MAX), out.value()});

  EXPECT_GT(*std::ranges::max_element(out.data), Limits::max() / 2);

  EXPECT_THAT(this->error_of("tvm.contrib.random.randint",
                             {int_value(INT64_MAX - 1), int_value(INT64_MAX), out.value()})
                  .message,
              ::testing::HasSubstr(concat("no number of ", dtype_text(dtype), " is from")));
}

TEST_F(Random, FillsElementsByTheirSize) {
  const auto filled = [&]<class T>(std::vector<T> data, gantry_dtype dtype) {
    const auto size = static_cast<std::int64_t>(data.size());
    Numbers<T> out({size}, std::move(data), dtype);
    done("tvm.contrib.random.random_fill_for_measure", {out.value()});
    return out.data;
  };

  EXPECT_THAT(filled(std::vector<std::int8_t>(100), dtypes::int8), Each(AllOf(Ge(1), Le(9))));
  EXPECT_THAT(filled(std::vector<float>(70'001), dtypes::float32),
              Each(AllOf(Ge(1.0F), Le(10.0F))));
  EXPECT_THAT(filled(std::vector<double>(100), dtypes::int64), Each(AllOf(Ge(1.0), Lt(10.0))));
  for (const std::uint16_t bits : filled(std::vector<std::uint16_t>(100), dtypes::bfloat16))
    EXPECT_THAT(float_of_half(bits), AllOf(Ge(1.0F), Le(10.0F)));
}

TEST_F(Random, FillsTensorsOfOtherDevices) {
  const Host host(fake.table());
  const std::int64_t shape[] = {5};
  const Value out =
      host.tensor_new(compact_tensor(dtypes::float64, shape, gantry::test::handles)).value();

  done("tvm.contrib.random.random_fill", {out.get()});

  const auto* const numbers = reinterpret_cast<const double*>(fake.memory_of(*out.tensor()));
  EXPECT_THAT(std::vector<double>(numbers, numbers + 5), Each(AllOf(Ge(1.0), Lt(10.0))));
}

TEST_F(Random, FillNothingOfAnEmptyTensor) {
  Floats out = floats({3, 0}, {});

  done("tvm.contrib.random.uniform", {float_value(0), float_value(1), out.value()});
  done("tvm.contrib.random.random_fill", {out.value()});
}

struct RefusedNumbers {
  const char* function;
  double first, second;
  const char* message;
};
class RandomRefuses : public Functions, public ::testing::WithParamInterface<RefusedNumbers> {};

TEST_P(RandomRefuses, NumbersWithoutARange) {
  Floats out = floats({2}, {7, 7});

  const Error error = error_of(GetParam().function, {float_value(GetParam().first),
                                                     float_value(GetParam().second), out.value()});

  EXPECT_EQ(error.message, GetParam().message);
  EXPECT_EQ(fake.error_kinds.back(), "InternalError");
  EXPECT_THAT(out.data, ElementsAre(7, 7));
}

INSTANTIATE_TEST_SUITE_P(
    Of, RandomRefuses,
    ::testing::Values(RefusedNumbers{"tvm.contrib.random.uniform", 1, 1,
                                     "uniform(low, high, out): the numbers are from 1 to below 1"},
                      RefusedNumbers{
                          "tvm.contrib.random.uniform", NAN, 1,
                          "uniform(low, high, out): the numbers are from nan to below 1"},
                      RefusedNumbers{"tvm.contrib.random.normal", 1, 0,
                                     "normal(mean, deviation, out): the deviation is 0, expected a "
                                     "positive number"}));

TEST_F(Random, RefusesTensorsThatItCannotFill) {
  auto integers_ = integers({2}, {7, 7});
  Floats out = floats({2}, {7, 7});
  gantry_tensor bits = out.tensor, nothing = out.tensor;
  bits.dtype = {1, 1, 1};
  nothing.dtype = {3, 0, 0};

  EXPECT_EQ(
      error_of("tvm.contrib.random.uniform", {float_value(0), float_value(1), integers_.value()})
          .message,
      "uniform(low, high, out): argument 2 (out) is a tensor, expected a tensor "
      "of float32");
  EXPECT_EQ(
      error_of("tvm.contrib.random.randint", {int_value(0), int_value(1), out.value()}).message,
      "randint(low, high, out): argument 2 (out) is a tensor, expected a tensor of integers of "
      "8, 16 or 32 bits");
  EXPECT_EQ(
      error_of("tvm.contrib.random.random_fill", {tensor_ref_value(&bits)}).message,
      "random_fill(out): argument 0 (out) is a tensor, expected a tensor of elements of 8, 16, "
      "32 or 64 bits");
  EXPECT_EQ(
      error_of("tvm.contrib.random.random_fill", {tensor_ref_value(&nothing)}).message,
      "random_fill(out): argument 0 (out) is a tensor, expected a tensor of elements of 8, 16, "
      "32 or 64 bits");
  EXPECT_EQ(error_of("tvm.contrib.random.normal", {out.value()}).message,
            "normal(seed, seed2, mean, deviation, out): argument count is 1, expected 3, or 5 with "
            "seeds");
}

}  // namespace
}  // namespace gantry::contrib::test
