// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/candidate.hpp"

#include <algorithm>
#include <iterator>

namespace gantry {

void Candidate::stop(const Error& error) {
  Reason why = reason_of(error);
  if (!why) why = error.code == Code::not_found ? reason::not_found : reason::unreadable;
  stop(why, error.message);
}

bool Candidate::was_refused() const {
  using namespace reason;
  if (!stopped() || passed < Step::trusted || passed >= Step::opened) return false;
  // Decisions about several candidates, and causes that are not the plugin's.
  constexpr Reason others[] = {shadowed_by,       duplicate_of,  restart_needed,
                               reason::exhausted, probe_missing, probe_failed};
  return std::ranges::find(others, reason) == std::end(others);
}

}  // namespace gantry
