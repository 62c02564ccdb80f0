// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/checked.hpp"

#include <gantry/kind_text.hpp>

namespace gantry {

Status check_text(const gantry_bytes& text, std::string_view function, std::string_view name) {
  if (is_text(text)) return {};
  if (text.data == nullptr) {
    return invalid(function, ": ", name, " has ", text.size, " bytes at address 0")
        .with_reason("ARGUMENT_KIND");
  }
  return invalid(function, ": ", name, " has ", text.size, " bytes, maximum is ", PTRDIFF_MAX)
      .with_reason("ARGUMENT_KIND");
}

Status check_pointer(const void* pointer, std::string_view function, std::string_view name) {
  if (pointer != nullptr) return {};
  return invalid(function, ": ", name, " is NULL").with_reason("ARGUMENT_KIND");
}

Status check_elements(const void* first, std::uint64_t count, std::size_t size,
                      std::string_view function, std::string_view name) {
  if (count == 0) return {};
  GANTRY_CHECK(check_pointer(first, function, name));
  const std::uint64_t max = static_cast<std::uint64_t>(PTRDIFF_MAX) / size;
  if (count <= max) return {};
  return invalid(function, ": ", name, " has ", static_cast<std::int64_t>(count),
                 " elements, range is 0 to ", max)
      .with_reason("ARGUMENT_KIND");
}

Status check_values(std::span<const gantry_value> values, std::string_view function,
                    std::string_view name) {
  const auto null = std::ranges::find_if(values, is_null);
  if (null == values.end()) return {};
  return invalid(function, ": ", name, "[", null - values.begin(), "] is ", kind_text(null->kind),
                 " at address 0")
      .with_reason("ARGUMENT_KIND");
}

}  // namespace gantry
