// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/steps.hpp"

#include "core/base/file_users.hpp"
#include "core/base/near_name.hpp"
#include "core/base/process_end.hpp"
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/machine_traits.hpp"
#include "core/plugins/manifest/null_file.hpp"
#include "core/plugins/manifest/real_directory.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <iterator>

namespace gantry {

// What the steps up to `preferred` know of all candidates.
struct AllFound {
  AllFound(SearchResult& found, const ChoiceOptions& options, ManifestCache& cache);

  struct Named {
    std::string file;
    std::size_t location = 0;
    bool is_mask = false;
  };
  // Of the candidates of an id: the first by tier and version, and the one that is used.
  struct Preferred {
    Candidate* first = nullptr;
    Candidate* used = nullptr;
    // why `first` is not used
    Status beside;
  };

  // Returns the owners' check of a file; every file passes without one.
  Status check_owners(const std::string& file) {
    return ownership ? ownership->check(file) : Status();
  }
  // Returns the highest file with the name of a candidate, if it is in a higher location.
  const Named* above(const Candidate& candidate) const {
    const auto at = by_name.find(candidate.name);
    const bool is_higher = at != by_name.end() && at->second.location < candidate.location;
    return is_higher ? &at->second : nullptr;
  }
  const Preferred& preferred(const Candidate& candidate);

  std::vector<Candidate>& candidates;
  const ChoiceOptions& options;
  ManifestCache& cache;
  RealDirectories directories;
  std::optional<Ownership> ownership;
  // trusted files, also masks, by file name
  std::unordered_map<std::string, Named> by_name;
  // in the order in which they are applied, by the name of the manifest that they change
  std::unordered_map<std::string_view, std::vector<const FoundDropIn*>> drop_ins;
  std::unordered_map<std::string_view, Preferred> by_id;
  MachineTraits host = host_traits();
  // of policies that only warn
  std::vector<Message> warnings;
};

namespace {

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0) return false;
  return identity_of(first) == identity_of(second);
}

bool matches(const PluginFilter& filter, const Candidate& candidate) {
  return candidate.manifest && (matches_glob(filter.glob, candidate.manifest->id) ||
                                matches_glob(filter.glob, candidate.name));
}

// Returns the filter that excludes a candidate; NULL: none, or a later one selects it.
const PluginFilter* filter_against(const std::vector<PluginFilter>& filters,
                                   const Candidate& candidate) {
  const PluginFilter* against = nullptr;
  for (const PluginFilter& filter : filters) {
    if (!matches(filter, candidate)) continue;
    if (filter.select) {
      against = nullptr;
    } else if (against == nullptr) {
      against = &filter;
    }
  }
  return against;
}

// Adds to the error of a create that was refused the other processes that have a device node or a
// file of the manifest open: a device may be for one process at a time.
//
// costs    see other_users_of()
void add_required_file_users(const ManifestRequires& needs, Error& error) {
  constexpr std::size_t max = 5;
  const auto add = [&](std::string_view noun, const std::string& path) {
    const std::vector<FileUser> users = other_users_of(path, max);
    if (users.empty()) return;
    error.at(noun, path, " is open in process ", join(users, ", ", [](const FileUser& user) {
               return concat(user.process, " (", user.program, ")");
             }));
  };
  for (const std::string& node : needs.device_nodes) add("device node ", node);
  for (const std::string& file : needs.files) add("file ", file);
}

// The verdicts.

Status check_name(Passage& at) {
  const AllFound::Named* const above = at.all->above(at.candidate);
  if (above == nullptr) return {};
  const std::string& file = at.candidate.file;
  if (!above->is_mask && same_file(file, above->file)) {
    return unavailable("same file as ", above->file, " by another path")
        .with_reason(reason::duplicate_of.tag);
  }
  return unavailable(above->is_mask ? "masked by " : "replaced by ", above->file)
      .with_reason((above->is_mask ? reason::masked : reason::replaced_by).tag);
}

Status read_files(Passage& at) {
  Candidate& candidate = at.candidate;
  const bool uses_text = at.options.trust && at.options.trust->uses_text(candidate.tier);
  ManifestCache& cache = at.all->cache;
  Result<ManifestFile> file =
      cache.open(candidate.file, uses_text ? ManifestText::always : ManifestText::if_needed);
  // A file that would mask others if it were trusted.
  const bool may_be_null = !file.ok() || file->is_empty();
  if (may_be_null && is_null_file(candidate.file))
    GANTRY_CHECK(at.all->check_owners(candidate.file));
  if (!file.ok()) return std::move(file).failure();
  GANTRY_TRY(const YamlDocument document, cache.parse(*file));
  GANTRY_TRY(Manifest manifest,
             read_manifest(document, at.all->directories.of(candidate.file, file->is_no_link)));
  if (uses_text) at.text = *std::move(file->text);
  manifest.switched_by = candidate.file;
  if (const auto own = at.all->drop_ins.find(candidate.name); own != at.all->drop_ins.end()) {
    for (const FoundDropIn* drop_in : own->second) {
      GANTRY_TRY(const ManifestFile drop_in_file,
                 cache.open(drop_in->file, ManifestText::if_needed));
      GANTRY_TRY(const YamlDocument changes, cache.parse(drop_in_file));
      const bool was_enabled = manifest.enabled;
      GANTRY_CHECK(apply_drop_in(changes, manifest));
      if (manifest.enabled != was_enabled) manifest.switched_by = drop_in->file;
      candidate.drop_ins.push_back(drop_in->file);
    }
  }
  candidate.manifest = std::make_shared<const Manifest>(std::move(manifest));
  return {};
}

Status check_filters(Passage& at) {
  const Manifest& manifest = *at.candidate.manifest;
  if (!manifest.enabled) {
    return unavailable("disabled by enabled: false in ", manifest.switched_by)
        .with_reason(reason::disabled.tag);
  }
  if (const PluginFilter* const filter = filter_against(at.options.filters, at.candidate)) {
    return unavailable("disabled by ", filter->source, " \"", filter->glob, "\"")
        .with_reason(reason::filtered.tag);
  }
  return check_targets(manifest.targets, at.all->host);
}

Status check_trust(Passage& at) {
  if (!at.options.trust) return {};
  return at.options.trust->check_manifest(at.candidate, at.text, *at.all->ownership,
                                          at.candidate.policy_warnings);
}

Status check_precedence(Passage& at) {
  const AllFound::Preferred& of_id = at.all->preferred(at.candidate);
  if (&at.candidate == of_id.used) {
    // The policy `warn` is about plugins that are used.
    std::ranges::move(at.candidate.policy_warnings, std::back_inserter(at.all->warnings));
    at.candidate.policy_warnings.clear();
    return {};
  }
  return &at.candidate == of_id.first ? of_id.beside : shadowed(at.candidate, *of_id.first);
}

Status check_library(Passage& at) {
  if (at.query != nullptr) return {};
  GANTRY_TRY(at.inspection, inspect_plugin(*at.candidate.manifest, at.options.core.abi, at.depth,
                                           {at.options.trust.get(), at.options.opened}));
  return {};
}

Status check_probe(Passage& at) {
  if (at.query != nullptr || at.options.prober == nullptr) return {};
  GANTRY_TRY(const std::optional<ProbeNote> probe, at.options.prober->check(at.candidate));
  // A note of PluginSet::set_probe() is of the run itself, this one may be of its cached verdict.
  if (!at.candidate.probe) at.candidate.probe = probe;
  return {};
}

Status open_candidate(Passage& at) {
  std::unique_lock<std::mutex> lock;
  if (at.load_mutex != nullptr) lock = std::unique_lock(*at.load_mutex);
  GANTRY_TRY(at.plugin, at.query != nullptr ? adopt_plugin(at.query, at.options.core)
                                            : open_plugin(*at.candidate.manifest, *at.inspection,
                                                          at.options.core, at.options.opened));
  if (at.options.log != nullptr) {
    for (const Message& warning : at.plugin->warnings) at.options.log->warning(warning);
  }
  return {};
}

Status create_candidate(Passage& at) {
  const Manifest& manifest = *at.candidate.manifest;
  if (at.options.create) {
    auto instance = at.options.create(at.plugin, manifest);
    if (!instance.ok()) {
      Error error = std::move(instance).error();
      if (!reason_of(error)) error.reason = reason::create_failed.tag;
      if (error.code == Code::unavailable) add_required_file_users(manifest.needs, error);
      return std::move(error.at("while creating plugin ", manifest.title()));
    }
    at.instance = *std::move(instance);
  }
  watch_process_end();
  return {};
}

// What must change.

Message repaired(const Reason& why) {
  std::string_view remedy;
  for (const CataloguedReason& one : all_reasons()) {
    if (one.reason == why) remedy = one.remedy;
  }
  return Message(name_of(why), " is repaired: ", remedy);
}

void add_defect(const Reason& why, Counterfactual& of) {
  if (!why || of.has_defect) return;
  of.changes.push_back(repaired(why));
  of.has_defect = true;
}

void enable(Counterfactual& of) {
  const Candidate& self = of.self();
  const Manifest& manifest = *self.manifest;
  const bool is_filtered = filter_against(of.options.filters, self) != nullptr;
  if (!manifest.enabled) of.changes.emplace_back("a drop-in or its manifest sets enabled: true");
  if (self.reason == reason::filtered || (!manifest.enabled && is_filtered))
    of.changes.push_back(Message("plugins.select or GANTRY_SELECT names ", manifest.id));
  if (!self.stopped() || self.passed != Step::read) return;
  const bool is_disabled = self.reason == reason::filtered || self.reason == reason::disabled;
  if (!is_disabled) return add_defect(self.reason, of);
  const Status fits = check_targets(manifest.targets, host_traits());
  if (!fits.ok()) add_defect(reason_of(fits.error()), of);
}

void become_trusted(Counterfactual& of) { add_defect(of.self().distrust, of); }

// The order of `preferred`, of the candidates that it may not replace. Plugins of the program shadow
// all others.
bool shadows(const Counterfactual& of, std::size_t other) {
  const Candidate& candidate = of.candidates[other];
  if (other == of.index || !candidate.manifest || candidate.passed < Step::trusted) return false;
  if (may_replace(of.options, candidate, of.self())) return false;
  const Manifest& theirs = *candidate.manifest;
  const Manifest& ours = *of.self().manifest;
  if (theirs.id != ours.id) return false;
  if (theirs.file.empty() || ours.file.empty()) return theirs.file.empty();
  if (precedes(candidate, of.self())) return true;
  return !precedes(of.self(), candidate) && other < of.index;
}

void remove_shadows(Counterfactual& of) {
  for (std::size_t i = 0; i < of.candidates.size(); ++i) {
    if (!shadows(of, i)) continue;
    const Candidate& other = of.candidates[i];
    of.changes.push_back(other.manifest->file.empty()
                             ? Message("the program does not contain ", other.title())
                             : Message(other.file, " is removed"));
  }
  if (of.self().reason == reason::restart_needed) add_defect(of.self().reason, of);
}

// A candidate that an earlier step has stopped was not inspected.
void repair(Counterfactual& of) {
  const Candidate& self = of.self();
  if (!self.stopped() || of.has_defect) return;
  if (self.passed >= Step::preferred || self.was_refused()) return add_defect(self.reason, of);
  Candidate copy = self;
  Passage at{.options = of.options, .candidate = copy, .depth = Depth::dependencies};
  if (const Status usable = check_library(at); !usable.ok())
    add_defect(reason_of(usable.error()), of);
}

void come_first(Counterfactual& of) {
  constexpr std::int32_t max_priority = 1000;
  Manifest manifest = *of.self().manifest;
  const std::string is_override =
      concat("plugins.overrides maps ", quoted(of.what), " to ", manifest.id);
  if (!of.override_id.empty()) {
    if (of.override_id != manifest.id) of.changes.emplace_back(is_override);
    return;
  }
  if (of.rival == nullptr && !of.options.fallback && !of.self().stopped())
    of.changes.emplace_back("plugins.fallback is true");
  if (of.rival == nullptr || comes_first(manifest, *of.rival)) return;
  manifest.priority = of.rival->priority;
  if (!comes_first(manifest, *of.rival)) ++manifest.priority;
  if (manifest.priority > max_priority) {
    of.changes.emplace_back(is_override);
  } else {
    of.changes.push_back(
        Message("its priority is ", manifest.priority, " or more, or ", is_override));
  }
}

struct StepTraits {
  Step step;
  // of a candidate whose last step it is
  std::string_view name;
  // NULL: search_plugins() decides `found`, check_override(), comes_first() and check_fallback() `chosen`
  Status (*verdict)(Passage& at);
  // NULL: a candidate that it stops offers nothing that is known
  void (*change)(Counterfactual& of);
};

constexpr StepTraits steps[] = {
    {Step::found, "found", nullptr, nullptr},
    {Step::named, "found", check_name, nullptr},
    {Step::read, "parsed", read_files, nullptr},
    {Step::filtered, "parsed", check_filters, enable},
    {Step::trusted, "trusted", check_trust, become_trusted},
    {Step::preferred, "eligible", check_precedence, remove_shadows},
    {Step::resolved, "inspected", check_library, repair},
    {Step::probed, "probed", check_probe, repair},
    {Step::opened, "negotiated", open_candidate, repair},
    {Step::created, "active", create_candidate, repair},
    {Step::chosen, "active", nullptr, come_first},
};

const StepTraits& traits_of(Step step) { return steps[static_cast<std::size_t>(step)]; }

// Takes a step of the search. That of trust is taken by all, so that it is known of candidates that
// another step has stopped, too.
void take_each(const StepTraits& step, std::span<Passage> all) {
  for (Passage& at : all) {
    Candidate& candidate = at.candidate;
    const bool is_known = candidate.manifest != nullptr || step.step <= Step::read;
    if (!is_known || (candidate.stopped() && step.step != Step::trusted)) continue;
    const Status verdict = step.verdict(at);
    if (!verdict.ok() && step.step == Step::trusted)
      candidate.distrust = reason_of(verdict.error());
    if (candidate.stopped()) continue;
    if (verdict.ok()) {
      candidate.passed = step.step;
    } else {
      candidate.stop(verdict.error());
    }
  }
}

// Returns an empty text if the filter matches a candidate.
Message unmatched_warning(const PluginFilter& filter, const std::vector<Candidate>& candidates) {
  std::vector<std::string_view> names;
  for (const Candidate& candidate : candidates) {
    if (matches(filter, candidate)) return {};
    if (candidate.manifest) names.push_back(candidate.manifest->id);
    names.push_back(candidate.name);
  }
  return Message(filter.source, ": \"", filter.glob, "\" matches no plugin",
                 did_you_mean(filter.glob, names));
}

std::vector<Message> warnings_of(const SearchResult& found, const AllFound& all) {
  const std::vector<Candidate>& candidates = all.candidates;
  std::vector<Message> warnings = found.warnings;
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    const std::vector<Message>& own = candidate.manifest->warnings;
    warnings.insert(warnings.end(), own.begin(), own.end());
  }
  for (const FoundDropIn& drop_in : found.drop_ins) {
    const auto has_name = [&](const Candidate& one) { return one.name == drop_in.name; };
    if (std::ranges::none_of(candidates, has_name))
      warnings.push_back(Message(drop_in.file, ": no manifest is named ", drop_in.name));
  }
  for (const PluginFilter& filter : all.options.filters) {
    if (Message text = unmatched_warning(filter, candidates); !text.empty())
      warnings.push_back(std::move(text));
  }
  warnings.insert(warnings.end(), all.warnings.begin(), all.warnings.end());
  return warnings;
}

}  // namespace

AllFound::AllFound(SearchResult& found, const ChoiceOptions& given, ManifestCache& kept)
    : candidates(found.candidates), options(given), cache(kept) {
  if (options.trust) ownership = options.trust->ownership();
  for (const FoundDropIn& drop_in : found.drop_ins) drop_ins[drop_in.name].push_back(&drop_in);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (candidate.stopped() || !check_owners(candidate.file).ok()) return false;
    const bool is_mask = is_null_file(candidate.file);
    by_name.try_emplace(candidate.name, Named{candidate.file, candidate.location, is_mask});
    return is_mask;
  });
}

// Candidates are in order of precedence, so the first one of an id is used unless one with a higher
// version follows in the same tier, or this process has opened another version.
const AllFound::Preferred& AllFound::preferred(const Candidate& candidate) {
  if (!by_id.empty()) return by_id.find(candidate.manifest->id)->second;
  const auto takes_part = [](const Candidate& one) {
    return !one.stopped() && one.passed == Step::trusted;
  };
  for (Candidate& one : candidates) {
    if (!takes_part(one)) continue;
    Candidate*& first = by_id[one.manifest->id].first;
    if (first == nullptr || precedes(one, *first)) first = &one;
  }
  const auto beside = [&](const Candidate& one) {
    return options.opened != nullptr ? options.opened->check_version(*one.manifest) : Status();
  };
  for (auto& [id, of_id] : by_id) {
    of_id.beside = beside(*of_id.first);
    of_id.used = of_id.first;
    if (of_id.beside.ok()) continue;
    const auto next = std::ranges::find_if(candidates, [&](const Candidate& one) {
      return takes_part(one) && one.manifest->id == id && beside(one).ok();
    });
    of_id.used = next == candidates.end() ? nullptr : &*next;
  }
  return by_id.find(candidate.manifest->id)->second;
}

std::string_view ChoiceOptions::override_of(std::string_view what) const {
  for (const auto& [overridden, id] : overrides) {
    if (overridden == what) return id;
  }
  return "";
}

Status take(Step step, Passage& at) {
  GANTRY_CHECK(traits_of(step).verdict(at));
  // A plugin that need not be probed has not passed a probe.
  if (step != Step::probed || at.candidate.probe) at.candidate.passed = step;
  return {};
}

Discovery discover(SearchResult& found, const ChoiceOptions& options, ManifestCache* cache) {
  ManifestCache none;
  AllFound all(found, options, cache != nullptr ? *cache : none);
  std::vector<Passage> passages;
  passages.reserve(all.candidates.size());
  for (Candidate& candidate : all.candidates)
    passages.push_back({.options = options, .candidate = candidate, .all = &all});
  for (const StepTraits& step : steps) {
    if (step.step > Step::found && step.step <= Step::preferred) take_each(step, passages);
  }
  std::vector<Message> warnings = warnings_of(found, all);
  return {std::move(found.candidates), std::move(warnings)};
}

std::string_view name_of(Step step) { return traits_of(step).name; }

void shadow_by_program(Candidate& candidate, std::string_view title) {
  candidate.passed = Step::trusted;
  candidate.stop(reason::shadowed_by, Message("same id as ", title, " of the program"));
}

bool precedes(const Candidate& a, const Candidate& b) {
  if (a.tier != b.tier) return a.tier < b.tier;
  return a.manifest->version > b.manifest->version;
}

Status shadowed(const Candidate& loser, const Candidate& winner) {
  const std::string& digest = loser.manifest->sha256;
  if (same_file(loser.manifest->library_path, winner.manifest->library_path) ||
      (!digest.empty() && digest == winner.manifest->sha256)) {
    return unavailable("same id and library as ", winner.file)
        .with_reason(reason::duplicate_of.tag);
  }
  const bool older = loser.manifest->version < winner.manifest->version;
  const bool newer = loser.manifest->version > winner.manifest->version;
  return unavailable("same id, ",
                     older   ? "older than "
                     : newer ? "newer, but in a lower tier than "
                             : "same version, in a lower location than ",
                     winner.manifest->version.text, " of ", winner.file)
      .with_reason(reason::shadowed_by.tag);
}

bool may_replace(const ChoiceOptions& options, const Candidate& refused, const Candidate& other) {
  const auto policy_of = [&](Tier tier) {
    return options.trust ? options.trust->trust_file().policy_of(tier) : SignaturePolicy::off;
  };
  return refused.was_refused() && policy_of(other.tier) >= policy_of(refused.tier);
}

bool comes_first(const Manifest& a, const Manifest& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.version != b.version) return a.version > b.version;
  return a.id < b.id;
}

Status check_override(std::string_view override_id, const Manifest& manifest) {
  if (override_id.empty() || override_id == manifest.id) return {};
  return unavailable("the override is another plugin: ", override_id)
      .with_reason(reason::not_chosen.tag);
}

Status check_fallback(const ChoiceOptions& options, const Candidate& candidate) {
  if (options.fallback) return {};
  return unavailable("plugins.fallback is false in ", options.fallback_source, ": ",
                     candidate.title(), " is not tried")
      .with_reason(reason::not_chosen.tag);
}

std::vector<Message> changes_of(Counterfactual of) {
  for (const StepTraits& step : steps) {
    if (step.change != nullptr) step.change(of);
  }
  return std::move(of.changes);
}

}  // namespace gantry
