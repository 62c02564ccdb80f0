// SPDX-License-Identifier: Apache-2.0
//
// The counterfactual of an explanation: follows a candidate through the steps of merge_plugins(),
// inspect_plugin() and the order of choice, and notes what must change at each.
#include "core/plugins/choice/explain.hpp"
#include "core/plugins/choice/inspect.hpp"
#include "core/plugins/manifest/filter.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/quoted.hpp>

namespace gantry {
namespace {

constexpr std::int32_t max_priority = 1000;

Message repaired(const Reason& why) {
  std::string_view remedy;
  for (const CataloguedReason& one : all_reasons()) {
    if (one.reason == why) remedy = one.remedy;
  }
  return Message(name_of(why), " is repaired: ", remedy);
}

class Changes {
 public:
  Changes(const PluginSet& plugins, const std::vector<Candidate>& candidates,
          const ExplainedRequirement& entry)
      : plugins_(plugins), candidates_(candidates), entry_(entry) {}

  std::vector<Message> of(const ExplainedCandidate& one) {
    // added to the set after it was explained
    if (one.verdict == Verdict::chosen || one.index >= candidates_.size()) return {};
    index_ = one.index;
    changes_.clear();
    enable();
    remove_shadows();
    repair();
    put_first();
    return std::move(changes_);
  }

 private:
  const Candidate& self() const { return candidates_[index_]; }

  void enable() {
    const Manifest& manifest = *self().manifest;
    if (!manifest.enabled) changes_.emplace_back("a drop-in or its manifest sets enabled: true");
    if (self().reason == reason::filtered || (!manifest.enabled && filters_disable())) {
      changes_.push_back(Message("plugins.select or GANTRY_SELECT names ", manifest.id));
    }
  }

  // Filters do not apply to a plugin that its manifest disables.
  bool filters_disable() const {
    bool disabled = false;
    for (const PluginFilter& filter : plugins_.filters()) {
      if (matches(filter, self())) disabled = !filter.select;
    }
    return disabled;
  }

  // True if the candidate would be used, or be shadowed by another one, if `self()` were removed.
  static bool takes_part(const Candidate& candidate) {
    if (!candidate.manifest) return false;
    return !candidate.stopped() || candidate.state >= CandidateState::eligible ||
           candidate.reason == reason::shadowed_by || candidate.reason == reason::duplicate_of ||
           candidate.reason == reason::restart_needed;
  }

  // The order of step 7 of merge_plugins(). Plugins of the program shadow all others.
  bool shadows(std::size_t other) const {
    const Candidate& candidate = candidates_[other];
    if (other == index_ || !takes_part(candidate)) return false;
    const Manifest& theirs = *candidate.manifest;
    const Manifest& ours = *self().manifest;
    if (theirs.id != ours.id) return false;
    if (theirs.file.empty() || ours.file.empty()) return theirs.file.empty();
    if (candidate.tier != self().tier) return candidate.tier < self().tier;
    if (theirs.version != ours.version) return theirs.version > ours.version;
    return other < index_;
  }

  void remove_shadows() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!shadows(i)) continue;
      const Candidate& other = candidates_[i];
      if (other.manifest->file.empty()) {
        changes_.push_back(Message("the program does not contain ", other.title()));
      } else {
        changes_.push_back(Message(other.file, " is removed"));
      }
    }
  }

  // A candidate that an earlier step stopped was not yet compared with the host and not inspected.
  Reason defect() const {
    const Reason& why = self().reason;
    const Manifest& manifest = *self().manifest;
    const bool unknown = why == reason::filtered || why == reason::disabled ||
                         why == reason::shadowed_by || why == reason::duplicate_of;
    if (!unknown) return why;
    if (self().distrust) return self().distrust;
    const Status fits = check_targets(manifest.targets, host_traits());
    if (!fits.ok()) return reason_of(fits.error());
    const auto inspected = plugins_.inspect_file(manifest, Depth::dependencies);
    return inspected.ok() ? Reason() : reason_of(inspected.error());
  }

  void repair() {
    if (const Reason why = defect()) changes_.push_back(repaired(why));
  }

  // The first candidate of another plugin that would be chosen.
  const Manifest* rival() const {
    for (const ExplainedCandidate& one : entry_.candidates) {
      const bool serves = one.verdict == Verdict::chosen || one.verdict == Verdict::next;
      if (serves && one.id != self().manifest->id && one.index < candidates_.size())
        return &*candidates_[one.index].manifest;
    }
    return nullptr;
  }

  void put_first() {
    Manifest manifest = *self().manifest;
    const std::string is_override =
        concat("plugins.overrides maps ", quoted(entry_.requirement.what), " to ", manifest.id);
    if (!entry_.override_id.empty()) {
      if (entry_.override_id != manifest.id) changes_.emplace_back(is_override);
      return;
    }
    const Manifest* first = rival();
    if (first == nullptr || comes_first(manifest, *first)) return;
    manifest.priority = first->priority;
    if (!comes_first(manifest, *first)) ++manifest.priority;
    if (manifest.priority > max_priority) {
      changes_.emplace_back(is_override);
    } else {
      changes_.push_back(
          Message("its priority is ", manifest.priority, " or more, or ", is_override));
    }
  }

  const PluginSet& plugins_;
  const std::vector<Candidate>& candidates_;
  const ExplainedRequirement& entry_;
  std::size_t index_ = 0;
  std::vector<Message> changes_;
};

}  // namespace

void add_changes(const PluginSet& plugins, Explanation& explanation) {
  const std::vector<Candidate> candidates = plugins.candidates();
  for (ExplainedRequirement& entry : explanation.requirements) {
    Changes changes(plugins, candidates, entry);
    for (ExplainedCandidate& one : entry.candidates) one.changes = changes.of(one);
  }
}

}  // namespace gantry
