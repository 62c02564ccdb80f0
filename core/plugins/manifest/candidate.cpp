// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/candidate.hpp"

namespace gantry {

std::string_view name_of(CandidateState state) {
  constexpr std::string_view names[] = {"found",  "parsed", "trusted",    "eligible", "inspected",
                                        "probed", "loaded", "negotiated", "active"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace gantry
