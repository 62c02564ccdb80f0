// SPDX-License-Identifier: Apache-2.0
#include "plugins/contrib/blas.hpp"
#include "plugins/contrib/product.hpp"
#include "tests/unit/contrib/functions.hpp"

#include <cmath>
#include <limits>

namespace gantry::contrib::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Products : public Functions {
 protected:
  // A matrix of small numbers, [2, 3] or [3, 2].
  Floats a = floats({2, 3}, {1, 2, 3, 4, 5, 6}), b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  Floats c = floats({2, 2}, {1, 1, 1, 1});
};

TEST_F(Products, AreThoseOfEachLibraryByName) {
  for (const char* name :
       {"tvm.contrib.cblas.matmul", "tvm.contrib.mkl.matmul", "tvm.contrib.dnnl.matmul"}) {
    c.data = {NAN, NAN, NAN, NAN};

    done(name, {a.value(), b.value(), c.value(), bool_value(false), bool_value(false)});

    EXPECT_THAT(c.data, ElementsAre(58, 64, 139, 154)) << name;
  }
}

TEST_F(Products, HaveFactors) {
  done("tvm.contrib.cblas.matmul", {a.value(), b.value(), c.value(), int_value(0), int_value(0),
                                    float_value(0.5), int_value(2)});

  EXPECT_THAT(c.data, ElementsAre(31, 34, 71.5, 79));
}

TEST_F(Products, TransposeTheirOperands) {
  done("tvm.contrib.cblas.matmul",
       {b.value(), a.value(), c.value(), bool_value(true), bool_value(true)});

  EXPECT_THAT(c.data, ElementsAre(58, 139, 64, 154));
}

TEST_F(Products, ReadTransposedViewsAndRowsWithGaps) {
  std::int64_t transposed_shape[] = {3, 2}, transposed_strides[] = {1, 3};
  gantry_tensor view =
      compact_tensor(dtypes::float32, transposed_shape, gantry::test::cpu, a.data.data());
  view.strides = transposed_strides;
  std::vector<float> wide(8, -1);
  std::int64_t gaps[] = {4, 1};
  c.tensor.data = wide.data();
  c.tensor.strides = gaps;

  done("tvm.contrib.cblas.matmul",
       {tensor_ref_value(&view), b.value(), c.value(), bool_value(true), bool_value(false)});

  EXPECT_THAT(wide, ElementsAre(58, 64, -1, -1, 139, 154, -1, -1));
}

TEST_F(Products, OfBatchesUseOneMatrixForEach) {
  Floats many = floats({2, 3, 2}, {7, 8, 9, 10, 11, 12, 1, 0, 0, 1, 0, 0});
  Floats one = floats({1, 2, 3}, a.data), out = floats({2, 2, 2}, std::vector<float>(8));

  for (const char* name :
       {"tvm.contrib.cblas.batch_matmul", "tvm.contrib.mkl.batch_matmul_iterative"}) {
    done(name, {one.value(), many.value(), out.value(), bool_value(false), bool_value(false)});

    EXPECT_THAT(out.data, ElementsAre(58, 64, 139, 154, 1, 2, 4, 5));
  }
}

TEST_F(Products, OfBytesAreExact) {
  Numbers<std::uint8_t> x({1, 3}, {255, 255, 1}, dtypes::uint8);
  Numbers<std::int8_t> y({3, 1}, {-128, -128, 127}, dtypes::int8);
  auto out = integers({1, 1}, {7});

  done("tvm.contrib.mkl.matmul_u8s8s32",
       {x.value(), y.value(), out.value(), bool_value(false), bool_value(false)});

  EXPECT_THAT(out.data, ElementsAre(-65153));
}

TEST_F(Products, OfBytesWithFactorsEndAtTheLimitsOfIntegers) {
  Numbers<std::uint8_t> x({1, 1}, {255}, dtypes::uint8);
  Numbers<std::int8_t> y({1, 1}, {100}, dtypes::int8);
  auto out = integers({1, 1}, {7});
  const auto with = [&](double factor) {
    done("tvm.contrib.mkl.matmul_u8s8s32", {x.value(), y.value(), out.value(), bool_value(false),
                                            bool_value(false), float_value(factor)});
    return out.data.front();
  };

  EXPECT_EQ(with(-2), -51000);
  EXPECT_EQ(with(0.00003), 1) << "0.765 is rounded";
  EXPECT_EQ(with(1e9), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(with(-1e300), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(with(std::numeric_limits<double>::quiet_NaN()), 0);
}

// Larger than the blocks of the loop, in all extents.
TEST_F(Products, OfLoopsAreThoseOfSumsInOrder) {
  constexpr std::int64_t m = 70, n = 300, k = 140;
  std::vector<double> x(m * k), y(k * n), z(m * n, 1), expected(m * n);
  for (std::int64_t i = 0; i < m * k; ++i)
    x[static_cast<std::size_t>(i)] = static_cast<double>(i % 7);
  for (std::int64_t i = 0; i < k * n; ++i)
    y[static_cast<std::size_t>(i)] = static_cast<double>(i % 5 - 2);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += x[static_cast<std::size_t>(i * k + l)] * y[static_cast<std::size_t>(j * k + l)];
      expected[static_cast<std::size_t>(i * n + j)] = 2 * sum + 3;
    }
  }
  const Host host(fake.table());
  const Threads threads(host);
  const Work work{host, &env, threads, 3};

  // B is transposed.
  const Status product = multiply<double, double, double>(work, {m, n, k}, 2, {x.data(), k, 1},
                                                          {y.data(), 1, k}, 3, {z.data(), n, 1});

  ASSERT_TRUE(product.ok());
  EXPECT_EQ(z, expected);
}

TEST_F(Products, WithoutInnerElementsAreZero) {
  Floats x = floats({2, 0}, {}), y = floats({0, 2}, {});

  done("tvm.contrib.cblas.matmul",
       {x.value(), y.value(), c.value(), bool_value(false), bool_value(false)});

  EXPECT_THAT(c.data, ElementsAre(0, 0, 0, 0));
}

TEST_F(Products, RecordTheLibraryInTheTrace) {
  fake.tracing = true;
  plugin.~Plugin();
  new (&plugin) Plugin(Host(fake.table()), 0);

  done("tvm.contrib.cblas.matmul",
       {a.value(), b.value(), c.value(), bool_value(false), bool_value(false)});

  const std::string_view name = blas() != nullptr ? blas()->name : "loops";
  EXPECT_THAT(fake.spans, ElementsAre(concat("library:matmul with ", name)));
}

TEST_F(Products, RefuseOperandsThatDoNotFit) {
  Floats narrow = floats({2, 1}, {1, 2}), cube = floats({1, 1, 1}, {1});
  auto other = integers({2, 2}, {1, 1, 1, 1});
  std::int64_t apart[] = {6, 2}, across[] = {1, 2};
  gantry_tensor no_rows = a.tensor, no_row_of_c = c.tensor, unaligned = a.tensor;
  unaligned.byte_offset = 1;
  no_rows.strides = apart;
  no_row_of_c.strides = across;
  const auto message = [&](std::vector<gantry_value> args) {
    args.insert(args.end(), {bool_value(false), bool_value(false)});
    return std::string(error_of("tvm.contrib.cblas.matmul", std::move(args)).message.text());
  };

  EXPECT_THAT(
      message({a.value(), narrow.value(), c.value()}),
      HasSubstr("a product of 2 x 3 and 2 x 1 does not have the 2 x 2 elements of argument 2 (C)"));
  EXPECT_THAT(message({a.value(), b.value(), other.value()}),
              HasSubstr("argument 2 (C) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message({cube.value(), b.value(), c.value()}),
              HasSubstr("argument 0 (A) is a tensor, expected a tensor of rank 2 on the CPU"));
  EXPECT_THAT(message({tensor_ref_value(&no_rows), b.value(), c.value()}),
              HasSubstr("expected a tensor whose rows or columns are adjacent elements"));
  EXPECT_THAT(message({tensor_ref_value(&unaligned), b.value(), c.value()}),
              HasSubstr("argument 0 (A) is float32[2, 3], 1 bytes past a multiple of 4"));
  EXPECT_THAT(
      message({a.value(), b.value(), tensor_ref_value(&no_row_of_c)}),
      HasSubstr("argument 2 (C) is a tensor, expected a tensor whose rows are adjacent elements"));
}

class Convolution : public Functions {
 protected:
  std::vector<gantry_value> arguments(Floats& x, Floats& w, Floats& y,
                                      std::vector<std::int64_t> numbers) {
    std::vector<gantry_value> args = {x.value(), w.value(), y.value()};
    for (const std::int64_t number : numbers) args.push_back(int_value(number));
    args.insert(args.end(), {bool_value(false), bool_value(false)});
    return args;
  }
};

TEST_F(Convolution, PadsAndSteps) {
  Floats x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Floats w = floats({1, 1, 2, 2}, {1, 10, 100, 1000}),
         y = floats({1, 1, 2, 2}, std::vector<float>(4));

  done("tvm.contrib.dnnl.conv2d", arguments(x, w, y, {1, 1, 0, 0, 2, 2, 1, 0}));

  EXPECT_THAT(y.data, ElementsAre(1000, 3200, 7040, 9865));
}

TEST_F(Convolution, OfGroupsWithChannelsLast) {
  // Pixels of two channels, each with a kernel of its own.
  Floats x = floats({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6}), w = floats({1, 2, 1, 2}, {1, 10, 100, 1000});
  Floats y = floats({1, 1, 2, 2}, std::vector<float>(4));

  done("tvm.contrib.dnnl.conv2d", arguments(x, w, y, {0, 0, 0, 0, 1, 1, 2, 1}));

  EXPECT_THAT(y.data, ElementsAre(301, 4020, 503, 6040));
}

TEST_F(Convolution, RefusesAnOutputOfAnotherSize) {
  Floats x = floats({1, 1, 3, 3}, std::vector<float>(9)),
         w = floats({1, 1, 2, 2}, std::vector<float>(4));
  Floats y = floats({1, 1, 2, 3}, std::vector<float>(6));

  EXPECT_THAT(
      error_of("tvm.contrib.dnnl.conv2d", arguments(x, w, y, {0, 0, 0, 0, 1, 1, 1, 0})).message,
      HasSubstr("a convolution of float32[1, 1, 3, 3] with float32[1, 1, 2, 2] in 1 groups is no "
                "float32[1, 1, 2, 3]"));
  EXPECT_THAT(
      error_of("tvm.contrib.dnnl.conv2d", arguments(x, w, y, {0, 0, 0, 0, 0, 1, 1, 0})).message,
      HasSubstr("argument 7 (stride_h) is 0, expected a number from 1"));
}

}  // namespace
}  // namespace gantry::contrib::test
