// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/common/arg_spec.hpp"

#include "core/base/text.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

namespace gantry::cli {
namespace {

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Result<std::vector<std::int64_t>> parse_shape(std::string_view list, std::string_view whole) {
  std::vector<std::int64_t> shape;
  if (trimmed(list).empty()) return shape;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view item = trimmed(list.substr(0, comma));
    const auto extent = parse_number<std::int64_t>(item);
    if (!extent || *extent < 0) {
      return invalid("argument ", quoted(whole), ": extent ", shape.size(), " is ", quoted(item),
                     ", expected an integer >= 0");
    }
    shape.push_back(*extent);
    if (comma == std::string_view::npos) return shape;
    list.remove_prefix(comma + 1);
  }
}

// "float32[16]"
Result<ArgSpec> parse_zeros(std::string_view text, std::string_view whole) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || text.back() != ']') {
    return invalid("argument ", quoted(whole), " has no shape, expected zeros:float32[2, 16]");
  }
  auto dtype = parse_dtype(text.substr(0, open));
  if (!dtype.ok()) return std::move(dtype).error().at("in argument ", quoted(whole));
  GANTRY_TRY(auto shape, parse_shape(text.substr(open + 1, text.size() - open - 2), whole));
  return ArgSpec(ZerosArg{dtype.value(), std::move(shape)});
}

// "[2, 16]"
Result<ArgSpec> parse_shape_arg(std::string_view text, std::string_view whole) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']')
    return invalid("argument ", quoted(whole), " has no brackets, expected shape:[2, 16]");
  GANTRY_TRY(auto shape, parse_shape(text.substr(1, text.size() - 2), whole));
  return ArgSpec(ShapeArg{std::move(shape)});
}

}  // namespace

Result<ArgSpec> parse_arg(std::string_view text) {
  std::string_view rest = text;
  if (rest == "none") return ArgSpec(NoneArg{});
  if (take_prefix(rest, "str:")) return ArgSpec(std::string(rest));
  if (take_prefix(rest, "zeros:")) return parse_zeros(rest, text);
  if (take_prefix(rest, "shape:")) return parse_shape_arg(rest, text);
  if (take_prefix(rest, "int:")) {
    if (const auto value = parse_number<std::int64_t>(rest)) return ArgSpec(*value);
    return invalid("argument ", quoted(text), ": ", quoted(rest), " is not a 64-bit integer");
  }
  if (take_prefix(rest, "float:")) {
    if (const auto value = parse_number<double>(rest)) return ArgSpec(*value);
    return invalid("argument ", quoted(text), ": ", quoted(rest), " is not a number");
  }
  if (rest.size() > 4 && rest.ends_with(".npy")) return ArgSpec(FileArg{std::string(rest)});
  return invalid("argument ", quoted(text),
                 " has an unknown form, expected FILE.npy, zeros:float32[16], int:3, float:0.5, "
                 "shape:[2, 16], str:text or none");
}

Result<InputSpec> parse_input(std::string_view text) {
  constexpr std::string_view member_mark = ".npz:";
  const std::size_t equals = text.find('=');
  const bool named = equals != std::string_view::npos;
  InputSpec input{std::string(named ? text.substr(0, equals) : ""),
                  std::string(named ? text.substr(equals + 1) : text), ""};
  const std::size_t mark = input.path.rfind(member_mark);
  if (named && mark != std::string::npos) {
    input.member = input.path.substr(mark + member_mark.size());
    input.path.resize(mark + member_mark.size() - 1);
  }
  const bool is_array_file = input.path.ends_with(".npz") || input.path.ends_with(".npy");
  if (equals == 0 || input.path.empty() || (!named && !is_array_file)) {
    return invalid("input ", quoted(text),
                   " has an unknown form, expected FILE.npz for all inputs, NAME=FILE.npy or "
                   "NAME=FILE.npz:MEMBER");
  }
  return input;
}

}  // namespace gantry::cli
