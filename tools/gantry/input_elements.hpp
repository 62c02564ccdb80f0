// SPDX-License-Identifier: Apache-2.0
//
// Elements of inputs that the command makes: words and numbers of --input.
#pragma once

#include "tools/gantry/common/input_spec.hpp"

#include <gantry/embed.hpp>
#include <gantry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace gantry::cli {

// Random numbers that are the same on every host: the generator and its seed are those of the C++
// standard, std::mt19937_64 with std::seed_seq, and each number is one of its results, mapped by
// exact arithmetic.
class RandomNumbers {
 public:
  // input    [in]   its position in the model: inputs of one seed differ
  // item     [in]   of a tuple, counted through tuples in it
  RandomNumbers(std::uint64_t seed, std::size_t input, std::size_t item = 0);

  // Returns a multiple of 2^-53 in [0, 1).
  double fraction() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }
  // count    [in]   0: 2^64
  std::uint64_t below(std::uint64_t count) {
    const std::uint64_t number = generator_();
    return count == 0 ? number : number % count;
  }

 private:
  std::mt19937_64 generator_;
};

// Fills a tensor on the CPU.
//
// random   [in,out] the generator of the seed of `fill`; others do not use it
// title    [in]   for messages: `input "x" of the model`
// returns  invalid      the range contains no element of the type, or exceeds those that it has
//          unsupported  ones or random elements of a type that is no number
Status fill_elements(const Tensor& tensor, const FillValue& fill, RandomNumbers& random,
                     std::string_view title);

// Returns an integer of a range, by default 0 or 1.
//
// returns  invalid: LOW or HIGH is no integer of 64 bits
Result<std::int64_t> random_integer(const FillValue& fill, RandomNumbers& random,
                                    std::string_view title);
// Returns a number of a range, by default [-1, 1).
double random_number(const FillValue& fill, RandomNumbers& random);

// Calls a function with the text of each number of a list. Blanks, commas and line breaks separate
// them; a "#" begins a comment of a line.
//
// visit    [in]   Status(std::size_t index, std::string_view text)
template <class Visit>
Status for_each_number(std::string_view list, Visit&& visit) {
  constexpr std::string_view separators = " ,\t\r\n";
  std::size_t index = 0;
  while (true) {
    const std::size_t begin = list.find_first_not_of(separators);
    if (begin == list.npos) return {};
    list.remove_prefix(begin);
    if (list.front() == '#') {
      list.remove_prefix(std::min(list.find('\n'), list.size()));
      continue;
    }
    const std::size_t end = std::min(list.find_first_of(separators), list.size());
    GANTRY_CHECK(visit(index++, list.substr(0, end)));
    list.remove_prefix(end);
  }
}
std::uint64_t count_numbers(std::string_view list);

// Writes the numbers of a list to a tensor on the CPU.
//
// list     [in]   as many numbers as the tensor has elements
// returns  invalid      one is no number, or none of the type
//          unsupported  the type is no number
Status write_numbers(const Tensor& tensor, std::string_view list, std::string_view title);

}  // namespace gantry::cli
