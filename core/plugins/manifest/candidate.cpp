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
  constexpr Reason others[] = {
      // decisions about several candidates, and what this process has opened
      shadowed_by, duplicate_of, restart_needed, stale_mapped,
      // the state of the host
      no_device_node, file_missing, driver_missing, driver_too_old, create_failed, unreadable,
      library_unreadable, replaced_during_load, reason::exhausted, probe_missing, probe_failed};
  return std::ranges::find(others, reason) == std::end(others);
}

}  // namespace gantry
