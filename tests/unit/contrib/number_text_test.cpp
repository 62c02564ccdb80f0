// SPDX-License-Identifier: Apache-2.0
#include "plugins/contrib/number_text.hpp"

#include "tests/unit/contrib/functions.hpp"

#include <gantry/half.hpp>

#include <cmath>
#include <cstring>

namespace gantry::contrib::test {
namespace {

// Elements of a type from numbers.
std::vector<char> elements_of(gantry_dtype type, const std::vector<double>& numbers) {
  std::vector<char> bytes;
  const auto add = [&](auto element) {
    const auto* const begin = reinterpret_cast<const char*>(&element);
    bytes.insert(bytes.end(), begin, begin + sizeof element);
  };
  for (const double number : numbers) {
    const bool is_float = type.code == dtypes::float32.code;
    if (type.bits == 8) add(static_cast<std::int8_t>(static_cast<int>(number)));
    if (type.bits == 16)
      is_float ? add(half_of(number))
               : add(static_cast<std::uint16_t>(static_cast<std::int16_t>(number)));
    if (type.bits == 32)
      is_float ? add(static_cast<float>(number)) : add(static_cast<std::int32_t>(number));
    if (type.bits == 64) is_float ? add(number) : add(static_cast<std::int64_t>(number));
  }
  return bytes;
}

struct ShownTensor {
  const char* name;
  gantry_dtype type;
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;
  // str() of NumPy
  const char* text;
};
void PrintTo(const ShownTensor& tensor, std::ostream* out) { *out << tensor.name; }

class TensorLines : public ::testing::TestWithParam<ShownTensor> {};

TEST_P(TensorLines, AreThoseOfNumPy) {
  const std::vector<char> data = elements_of(GetParam().type, GetParam().numbers);

  const auto text = tensor_lines(
      compact_tensor(GetParam().type, GetParam().shape, gantry::test::cpu, data.data()));

  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_EQ(*text, GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Of, TensorLines,
    ::testing::Values(
        ShownTensor{"Columns",
                    dtypes::float32,
                    {2, 2},
                    {0.0, 0.3333333432674408, 0.6666666865348816, -1.0},
                    "[[ 0.          0.33333334]\n"
                    " [ 0.6666667  -1.        ]]"},
        ShownTensor{"DoublesCutToEightDigits",
                    dtypes::float64,
                    {3},
                    {0.3333333333333333, 0.6666666666666666, 0.001},
                    "[0.33333333 0.66666667 0.001     ]"},
        ShownTensor{"ExponentsOfLargeNumbers",
                    dtypes::float64,
                    {2},
                    {100000000.0, 1.5},
                    "[1.0e+08 1.5e+00]"},
        ShownTensor{"ExponentsOfSmallNumbers",
                    dtypes::float32,
                    {3},
                    {9.999999747378752e-06, 1.0, -2.499999993688107e-07},
                    "[ 1.0e-05  1.0e+00 -2.5e-07]"},
        ShownTensor{"ExponentsOfDistantNumbers",
                    dtypes::float32,
                    {2},
                    {1.0, 1001.0},
                    "[1.000e+00 1.001e+03]"},
        ShownTensor{
            "NoExponentsUpToAThousand", dtypes::float32, {2}, {1.0, 1000.0}, "[   1. 1000.]"},
        ShownTensor{
            "ThreeDigitsOfExponents", dtypes::float64, {2}, {1e-200, 1.0}, "[1.e-200 1.e+000]"},
        ShownTensor{"SpecialNumbers",
                    dtypes::float64,
                    {5},
                    {NAN, INFINITY, -INFINITY, 1.5, -0.0},
                    "[ nan  inf -inf  1.5 -0. ]"},
        ShownTensor{"SpecialNumbersAlone", dtypes::float32, {2}, {NAN, -INFINITY}, "[ nan -inf]"},
        ShownTensor{"Halves",
                    dtypes::float16,
                    {4},
                    {0.0999755859375, 0.333251953125, 65504.0, 5.960464477539063e-08},
                    "[9.998e-02 3.333e-01 6.550e+04 5.960e-08]"},
        ShownTensor{"HalvesInColumns",
                    dtypes::float16,
                    {3},
                    {0.0999755859375, 0.333251953125, 2.0},
                    "[0.1    0.3333 2.    ]"},
        ShownTensor{"Integers",
                    dtypes::int64,
                    {2, 2},
                    {1, -20, 300, 4},
                    "[[  1 -20]\n"
                    " [300   4]]"},
        ShownTensor{"Bytes", dtypes::uint8, {2}, {0, 255}, "[  0 255]"},
        ShownTensor{"Booleans", {6, 8, 1}, {2}, {1, 0}, "[ True False]"},
        ShownTensor{"ThreeAxes",
                    dtypes::int32,
                    {2, 2, 2},
                    {0, 1, 2, 3, 4, 5, 6, 7},
                    "[[[0 1]\n"
                    "  [2 3]]\n"
                    "\n"
                    " [[4 5]\n"
                    "  [6 7]]]"},
        ShownTensor{"LongLines",
                    dtypes::int32,
                    {30},
                    {0,     1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,
                     10000, 11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000,
                     20000, 21000, 22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000},
                    "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
                    " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
                    " 24000 25000 26000 27000 28000 29000]"},
        ShownTensor{"Scalar", dtypes::float32, {}, {0.10000000149011612}, "0.1"},
        ShownTensor{"ScalarWithoutFraction", dtypes::float64, {}, {3.0}, "3.0"},
        ShownTensor{"ScalarWithExponent", dtypes::float64, {}, {1e+16}, "1e+16"},
        ShownTensor{"SmallScalar", dtypes::float32, {}, {9.999999747378752e-06}, "1e-05"},
        ShownTensor{"LargeScalar", dtypes::float64, {}, {123456789012.0}, "123456789012.0"},
        ShownTensor{"IntegerScalar", dtypes::int8, {}, {-7}, "-7"},
        ShownTensor{"BooleanScalar", {6, 8, 1}, {}, {1}, "True"},
        ShownTensor{"Empty", dtypes::float32, {2, 0}, {}, "[]"},
        ShownTensor{"AllTrue", {6, 8, 1}, {2}, {1, 1}, "[ True  True]"}),
    [](const auto& test) { return test.param.name; });

std::string counted(std::vector<std::int64_t> shape, std::int64_t count) {
  std::vector<std::int32_t> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(static_cast<std::int32_t>(i));
  return tensor_lines(compact_tensor(dtypes::int32, shape, gantry::test::cpu, numbers.data()))
      .value();
}

TEST(TensorText, SummarizesMoreThanAThousandElements) {
  EXPECT_EQ(counted({1001}, 1001), "[   0    1    2 ...  998  999 1000]");
  EXPECT_EQ(counted({1000}, 1000).size(), 4056u) << "all of them";
  EXPECT_EQ(counted({2, 300, 2}, 1200),
            "[[[   0    1]\n  [   2    3]\n  [   4    5]\n  ...\n  [ 594  595]\n  [ 596  597]\n"
            "  [ 598  599]]\n\n [[ 600  601]\n  [ 602  603]\n  [ 604  605]\n  ...\n  [1194 1195]\n"
            "  [1196 1197]\n  [1198 1199]]]");
}

TEST(TensorText, BreaksLongLines) {
  std::vector<std::int32_t> numbers(30);
  for (std::int32_t i = 0; i < 30; ++i) numbers[static_cast<std::size_t>(i)] = 1000 * i;
  const std::int64_t shape[] = {30};

  EXPECT_EQ(*tensor_lines(compact_tensor(dtypes::int32, shape, gantry::test::cpu, numbers.data())),
            "[    0  1000  2000  3000  4000  5000  6000  7000  8000  9000 10000 11000\n"
            " 12000 13000 14000 15000 16000 17000 18000 19000 20000 21000 22000 23000\n"
            " 24000 25000 26000 27000 28000 29000]");
}

TEST(TensorText, RefusesTypesThatNumPyDoesNotHave) {
  const std::int64_t shape[] = {1};
  const float zero = 0;

  const auto text = tensor_lines(compact_tensor({12, 8, 1}, shape, gantry::test::cpu, &zero));

  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().message, "a text of float8_e5m2 with 1 dimensions is not supported");
}

TEST(FloatText, IsThatOfPython) {
  const std::pair<double, const char*> cases[] = {
      {0.5, "0.5"},
      {3, "3.0"},
      {-0.0, "-0.0"},
      {1e16, "1e+16"},
      {123456789012345680, "1.2345678901234568e+17"},
      {1e15, "1000000000000000.0"},
      {0.0001, "0.0001"},
      {0.00001, "1e-05"},
      {2.0000000233721948e-07, "2.0000000233721948e-07"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {NAN, "nan"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(float_text(number), text);
}

}  // namespace
}  // namespace gantry::contrib::test
