// SPDX-License-Identifier: Apache-2.0
#include "core/base/sanitizer.hpp"

#include <gantry/note.h>
#include <gantry/concat.hpp>

#include <dlfcn.h>

namespace gantry {

const std::array<std::pair<const char*, std::uint32_t>, 4> sanitizer_starts{{
    {"__asan_init", GANTRY_SANITIZER_ADDRESS},
    {"__tsan_init", GANTRY_SANITIZER_THREAD},
    {"__msan_init", GANTRY_SANITIZER_MEMORY},
    {"__hwasan_init", GANTRY_SANITIZER_HWADDRESS},
}};

std::uint32_t sanitizer_of_process() {
  if constexpr (GANTRY_SANITIZER != GANTRY_SANITIZER_NONE) return GANTRY_SANITIZER;
  static const std::uint32_t preloaded = [] {
    for (const auto& [start, sanitizer] : sanitizer_starts) {
      if (::dlsym(RTLD_DEFAULT, start) != nullptr) return sanitizer;
    }
    return std::uint32_t{GANTRY_SANITIZER_NONE};
  }();
  return preloaded;
}

std::string sanitizer_text(std::uint32_t sanitizer) {
  switch (sanitizer) {
    case GANTRY_SANITIZER_NONE:
      return "no sanitizer";
    case GANTRY_SANITIZER_ADDRESS:
      return "the address sanitizer";
    case GANTRY_SANITIZER_THREAD:
      return "the thread sanitizer";
    case GANTRY_SANITIZER_MEMORY:
      return "the memory sanitizer";
    case GANTRY_SANITIZER_HWADDRESS:
      return "the hwaddress sanitizer";
    default:
      return concat("sanitizer ", sanitizer);
  }
}

}  // namespace gantry
