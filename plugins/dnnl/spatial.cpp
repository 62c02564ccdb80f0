// SPDX-License-Identifier: Apache-2.0
#include "spatial.hpp"

namespace gantry::dnnl_plugin {
namespace {

// A larger number would overflow the extents that are computed with it.
constexpr std::int64_t max_step = INT32_MAX;

Status check_range(const Operator& op, std::string_view attribute, const Dims& numbers,
                   std::int64_t min) {
  for (const std::int64_t number : numbers) {
    if (number < min || number > max_step) {
      return op.attributes.refuse(attribute, " has ", number, ", range is ", min, " to ", max_step);
    }
  }
  return {};
}

}  // namespace

Result<Window> read_window(const Operator& op, std::size_t rank) {
  Window window;
  GANTRY_TRY(window.strides, op.attributes.integers("strides", rank));
  GANTRY_CHECK(check_range(op, "strides", window.strides, 1));
  window.dilations.assign(rank, 1);
  if (op.attributes.has("dilation")) {
    GANTRY_TRY(window.dilations, op.attributes.integers("dilation", rank));
    GANTRY_CHECK(check_range(op, "dilation", window.dilations, 1));
  }
  for (std::int64_t& dilation : window.dilations) --dilation;
  GANTRY_TRY(Dims padding, op.attributes.integers("padding"));
  GANTRY_CHECK(check_range(op, "padding", padding, 0));
  if (padding.size() == 1) padding.assign(rank, padding.front());
  if (padding.size() == rank) padding.insert(padding.end(), padding.begin(), padding.end());
  if (padding.size() != 2 * rank) {
    return op.attributes.refuse("padding", " has ", padding.size(), " numbers, expected 1, ", rank,
                                " or ", 2 * rank);
  }
  const auto middle = padding.begin() + static_cast<std::ptrdiff_t>(rank);
  window.padding_begin.assign(padding.begin(), middle);
  window.padding_end.assign(middle, padding.end());
  return window;
}

}  // namespace gantry::dnnl_plugin
