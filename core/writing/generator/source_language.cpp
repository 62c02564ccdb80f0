// SPDX-License-Identifier: Apache-2.0
#include "core/writing/generator/source_language.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace gantry {

std::string language_of(std::string_view file) {
  struct Suffix {
    std::string_view suffix, language;
  };
  constexpr Suffix suffixes[] = {
      {".cu", "cuda"}, {".cl", "opencl"}, {".comp", "glsl"}, {".glsl", "glsl"}, {".spv", "spirv"}};
  const std::string suffix = std::filesystem::path(file).extension().string();
  const auto* known = std::ranges::find(suffixes, std::string_view(suffix), &Suffix::suffix);
  if (known != std::end(suffixes)) return std::string(known->language);
  return suffix.empty() ? std::string() : suffix.substr(1);
}

}  // namespace gantry
