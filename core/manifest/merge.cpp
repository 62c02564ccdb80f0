// SPDX-License-Identifier: Apache-2.0
#include "core/manifest/merge.hpp"

#include "core/manifest/drop_in.hpp"
#include "core/manifest/host_traits.hpp"
#include "core/yaml/near_name.hpp"
#include "core/yaml/text_file.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <algorithm>
#include <set>

namespace gantry {
namespace {

// /dev/null, whatever name leads to it.
bool is_null_device(const struct stat& about) {
  return S_ISCHR(about.st_mode) && about.st_rdev == makedev(1, 3);
}

bool is_mask(const std::string& file) {
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

class Merge {
 public:
  explicit Merge(const SearchResult& found) : found_(found) { result_.warnings = found.warnings; }

  void read_all() {
    for (const FoundManifest& manifest : found_.manifests) {
      if (!manifest.reason && is_mask(manifest.file)) continue;
      Candidate& candidate = result_.candidates.emplace_back();
      candidate.file = manifest.file;
      candidate.name = manifest.name;
      candidate.place = manifest.place;
      candidate.place_name = found_.places[manifest.place].name;
      candidate.tier = found_.places[manifest.place].tier;
      if (manifest.reason) {
        candidate.stop(manifest.reason, manifest.text);
      } else if (const FoundManifest* higher = higher_of_same_name(manifest)) {
        const bool mask = is_mask(higher->file);
        candidate.stop(mask ? reason::masked : reason::replaced_by,
                       concat(mask ? "masked by " : "replaced by ", higher->file));
      } else {
        read(candidate);
      }
    }
    for (const FoundDropIn& drop_in : found_.drop_ins) {
      if (!used_drop_ins_.contains(drop_in.file)) {
        result_.warnings.push_back(concat(drop_in.file, ": no manifest is named ", drop_in.name));
      }
    }
  }

  void apply_filters(const std::vector<PluginFilter>& filters) {
    for (const PluginFilter& filter : filters) {
      bool matched = false;
      for (Candidate& candidate : result_.candidates) {
        if (!candidate.manifest || !matches(filter, candidate)) continue;
        matched = true;
        if (!filter.select && !candidate.stopped()) {
          candidate.stop(reason::filtered, concat("by ", filter.source, " \"", filter.glob, "\""));
        } else if (filter.select && candidate.reason == reason::filtered) {
          candidate.stop({}, "");
        }
      }
      if (!matched) warn_about(filter);
    }
  }

  void check_hosts() {
    const HostTraits host = host_traits();
    for (Candidate& candidate : result_.candidates) {
      if (candidate.stopped()) continue;
      if (const Status fits = check_targets(candidate.manifest->targets, host); !fits.ok()) {
        candidate.stop(reason_of(fits.error()), fits.error().message);
      }
    }
  }

  // Candidates are in order of place, so the first of an id wins but for versions of its own tier.
  void settle_ids() {
    std::vector<Candidate*> winners;
    for (Candidate& candidate : result_.candidates) {
      if (candidate.stopped()) continue;
      const auto same = [&](const Candidate* winner) {
        return winner->manifest->id == candidate.manifest->id;
      };
      const auto at = std::find_if(winners.begin(), winners.end(), same);
      if (at == winners.end()) {
        winners.push_back(&candidate);
      } else if (candidate.tier == (*at)->tier &&
                 candidate.manifest->version > (*at)->manifest->version) {
        shadow(**at, candidate);
        *at = &candidate;
      } else {
        shadow(candidate, **at);
      }
    }
    for (Candidate* winner : winners) winner->state = CandidateState::eligible;
  }

  MergeResult take() { return std::move(result_); }

 private:
  const FoundManifest* higher_of_same_name(const FoundManifest& manifest) const {
    for (const FoundManifest& other : found_.manifests) {
      if (other.place >= manifest.place) return nullptr;
      if (!other.reason && other.name == manifest.name) return &other;
    }
    return nullptr;
  }

  void read(Candidate& candidate) {
    Result<Manifest> manifest = open_manifest(candidate.file);
    if (!manifest.ok()) return stop(candidate, manifest.error());
    candidate.state = CandidateState::parsed;
    std::string switched_by = candidate.file;
    for (const FoundDropIn& drop_in : found_.drop_ins) {
      if (drop_in.name != candidate.name) continue;
      used_drop_ins_.insert(drop_in.file);
      const bool was_enabled = manifest->enabled;
      const Result<std::string> text = read_text_file(drop_in.file);
      const Status applied =
          text.ok() ? apply_drop_in(*text, drop_in.file, *manifest) : Status(text.error());
      if (!applied.ok()) return stop(candidate, applied.error());
      candidate.drop_ins.push_back(drop_in.file);
      if (manifest->enabled != was_enabled) switched_by = drop_in.file;
    }
    for (const std::string& warning : manifest->warnings) result_.warnings.push_back(warning);
    candidate.manifest = std::move(*manifest);
    if (!candidate.manifest->enabled) {
      candidate.stop(reason::disabled, concat(switched_by, " says enabled: false"));
    }
  }

  static void stop(Candidate& candidate, const Error& error) {
    const Reason known = reason_of(error);
    candidate.stop(known                           ? known
                   : error.code == Code::not_found ? reason::not_found
                                                   : reason::unreadable,
                   error.message);
  }

  static bool matches(const PluginFilter& filter, const Candidate& candidate) {
    return matches_glob(filter.glob, candidate.manifest->id) ||
           matches_glob(filter.glob, candidate.name);
  }

  void warn_about(const PluginFilter& filter) {
    std::vector<std::string_view> names;
    for (const Candidate& candidate : result_.candidates) {
      if (candidate.manifest) names.push_back(candidate.manifest->id);
      names.push_back(candidate.name);
    }
    result_.warnings.push_back(concat(filter.source, ": \"", filter.glob, "\" matches no plugin",
                                      did_you_mean(filter.glob, names)));
  }

  static void shadow(Candidate& loser, const Candidate& winner) {
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

  const SearchResult& found_;
  MergeResult result_;
  std::set<std::string> used_drop_ins_;
};

}  // namespace

MergeResult merge_plugins(const SearchResult& found, const std::vector<PluginFilter>& filters) {
  Merge merge(found);
  merge.read_all();
  merge.apply_filters(filters);
  merge.check_hosts();
  merge.settle_ids();
  return merge.take();
}

}  // namespace gantry
