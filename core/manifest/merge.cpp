// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/merge.hpp"

#include "core/base/near_name.hpp"
#include "core/base/text_file.hpp"
#include "core/manifest/drop_in.hpp"
#include "core/manifest/host_traits.hpp"
#include "core/yaml/yaml_words.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <algorithm>
#include <unordered_map>

namespace gantry {
namespace {

// /dev/null, whatever name leads to it.
bool is_null_device(const struct stat& about) {
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

bool is_mask(const std::string& file, const Result<std::string>& text) {
  if (text.ok()) return text->empty();
  struct stat about {};
  if (::stat(file.c_str(), &about) != 0) return false;
  return is_null_device(about) || (S_ISREG(about.st_mode) && about.st_size == 0);
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  if (a.empty() || b.empty() || ::stat(a.c_str(), &first) != 0 || ::stat(b.c_str(), &second) != 0)
    return false;
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void stop(Candidate& candidate, const Error& error) {
  const Reason known = reason_of(error);
  candidate.stop(known                           ? known
                 : error.code == Code::not_found ? reason::not_found
                                                 : reason::unreadable,
                 error.message);
}

bool matches(const PluginFilter& filter, const Candidate& candidate) {
  return matches_glob(filter.glob, candidate.manifest->id) ||
         matches_glob(filter.glob, candidate.name);
}

void check_hosts(std::map<std::size_t, Candidate>& batch) {
  const HostTraits host = host_traits();
  for (auto& [index, candidate] : batch) {
    if (candidate.stopped()) continue;
    if (const Status fits = check_targets(candidate.manifest->targets, host); !fits.ok()) {
      candidate.stop(reason_of(fits.error()), fits.error().message);
    }
  }
}

void shadow(Candidate& loser, const Candidate& winner) {
  if (same_file(loser.manifest->library_path, winner.manifest->library_path)) {
    loser.stop(reason::duplicate_of, concat("same id and library as ", winner.file));
    return;
  }
  const bool older = loser.manifest->version < winner.manifest->version;
  const bool newer = loser.manifest->version > winner.manifest->version;
  loser.stop(reason::shadowed_by, concat("same id, ",
                                         older   ? "older than "
                                         : newer ? "newer, but in a lower place than "
                                                 : "same version, in a lower place than ",
                                         winner.manifest->version.text, " of ", winner.file));
}

// Candidates are in order of place, so the first of an id wins but for versions of its own tier.
void settle_ids(std::map<std::size_t, Candidate>& batch) {
  std::unordered_map<std::string_view, Candidate*> winners;
  for (auto& [index, candidate] : batch) {
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
  for (const auto& [id, winner] : winners) {
    winner->state = CandidateState::eligible;
    winner->was_eligible = true;
  }
}

}  // namespace

bool Merge::Source::can_say(std::string_view word) const {
  return yaml_can_say(text, word) ||
         std::any_of(drop_ins.begin(), drop_ins.end(), [&](const DropIn& drop_in) {
           return drop_in.text.ok() && yaml_can_say(*drop_in.text, word);
         });
}

Merge::Merge(const SearchResult& found, const std::vector<PluginFilter>& filters)
    : filters_(filters), search_warnings_(found.warnings) {
  find_candidates(found);
  find_drop_ins(found);
  if (filters_.empty()) return;
  decide_all();
  warn_of_filters();
}

void Merge::find_candidates(const SearchResult& found) {
  struct Named {
    const FoundManifest* manifest;
    bool mask;
  };
  // of each name
  std::unordered_map<std::string_view, Named> highest;
  for (const FoundManifest& manifest : found.manifests) {
    Result<std::string> text = std::string();
    bool mask = false;
    std::optional<Named> higher;
    if (!manifest.reason) {
      text = read_text_file(manifest.file);
      mask = is_mask(manifest.file, text);
      const Named& named = highest.try_emplace(manifest.name, Named{&manifest, mask}).first->second;
      if (named.manifest->location < manifest.location) higher = named;
      if (mask) continue;
    }
    Candidate& candidate = candidates_.emplace_back();
    std::optional<Source>& source = sources_.emplace_back();
    candidate.file = manifest.file;
    candidate.name = manifest.name;
    candidate.location = manifest.location;
    candidate.location_name = found.locations[manifest.location].name;
    candidate.tier = found.locations[manifest.location].tier;
    if (manifest.reason) {
      candidate.stop(manifest.reason, manifest.text);
    } else if (higher) {
      candidate.stop(higher->mask ? reason::masked : reason::replaced_by,
                     concat(higher->mask ? "masked by " : "replaced by ", higher->manifest->file));
    } else if (!text.ok()) {
      stop(candidate, text.error());
    } else {
      source = Source{std::move(*text), {}};
      ++undecided_;
    }
  }
}

void Merge::find_drop_ins(const SearchResult& found) {
  for (const FoundDropIn& drop_in : found.drop_ins) {
    bool used = false;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].name != drop_in.name) continue;
      used = true;
      if (sources_[i])
        sources_[i]->drop_ins.push_back({drop_in.file, read_text_file(drop_in.file)});
    }
    if (!used) {
      drop_in_warnings_.push_back(concat(drop_in.file, ": no manifest is named ", drop_in.name));
    }
  }
}

std::vector<std::string> Merge::warnings() const {
  std::vector<std::string> all = search_warnings_;
  const auto add = [&](const std::vector<std::string>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const Candidate& candidate : candidates_) {
    if (candidate.manifest) add(candidate.manifest->warnings);
  }
  add(drop_in_warnings_);
  add(filter_warnings_);
  return all;
}

std::vector<std::size_t> Merge::decide(std::string_view word) {
  Batch batch;
  std::vector<std::string> words = {std::string(word)};
  while (!words.empty() && batch.size() < undecided_) {
    const std::string next = std::move(words.back());
    words.pop_back();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!sources_[i] || !sources_[i]->can_say(next) || batch.contains(i)) continue;
      const Candidate& one = batch.emplace(i, parsed(i)).first->second;
      if (one.manifest) words.push_back(one.manifest->id);
    }
  }
  return settle(std::move(batch));
}

std::vector<std::size_t> Merge::decide_all() {
  Batch batch;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i]) batch.emplace(i, parsed(i));
  }
  return settle(std::move(batch));
}

Candidate Merge::parsed(std::size_t index) const {
  const Source& source = *sources_[index];
  Candidate candidate = candidates_[index];
  Result<Manifest> manifest = read_manifest(source.text, candidate.file);
  if (!manifest.ok()) {
    stop(candidate, manifest.error());
    return candidate;
  }
  candidate.state = CandidateState::parsed;
  std::string switched_by = candidate.file;
  for (const DropIn& drop_in : source.drop_ins) {
    const bool was_enabled = manifest->enabled;
    const Status applied = drop_in.text.ok() ? apply_drop_in(*drop_in.text, drop_in.file, *manifest)
                                             : Status(drop_in.text.error());
    if (!applied.ok()) {
      stop(candidate, applied.error());
      return candidate;
    }
    candidate.drop_ins.push_back(drop_in.file);
    if (manifest->enabled != was_enabled) switched_by = drop_in.file;
  }
  candidate.manifest = std::move(*manifest);
  if (!candidate.manifest->enabled) {
    candidate.stop(reason::disabled, concat(switched_by, " says enabled: false"));
  }
  return candidate;
}

void Merge::apply_filters(Batch& batch) const {
  for (const PluginFilter& filter : filters_) {
    for (auto& [index, candidate] : batch) {
      if (!candidate.manifest || !matches(filter, candidate)) continue;
      if (!filter.select && !candidate.stopped()) {
        candidate.stop(reason::filtered, concat("by ", filter.source, " \"", filter.glob, "\""));
      } else if (filter.select && candidate.reason == reason::filtered) {
        candidate.stop({}, "");
      }
    }
  }
}

void Merge::warn_of_filters() {
  for (const PluginFilter& filter : filters_) {
    bool matched = false;
    std::vector<std::string_view> names;
    for (const Candidate& candidate : candidates_) {
      matched = matched || (candidate.manifest && matches(filter, candidate));
      if (candidate.manifest) names.push_back(candidate.manifest->id);
      names.push_back(candidate.name);
    }
    if (matched) continue;
    filter_warnings_.push_back(concat(filter.source, ": \"", filter.glob, "\" matches no plugin",
                                      did_you_mean(filter.glob, names)));
  }
}

// Where memory ends on the way, nothing has happened.
std::vector<std::size_t> Merge::settle(Batch batch) {
  apply_filters(batch);
  check_hosts(batch);
  settle_ids(batch);
  std::vector<std::size_t> decided;
  for (const auto& [index, candidate] : batch) decided.push_back(index);
  for (auto& [index, candidate] : batch) {
    candidates_[index] = std::move(candidate);
    sources_[index].reset();
    --undecided_;
  }
  return decided;
}

MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters) {
  Merge merge(found, filters);
  merge.decide_all();
  MergeResult result{{}, merge.warnings()};
  result.candidates = std::move(merge.candidates());
  return result;
}

}  // namespace gantry
