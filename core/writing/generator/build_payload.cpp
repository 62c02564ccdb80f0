// SPDX-License-Identifier: Apache-2.0
#include "core/writing/generator/build_payload.hpp"

#include "core/base/near_name.hpp"
#include "core/formats/stream_sink.hpp"
#include "core/formats/target/target.hpp"
#include "core/formats/target/target_kinds.hpp"
#include "core/formats/type_key.hpp"
#include "core/writing/generator/build_job.hpp"
#include "core/writing/generator/built_in_generators.hpp"

#include <gantry/host.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace gantry {
namespace {

struct BuildTarget {
  // NULL: none is known for the type key
  const KnownTargetKind* known = nullptr;
  // the kind's name, and the target as JSON
  std::string kind, json;
};

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

// Reads the target that a job states; without one, that of the kind of its type key, with defaults.
//
// lifetime that of `kinds`
// returns  the errors of parse_target(), with the location; invalid: the kind has no generator for
//          the type key
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

// Bytes of a compiler's log in an error: all that a compiler of this host reports.
constexpr std::size_t max_log_bytes = 32 * 1024;

Error located(Error error, std::string_view location) {
  if (!location.empty()) error.at(location);
  return error;
}

// A gantry_build and the strings and lists to which it refers. Stays where it is.
class BuildRecord {
 public:
  BuildRecord(const BuildJob& job, const BuildTarget& target, const Generators& generators)
      : job_(job), generators_(generators) {
    raw_.struct_size = sizeof raw_;
    if (job.code == KernelCode::compiled) raw_.flags = GANTRY_BUILD_COMPILED;
    raw_.kind = bytes_of(target.kind);
    raw_.target = bytes_of(target.json);
    raw_.argument_tags = static_cast<std::uint32_t>(job.argument_tags);
    raw_.self = this;
    raw_.diagnostic = diagnostic;
    raw_.at_kernel = at_kernel;
  }
  BuildRecord(const BuildRecord&) = delete;
  BuildRecord& operator=(const BuildRecord&) = delete;

  // Without sources, for check.
  const gantry_build& raw() const { return raw_; }

  Status build(const Generator& generator, dmlc::Stream& out) {
    add_lists();
    const StreamSink sink(out);
    StatusBuffer status;
    const gantry_code code = status.call([&](gantry_status* reported) {
      return generator.table.build(generator.self, &raw_, sink.raw(), reported);
    });
    if (code == GANTRY_OK) {
      return lost_.ok() ? Status() : Status(located(std::move(lost_).error(), job_.location));
    }
    Error error = status.error(code, concat("build of generator ", generator.name));
    error.message.at_lines(log_);
    const bool has_kernel = kernel_ && *kernel_ < job_.kernel_locations.size();
    return located(std::move(error), has_kernel ? job_.kernel_locations[*kernel_] : job_.location);
  }

 private:
  void add_lists() {
    for (const BuildSource& source : job_.sources) {
      sources_.push_back({bytes_of(source.name), bytes_of(source.language), bytes_of(source.text)});
    }
    for (std::size_t i = 0; i < job_.kernels.size(); ++i) {
      const KernelInfo& kernel = job_.kernels[i];
      std::vector<gantry_bytes>& tags = tags_.emplace_back();
      for (const std::string& tag : kernel.launch_tags) tags.push_back(bytes_of(tag));
      // The list of a vector that is moved stays where it is.
      kernels_.push_back({bytes_of(kernel.name), job_.source_of[i], kernel.parameters.data(),
                          kernel.parameters.size(), tags.data(), tags.size()});
    }
    raw_.sources = sources_.data();
    raw_.source_count = sources_.size();
    raw_.kernels = kernels_.data();
    raw_.kernel_count = kernels_.size();
  }

  static void diagnostic(void* self, std::int32_t level, gantry_bytes text) {
    auto& to = *static_cast<BuildRecord*>(self);
    Status kept = guard([&]() -> Status {
      const std::string_view shown = view_of(text);
      if (level == GANTRY_LOG_ERROR) {
        to.log_.append(shown.substr(0, max_log_bytes - std::min(max_log_bytes, to.log_.size())));
      } else if (to.generators_.warn) {
        to.generators_.warn(Message::lines(shown));
      }
      return {};
    });
    if (to.lost_.ok()) to.lost_ = std::move(kept);
  }
  static void at_kernel(void* self, std::uint64_t kernel) {
    static_cast<BuildRecord*>(self)->kernel_ = kernel;
  }

  const BuildJob& job_;
  const Generators& generators_;
  gantry_build raw_{};
  std::vector<gantry_source> sources_;
  std::vector<std::vector<gantry_bytes>> tags_;
  std::vector<gantry_kernel_record> kernels_;
  std::string log_;
  // the first text that could not be kept
  Status lost_;
  std::optional<std::uint64_t> kernel_;
};

bool is_source(const BuiltInGenerator& row) { return row.use != GeneratorUse::compiled; }

// True if a row is used for a job.
bool serves(const BuiltInGenerator& row, const BuildJob& job) {
  if (job.code == KernelCode::automatic) {
    return row.use != GeneratorUse::source_first || job.target.empty();
  }
  return is_source(row) == (job.code == KernelCode::source);
}

// The generators for a job, in the order in which they are tried.
std::vector<GeneratorEntry> candidates_for(const BuildJob& job, const BuildTarget& target,
                                           const Generators& generators) {
  std::vector<GeneratorEntry> all;
  const auto add_rows = [&](bool are_first) {
    for (const BuiltInGenerator& row : built_in_generators()) {
      if (row.type_key != job.type_key || !serves(row, job)) continue;
      if ((row.use == GeneratorUse::source_first) == are_first) all.push_back(entry_of(row));
    }
  };
  add_rows(true);
  if (target.known != nullptr && job.code != KernelCode::source && generators.open_plugin) {
    for (GeneratorEntry& entry : plugin_generators(*target.known)) all.push_back(std::move(entry));
  }
  add_rows(false);
  return all;
}

// The error of a job without candidates.
Error no_candidate(const BuildJob& job, const TargetKinds& kinds) {
  std::set<std::string_view> known, with_source;
  for (const BuiltInGenerator& row : built_in_generators()) {
    if (row.type_key == library_key) continue;
    known.insert(row.type_key);
    if (is_source(row)) with_source.insert(row.type_key);
  }
  for (const KnownTargetKind& each : kinds.all()) {
    if (!each.kind.languages.empty()) known.insert(each.kind.type_key);
  }
  if (!known.contains(job.type_key)) {
    return not_found("no code generator builds payloads of type key ", quoted(job.type_key),
                     did_you_mean(job.type_key, {known.begin(), known.end()}),
                     "; known type keys: ", join(known));
  }
  if (job.code == KernelCode::source) {
    return unsupported("payloads of type key ", quoted(job.type_key),
                       " contain no source, code: source requires ", join(with_source, " or "));
  }
  return not_found("no installed plugin generates ", quoted(job.type_key), " code, which ",
                   job.code == KernelCode::compiled ? "code: compiled" : "a target",
                   " requires; `gantry targets` lists the generators");
}

// Returns a source in a language that a generator does not read; NULL: it reads all of them.
const BuildSource* unread(const GeneratorEntry& entry, const BuildJob& job) {
  if (entry.languages.empty()) return nullptr;
  const auto source = std::ranges::find_if(job.sources, [&](const BuildSource& each) {
    return std::ranges::find(entry.languages, each.language) == entry.languages.end();
  });
  return source == job.sources.end() ? nullptr : &*source;
}

Error no_reader(const BuildJob& job, const std::vector<GeneratorEntry>& candidates) {
  std::set<std::string_view> languages;
  for (const GeneratorEntry& entry : candidates) {
    languages.insert(entry.languages.begin(), entry.languages.end());
  }
  const BuildSource& source = *unread(candidates.back(), job);
  return unsupported("source ", quoted(source.name), " is of language ", quoted(source.language),
                     ", payloads of type key ", quoted(job.type_key), " are built from ",
                     join(languages));
}

// The host lacks a compiler. A program that must not run is not passed over.
bool is_missing(const Error& error) {
  return error.code == Code::unavailable && error.reason != "SECURE";
}

struct Chosen {
  Generator generator;
  const BuiltInGenerator* built_in;
};

// Returns the first generator that reads the sources and can run.
Result<Chosen> choose(const BuildJob& job, const std::vector<GeneratorEntry>& candidates,
                      const gantry_build& what, const Generators& generators) {
  std::optional<Error> missing;
  for (const GeneratorEntry& entry : candidates) {
    if (unread(entry, job) != nullptr) continue;
    GANTRY_TRY(Generator opened, open_generator(entry, generators));
    Status checked = run_check(opened, what);
    if (checked.ok()) return Chosen{std::move(opened), entry.built_in};
    if (!is_missing(checked.error())) return std::move(checked).error();
    if (missing) {
      missing->at(entry.name, ": ", checked.error().message);
    } else {
      missing = std::move(checked).error();
    }
  }
  if (!missing) return no_reader(job, candidates);
  if (job.code == KernelCode::compiled) missing->at("code: compiled requires a compiler");
  return *std::move(missing);
}

}  // namespace

Result<std::string> build_payload(const BuildJob& job, const Generators& generators,
                                  dmlc::Stream& out) {
  const TargetKinds& kinds = generators.known_kinds();
  GANTRY_TRY(const BuildTarget target, target_of(job, kinds));
  const std::vector<GeneratorEntry> candidates = candidates_for(job, target, generators);
  if (candidates.empty()) return located(no_candidate(job, kinds), job.location);
  BuildRecord record(job, target, generators);
  Result<Chosen> chosen = choose(job, candidates, record.raw(), generators);
  if (!chosen.ok()) return located(std::move(chosen).error(), job.location);
  const BuiltInGenerator* const row = chosen->built_in;
  if (row != nullptr && !row->warning.empty() && job.code == KernelCode::automatic &&
      generators.warn) {
    Message text(row->warning);
    if (!job.location.empty()) text.at(job.location);
    generators.warn(text);
  }
  GANTRY_CHECK(record.build(chosen->generator, out));
  return chosen->generator.name;
}

}  // namespace gantry
