// SPDX-License-Identifier: Apache-2.0
#include "core/generator/build_target.hpp"

#include "core/generator/built_in_generators.hpp"
#include "core/target/target.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

// True if a kind has a generator of such payloads.
bool builds(const TargetKind& kind, std::string_view type_key) {
  if (kind.type_key == type_key) return true;
  return std::ranges::any_of(built_in_generators(), [&](const BuiltInGenerator& row) {
    return row.target_kind == kind.name && row.type_key == type_key;
  });
}

// Without a kind of a plugin.
BuildTarget built_in_target(std::string_view type_key) {
  const auto row = std::ranges::find(built_in_generators(), type_key, &BuiltInGenerator::type_key);
  CompileTarget target;
  target.kind = row == built_in_generators().end() ? type_key : row->target_kind;
  return {nullptr, target.kind, target_json(target)};
}

}  // namespace

Result<BuildTarget> target_of(const BuildJob& job, const TargetKinds& kinds) {
  const auto found = kinds.for_type_key(job.type_key);
  if (job.target.empty() && found.empty()) return built_in_target(job.type_key);
  const std::string_view text = job.target.empty() ? found.front()->kind.name : job.target;
  Result<CompileTarget> target = parse_target(text, kinds);
  if (!target.ok()) return std::move(target).failure().at("for ", job.target_location);
  const KnownTargetKind* const known = kinds.find(target->kind);
  if (!builds(known->kind, job.type_key)) {
    return invalid("target kind ", quoted(target->kind),
                   " has no generator of payloads of type key ", quoted(job.type_key))
        .at("for ", job.target_location);
  }
  return BuildTarget{known, target->kind, target_json(*target)};
}

}  // namespace gantry
