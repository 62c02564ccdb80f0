// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices by plain loops, for hosts and types without a library.
#pragma once

#include "threads.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace gantry::contrib {

// op(A), op(B) or C: element (i, j) is at i * row + j * column.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t row, column;

  T& at(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
};

struct ProductSize {
  std::int64_t m, n, k;
};

// Returns the nearest element; that of a NaN is 0.
template <class C>
C element_of(double value) {
  if constexpr (std::is_integral_v<C>) {
    if (std::isnan(value)) return 0;
    value = std::clamp(std::nearbyint(value), static_cast<double>(std::numeric_limits<C>::min()),
                       static_cast<double>(std::numeric_limits<C>::max()));
  }
  return static_cast<C>(value);
}

// C = alpha A B + beta C. Rows of C are computed in parallel, and C is not read if beta is 0.
template <class A, class B, class C>
Status multiply(const Work& work, ProductSize size, double alpha, MatrixView<const A> a,
                MatrixView<const B> b, double beta, MatrixView<C> c) {
  // Rows of A and C, and a part of B, which stay in the cache together.
  constexpr std::int64_t max_rows = 64, max_depth = 128, max_columns = 256;
  // Sums of integers wrap around.
  using Sum = typename std::conditional_t<std::is_integral_v<C>, std::make_unsigned<C>,
                                          std::type_identity<C>>::type;
  return work.in_pieces(size.m, [&](Piece piece, std::int64_t) -> Status {
    std::vector<Sum> part(static_cast<std::size_t>(max_depth * max_columns));
    std::vector<Sum> sums(static_cast<std::size_t>(max_rows * max_columns));
    for (std::int64_t i = piece.begin; i < piece.end; i += max_rows) {
      const std::int64_t rows = std::min(max_rows, piece.end - i);
      for (std::int64_t j = 0; j < size.n; j += max_columns) {
        const std::int64_t columns = std::min(max_columns, size.n - j);
        std::ranges::fill(sums, Sum{});
        for (std::int64_t k = 0; k < size.k; k += max_depth) {
          GANTRY_CHECK(work.host.check_task(work.env));
          const std::int64_t depth = std::min(max_depth, size.k - k);
          for (std::int64_t x = 0; x < depth; ++x) {
            for (std::int64_t y = 0; y < columns; ++y)
              part[static_cast<std::size_t>(x * max_columns + y)] =
                  static_cast<Sum>(b.at(k + x, j + y));
          }
          for (std::int64_t row = 0; row < rows; ++row) {
            Sum* const sum = sums.data() + row * max_columns;
            for (std::int64_t x = 0; x < depth; ++x) {
              const auto factor = static_cast<Sum>(a.at(i + row, k + x));
              const Sum* const of_b = part.data() + x * max_columns;
              for (std::int64_t y = 0; y < columns; ++y) sum[y] += factor * of_b[y];
            }
          }
        }
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t y = 0; y < columns; ++y) {
            const auto sum = static_cast<C>(sums[static_cast<std::size_t>(row * max_columns + y)]);
            C& to = c.at(i + row, j + y);
            if (alpha == 1 && beta == 0) {
              to = sum;
            } else {
              const double before = beta != 0 ? beta * static_cast<double>(to) : 0;
              to = element_of<C>(alpha * static_cast<double>(sum) + before);
            }
          }
        }
      }
    }
    return {};
  });
}

}  // namespace gantry::contrib
