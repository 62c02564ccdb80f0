// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/merge.hpp"

#include "core/base/mapped_file.hpp"
#include "core/base/near_name.hpp"
#include "core/base/text_file.hpp"
#include "core/plugins/manifest/drop_in.hpp"
#include "core/plugins/manifest/machine_traits.hpp"
#include "core/plugins/manifest/null_file.hpp"

#include <sys/stat.h>
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace gantry {
namespace {

// Drop-ins by the name of the manifest that they change, in the order in which they are applied.
using DropIns = std::unordered_map<std::string_view, std::vector<const FoundDropIn*>>;

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0) return false;
  return identity_of(first) == identity_of(second);
}

Reason reason_for(const Error& error) {
  if (const Reason known = reason_of(error)) return known;
  return error.code == Code::not_found ? reason::not_found : reason::unreadable;
}

void stop(Candidate& candidate, const Error& error) {
  candidate.stop(reason_for(error), error.message);
}

// Parses the manifest and applies its drop-ins. Stops the candidate at the first error, or if it is
// disabled.
void parse(std::string_view text, const DropIns& drop_ins, Candidate& candidate) {
  Result<Manifest> manifest = read_manifest(text, candidate.file);
  if (!manifest.ok()) return stop(candidate, manifest.error());
  candidate.state = CandidateState::parsed;
  // the file that last changed `enabled`
  std::string switched_by = candidate.file;
  if (const auto own = drop_ins.find(candidate.name); own != drop_ins.end()) {
    for (const FoundDropIn* drop_in : own->second) {
      const bool was_enabled = manifest->enabled;
      const Result<std::string> changes = read_text_file(drop_in->file);
      const Status applied = changes.ok() ? apply_drop_in(*changes, drop_in->file, *manifest)
                                          : Status(changes.error());
      if (!applied.ok()) return stop(candidate, applied.error());
      candidate.drop_ins.push_back(drop_in->file);
      if (manifest->enabled != was_enabled) switched_by = drop_in->file;
    }
  }
  candidate.manifest = std::move(*manifest);
  if (!candidate.manifest->enabled)
    candidate.stop(reason::disabled, Message("disabled by enabled: false in ", switched_by));
}

// texts    [out]  of the manifests, one for each candidate
std::vector<Candidate> parse_all(const SearchResult& found, const DropIns& drop_ins,
                                 const TrustChecks& checks, std::vector<std::string>& texts) {
  struct Named {
    const FoundManifest* manifest;
    bool mask;
  };
  // by file name
  std::unordered_map<std::string_view, Named> highest;
  std::vector<Candidate> candidates;
  candidates.reserve(found.manifests.size());
  for (const FoundManifest& manifest : found.manifests) {
    Result<std::string> text = std::string();
    const Named* higher = nullptr;
    Status trusted;
    if (!manifest.reason) {
      if (checks.file) trusted = checks.file(manifest.file);
      text = read_text_file(manifest.file);
      const bool mask = text.ok() ? text->empty() : is_null_file(manifest.file);
      if (trusted.ok()) highest.try_emplace(manifest.name, Named{&manifest, mask});
      const auto named = highest.find(manifest.name);
      if (named != highest.end() && named->second.manifest->location < manifest.location)
        higher = &named->second;
      if (mask && trusted.ok()) continue;
      if (mask) text = std::string();
    }
    Candidate& candidate = candidates.emplace_back();
    candidate.file = manifest.file;
    candidate.name = manifest.name;
    candidate.location = manifest.location;
    candidate.location_name = found.locations[manifest.location].name;
    candidate.tier = found.locations[manifest.location].tier;
    if (manifest.reason) {
      candidate.stop(manifest.reason, manifest.text);
    } else if (higher && !higher->mask && same_file(manifest.file, higher->manifest->file)) {
      candidate.stop(reason::duplicate_of,
                     Message("same file as ", higher->manifest->file, " by another path"));
    } else if (higher) {
      candidate.stop(higher->mask ? reason::masked : reason::replaced_by,
                     concat(higher->mask ? "masked by " : "replaced by ", higher->manifest->file));
    } else if (!text.ok()) {
      stop(candidate, text.error());
    } else {
      if (trusted.ok() || !text->empty()) parse(*text, drop_ins, candidate);
      if (!trusted.ok() && !candidate.stopped()) stop(candidate, trusted.error());
    }
    texts.resize(candidates.size());
    if (text.ok()) texts.back() = std::move(*text);
  }
  return candidates;
}

void apply(const PluginFilter& filter, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    if (!matches(filter, candidate)) continue;
    if (!filter.select && !candidate.stopped()) {
      candidate.stop(reason::filtered,
                     Message("disabled by ", filter.source, " \"", filter.glob, "\""));
    } else if (filter.select && candidate.reason == reason::filtered) {
      candidate.stop({}, {});
    }
  }
}

void check_hosts(std::vector<Candidate>& candidates) {
  const MachineTraits host = host_traits();
  for (Candidate& candidate : candidates) {
    if (candidate.stopped()) continue;
    if (const Status fits = check_targets(candidate.manifest->targets, host); !fits.ok()) {
      candidate.stop(reason_of(fits.error()), fits.error().message);
    }
  }
}

// Candidates that are not accepted do not shadow others.
void check_trust(const std::vector<std::string>& texts, const TrustChecks& checks,
                 std::vector<Candidate>& candidates) {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    if (!candidate.manifest) continue;
    const Status accepted = checks.candidate ? checks.candidate(candidate, texts[i]) : Status();
    if (!accepted.ok()) candidate.distrust = reason_for(accepted.error());
    if (candidate.stopped()) continue;
    if (accepted.ok()) {
      candidate.state = CandidateState::trusted;
    } else {
      stop(candidate, accepted.error());
    }
  }
}

void shadow(Candidate& loser, const Candidate& winner) {
  const std::string& digest = loser.manifest->sha256;
  if (same_file(loser.manifest->library_path, winner.manifest->library_path) ||
      (!digest.empty() && digest == winner.manifest->sha256)) {
    loser.stop(reason::duplicate_of, Message("same id and library as ", winner.file));
    return;
  }
  const bool older = loser.manifest->version < winner.manifest->version;
  const bool newer = loser.manifest->version > winner.manifest->version;
  loser.stop(reason::shadowed_by, Message("same id, ",
                                          older   ? "older than "
                                          : newer ? "newer, but in a lower tier than "
                                                  : "same version, in a lower location than ",
                                          winner.manifest->version.text, " of ", winner.file));
}

// Selects one candidate for each id. Candidates are in order of precedence, so the first one of an
// id is selected unless one with a higher version follows in the same tier.
void settle_ids(std::vector<Candidate>& candidates) {
  std::unordered_map<std::string_view, Candidate*> winners;
  for (Candidate& candidate : candidates) {
    if (candidate.stopped()) continue;
    const auto [at, first] = winners.try_emplace(candidate.manifest->id, &candidate);
    if (first) continue;
    Candidate*& winner = at->second;
    if (candidate.tier == winner->tier && candidate.manifest->version > winner->manifest->version) {
      shadow(*winner, candidate);
      winner = &candidate;
    } else {
      shadow(candidate, *winner);
    }
  }
  for (const auto& [id, winner] : winners) winner->state = CandidateState::eligible;
}

bool is_shadowed(const Candidate& candidate) {
  if (!candidate.manifest) return false;
  return candidate.reason == reason::shadowed_by || candidate.reason == reason::duplicate_of;
}

void check_versions(const VersionCheck& beside, std::vector<Candidate>& candidates) {
  for (Candidate& winner : candidates) {
    if (winner.state != CandidateState::eligible) continue;
    const Status accepted = beside(*winner.manifest);
    if (accepted.ok()) continue;
    winner.state = CandidateState::trusted;
    stop(winner, accepted.error());
    const auto takes_over = [&](const Candidate& other) {
      return is_shadowed(other) && other.manifest->id == winner.manifest->id &&
             beside(*other.manifest).ok();
    };
    const auto next = std::ranges::find_if(candidates, takes_over);
    if (next == candidates.end()) continue;
    next->stop({}, {});
    next->state = CandidateState::eligible;
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

std::vector<Message> warnings_of(const SearchResult& found,
                                 const std::vector<PluginFilter>& filters,
                                 const std::vector<Candidate>& candidates) {
  std::vector<Message> all = found.warnings;
  for (const Candidate& candidate : candidates) {
    if (!candidate.manifest) continue;
    const std::vector<Message>& own = candidate.manifest->warnings;
    all.insert(all.end(), own.begin(), own.end());
  }
  for (const FoundDropIn& drop_in : found.drop_ins) {
    const auto has_name = [&](const Candidate& one) { return one.name == drop_in.name; };
    if (std::none_of(candidates.begin(), candidates.end(), has_name))
      all.push_back(Message(drop_in.file, ": no manifest is named ", drop_in.name));
  }
  for (const PluginFilter& filter : filters) {
    if (Message text = unmatched_warning(filter, candidates); !text.empty())
      all.push_back(std::move(text));
  }
  return all;
}

}  // namespace

bool matches(const PluginFilter& filter, const Candidate& candidate) {
  return candidate.manifest && (matches_glob(filter.glob, candidate.manifest->id) ||
                                matches_glob(filter.glob, candidate.name));
}

MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters,
                          const TrustChecks& checks, const VersionCheck& beside) {
  DropIns drop_ins;
  for (const FoundDropIn& drop_in : found.drop_ins) drop_ins[drop_in.name].push_back(&drop_in);
  MergeResult result;
  std::vector<std::string> texts;
  result.candidates = parse_all(found, drop_ins, checks, texts);
  for (const PluginFilter& filter : filters) apply(filter, result.candidates);
  check_hosts(result.candidates);
  check_trust(texts, checks, result.candidates);
  settle_ids(result.candidates);
  if (beside) check_versions(beside, result.candidates);
  result.warnings = warnings_of(found, filters, result.candidates);
  return result;
}

}  // namespace gantry
