// SPDX-License-Identifier: Apache-2.0
#include "core/formats/opencl_text.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text.hpp"

#include <gantry/generator.hpp>
#include <gantry/quoted.hpp>

#include <set>
#include <vector>

namespace gantry {
namespace {

// The words of a text that a parenthesis follows, as in the definition of a function.
std::vector<std::string_view> called_names(std::string_view text) {
  std::set<std::string_view> names;
  for (std::size_t open = text.find('('); open != text.npos; open = text.find('(', open + 1)) {
    std::size_t first = open;
    while (first != 0 && is_identifier_character(text[first - 1])) --first;
    if (first != open) names.insert(text.substr(first, open - first));
  }
  return {names.begin(), names.end()};
}

}  // namespace

Status append_opencl_program(std::string& text, std::string_view kernel, std::string_view name,
                             std::string_view source) {
  if (source.find(kernel) == source.npos) {
    return no_kernel(name, kernel, opencl_kernel_declaration,
                     did_you_mean(kernel, called_names(source)));
  }
  if (source.starts_with(opencl_marker) ||
      source.find(concat("\n", opencl_marker)) != source.npos) {
    return unsupported("source ", quoted(name), " has a line that begins with \"", opencl_marker,
                       "\", which loaders interpret as the start of the next kernel")
        .with_reason("KERNEL_BUILD");
  }
  text += concat(opencl_marker, kernel, "\n", source, "\n");
  return {};
}

}  // namespace gantry
