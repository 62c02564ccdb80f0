// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/missing_keys.hpp"

#include "core/engine/runtime/state.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/join.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Without these nothing of a file can be called that is worth a partial load.
bool is_executor(std::string_view type_key) {
  switch (content_of(type_key)) {
    case PayloadContent::graph:
    case PayloadContent::ahead_of_time:
    case PayloadContent::relay_code:
    case PayloadContent::relax_code:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status check_served(const RuntimeState& state, const std::vector<Requirement>& requirements,
                    std::string_view file_name) {
  Explanation explanation = explain(*state.plugins, requirements);
  if (explanation.all_served()) return {};
  add_changes(*state.plugins, explanation);
  Error error = unserved_error(explanation, file_name);
  const bool lacks_executor =
      std::ranges::any_of(explanation.requirements, [](const ExplainedRequirement& entry) {
        return !entry.served && is_executor(entry.requirement.what);
      });
  if (!lacks_executor && !state.config.strict)
    error.at("to load it without these modules: allow_missing (--allow-missing); their calls fail");
  return error;
}

std::string why_missing(const RuntimeState& state, const Requirement& requirement,
                        const Error& failure) {
  const ExplainedRequirement explained =
      explain(*state.plugins, {requirement}).requirements.front();
  const auto sentence = [](std::string_view text) { return text.substr(0, text.find('\n')); };
  // `failure` is the only reason.
  if (explained.served) return std::string(sentence(failure.message));
  std::string why = join(explained.candidates, "; ", [&](const ExplainedCandidate& candidate) {
    return concat(candidate.id, " ", candidate.version, ": ", sentence(candidate.text));
  });
  if (why.empty()) why = "no plugin offers it";
  for (const std::string& one : explained.unsearched) append(why, {"; not searched: ", one});
  return explained.advice.empty() ? why : concat(why, "; ", explained.advice);
}

std::string leave_out(const RuntimeState& state, const Requirement& requirement,
                      const UsedDevices& used, std::string_view why) {
  constexpr std::size_t max_listed = 8;
  const std::string cause = concat("the model runs on ", join(used.names));
  state.log.warning(Message(join(requirement.required_by, ", ", {}, max_listed),
                            requirement.required_by.size() == 1 ? " is" : " are",
                            " left out, because ", cause, ": ", why));
  return concat("left out, because ", cause, "; ", why);
}

}  // namespace gantry
