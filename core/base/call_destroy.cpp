// SPDX-License-Identifier: Apache-2.0
#include "core/base/call_destroy.hpp"

#include <cstdio>

namespace gantry {

void report_destroy(std::string_view owner, const Error& thrown) noexcept {
  std::fprintf(stderr, "gantry: destroy of %.*s throws: %s; what it has not freed is lost\n",
               static_cast<int>(owner.size()), owner.data(), thrown.message.c_str());
}

}  // namespace gantry
