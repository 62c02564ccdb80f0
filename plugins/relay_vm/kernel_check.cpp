// SPDX-License-Identifier: Apache-2.0
#include "kernel_check.hpp"

#include <gantry/concat.hpp>

#include <charconv>
#include <cstdint>
#include <utility>

namespace gantry::relay {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters_of_dtypes = "abcdefghijklmnopqrstuvwxyz0123456789_";

// Removes a number from the beginning of a text.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The number of the argument whose name ends a text: "arg.p0" and, of earlier releases, "arg0".
std::optional<std::size_t> argument_at_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(digits);
  if (last == std::string_view::npos) return std::nullopt;
  std::string_view number = text.substr(last + 1);
  const std::string_view name = text.substr(0, last + 1);
  if (!name.ends_with(" arg.p") && !name.ends_with(" arg")) return std::nullopt;
  return take_number(number);
}

// What a property is expected to be; empty: the text states none.
std::string expectation(std::string_view& rest, std::string_view property) {
  if (property == ".ndim is expected to equal ") {
    const auto count = take_number(rest);
    return count ? concat(*count, *count == 1 ? " dimension" : " dimensions") : std::string();
  }
  if (property == ".dtype is expected to be ")
    return std::string(rest.substr(0, rest.find_first_not_of(letters_of_dtypes)));
  const auto axis = take_number(rest);
  if (!axis || !take(rest, "] has an unsatisfied constraint: ")) return {};
  take(rest, "(");
  const auto extent = take_number(rest);
  return extent ? concat("extent ", *extent, " in dimension ", *axis) : std::string();
}

}  // namespace

std::optional<KernelCheck> read_kernel_check(std::string_view text) {
  for (const std::string_view property :
       {".ndim is expected to equal ", ".dtype is expected to be ", ".shape["}) {
    // An expression before the text also contains ".shape[" in some releases.
    for (std::size_t at = text.find(property); at != std::string_view::npos;
         at = text.find(property, at + 1)) {
      const auto argument = argument_at_end(text.substr(0, at));
      std::string_view rest = text.substr(at + property.size());
      std::string expected = expectation(rest, property);
      if (argument && !expected.empty())
        return KernelCheck{*argument, std::move(expected), property.starts_with(".dtype")};
    }
  }
  return std::nullopt;
}

}  // namespace gantry::relay
