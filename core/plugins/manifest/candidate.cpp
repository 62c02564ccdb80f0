// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/candidate.hpp"

namespace gantry {

void Candidate::stop(const Error& error) {
  Reason why = reason_of(error);
  if (!why) why = error.code == Code::not_found ? reason::not_found : reason::unreadable;
  stop(why, error.message);
}

}  // namespace gantry
