// SPDX-License-Identifier: Apache-2.0
//
// The target of a payload's code.
#pragma once

#include "core/generator/build_job.hpp"
#include "core/target/target_kinds.hpp"

#include <gantry/result.hpp>

#include <string>

namespace gantry {

struct BuildTarget {
  // NULL: none is known for the type key
  const KnownTargetKind* known = nullptr;
  // the kind's name, and the target as JSON
  std::string kind, json;
};

// Reads the target that a job states; without one, that of the kind of its type key, with defaults.
//
// lifetime that of `kinds`
// returns  the errors of parse_target(), with the location; invalid: the kind has no generator for
//          the type key
Result<BuildTarget> target_of(const BuildJob& job, const TargetKinds& kinds);

}  // namespace gantry
