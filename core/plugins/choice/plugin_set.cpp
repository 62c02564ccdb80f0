// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/plugin_set.hpp"

#include "core/base/file_users.hpp"
#include "core/base/process_end.hpp"
#include "core/plugins/choice/inspect.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/join.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace gantry {
namespace {

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

// True for a candidate that was stopped before it could be tried, for example because it has no
// valid manifest. One that failed later is tried again, because the cause may be gone.
bool is_out(const Candidate& candidate) {
  return candidate.stopped() && candidate.state < CandidateState::eligible;
}

bool offers(const Manifest& manifest, std::string_view what, Offer offer) {
  if (offer == Offer::type_key) return manifest.key_for(what) != nullptr;
  if (offer == Offer::global) return manifest.offers_global(what);
  return std::any_of(manifest.devices.begin(), manifest.devices.end(),
                     [&](const ManifestDevice& offered) { return offered.name == what; });
}

}  // namespace

// One candidate and its plugin, if it is in use.
struct Slot {
  Candidate candidate;
  // of a plugin that is part of the program
  decltype(&gantry_plugin_query_v1) query = nullptr;
  bool opening = false;
  std::thread::id opener;
  std::shared_ptr<const ActivePlugin> active;
};

struct PluginSet::State {
  // guards all but load_mutex; never held while a plugin's code runs
  mutable std::mutex mutex;
  // notified when an opening ends
  std::condition_variable settled;
  // held during dlopen and query
  std::mutex load_mutex;
  // only grows: indices and addresses stay valid
  std::deque<Slot> slots;
  // indices of the active ones, in the order in which their creation ended
  std::vector<std::size_t> created;
  std::atomic<std::uint64_t> fallbacks{0};
};

bool comes_first(const Manifest& a, const Manifest& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.version != b.version) return a.version > b.version;
  return a.id < b.id;
}

PluginSet::PluginSet(SearchResult found, const std::vector<PluginFilter>& filters,
                     PluginSetOptions options)
    : found_(std::move(found)),
      filters_(filters),
      options_(std::move(options)),
      state_(std::make_unique<State>()) {
  TrustChecks checks;
  std::vector<Message> of_trust;
  std::optional<Ownership> ownership;
  if (options_.trust) {
    ownership = options_.trust->ownership();
    checks.file = [&](const std::string& file) { return ownership->check(file); };
    checks.candidate = [&](Candidate& candidate, std::string_view text) {
      // The policy `warn` is about plugins that are used.
      std::vector<Message> of_unused;
      return options_.trust->check_manifest(candidate, text, *ownership,
                                            candidate.stopped() ? of_unused : of_trust);
    };
  }
  VersionCheck beside;
  if (options_.opened)
    beside = [&](const Manifest& manifest) { return options_.opened->check_version(manifest); };
  MergeResult merged = merge_plugins(found_, filters, checks, beside);
  for (Candidate& candidate : merged.candidates) {
    state_->slots.emplace_back().candidate = std::move(candidate);
  }
  warnings_ = std::move(merged.warnings);
  warnings_.insert(warnings_.end(), of_trust.begin(), of_trust.end());
  for (const Message& warning : warnings_) warn(warning);
}

PluginSet::~PluginSet() {
  for (; !state_->created.empty(); state_->created.pop_back())
    state_->slots[state_->created.back()].active.reset();
}

void PluginSet::warn(const Message& text) const {
  if (options_.log) options_.log->warning(text);
}

void PluginSet::add_warning(Message text) {
  warn(text);
  warnings_.push_back(std::move(text));
}

Status PluginSet::add_program_plugin(decltype(&gantry_plugin_query_v1) query) {
  GANTRY_TRY(const auto plugin, adopt_plugin(query, options_.core));
  Slot slot;
  slot.query = query;
  slot.candidate.file = "(program)";
  slot.candidate.location_name = "the program";
  slot.candidate.manifest = manifest_of(*plugin);
  slot.candidate.state = CandidateState::eligible;
  const std::lock_guard lock(state_->mutex);
  for (Slot& other : state_->slots) {
    Candidate& candidate = other.candidate;
    if (is_out(candidate) || candidate.manifest->id != plugin->id) continue;
    if (other.query) return invalid("plugin ", plugin->id, " is already part of the program");
    if (other.opening || other.active) {
      return invalid("plugin ", candidate.title(),
                     " is already in use and cannot be replaced by a plugin of the program");
    }
    candidate.state = CandidateState::parsed;
    candidate.stop(reason::shadowed_by,
                   concat("same id as ", slot.candidate.title(), " of the program"));
  }
  state_->slots.push_back(std::move(slot));
  return {};
}

std::string PluginSet::override_of(std::string_view what) const {
  for (const auto& [is_override, id] : options_.overrides) {
    if (is_override == what) return id;
  }
  return "";
}

std::vector<Choice> PluginSet::choices(std::string_view what, Offer offer) const {
  const std::string override_id = override_of(what);
  const std::lock_guard lock(state_->mutex);
  std::vector<Choice> all;
  for (std::size_t i = 0; i < state_->slots.size(); ++i) {
    const Candidate& candidate = state_->slots[i].candidate;
    if (is_out(candidate) || !offers(*candidate.manifest, what, offer)) continue;
    if (!override_id.empty() && candidate.manifest->id != override_id) continue;
    all.push_back({i, !override_id.empty()});
  }
  std::stable_sort(all.begin(), all.end(), [&](const Choice& a, const Choice& b) {
    return comes_first(*state_->slots[a.candidate].candidate.manifest,
                       *state_->slots[b.candidate].candidate.manifest);
  });
  return all;
}

std::vector<Choice> PluginSet::choices_for_key(std::string_view type_key) const {
  return choices(type_key, Offer::type_key);
}
std::vector<Choice> PluginSet::choices_for_device(std::string_view name) const {
  return choices(name, Offer::device);
}
std::vector<Choice> PluginSet::choices_for_global(std::string_view name) const {
  return choices(name, Offer::global);
}

std::string PluginSet::tie_for(const std::vector<Choice>& all) const {
  if (all.size() < 2) return "";
  const std::lock_guard lock(state_->mutex);
  const Manifest& first = *state_->slots[all[0].candidate].candidate.manifest;
  const Manifest& second = *state_->slots[all[1].candidate].candidate.manifest;
  if (first.priority != second.priority || first.version != second.version) return "";
  return concat(first.id, " and ", second.id, " are equal in priority and version, ", first.id,
                " comes first by its id; set a priority or an override");
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::for_key(std::string_view type_key) {
  return serve(type_key, Offer::type_key);
}
Result<std::shared_ptr<const ActivePlugin>> PluginSet::for_device(std::string_view name) {
  return serve(name, Offer::device);
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::open(std::string_view id) {
  std::size_t index = 0;
  {
    const std::lock_guard lock(state_->mutex);
    const auto at = std::find_if(state_->slots.begin(), state_->slots.end(), [&](const Slot& slot) {
      return !is_out(slot.candidate) && slot.candidate.manifest->id == id;
    });
    if (at == state_->slots.end()) {
      return not_found("plugin ", quoted(id), " not found among the usable ones")
          .with_reason(reason::no_plugin.tag);
    }
    index = static_cast<std::size_t>(at - state_->slots.begin());
  }
  return activate(index);
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::open(const Choice& choice) {
  return activate(choice.candidate);
}

void PluginSet::exclude(std::size_t candidate, const Reason& why, Message text) {
  const std::lock_guard lock(state_->mutex);
  Slot& slot = state_->slots[candidate];
  if (slot.active || slot.opening) return;
  slot.candidate.state = CandidateState::parsed;
  slot.candidate.stop(why, std::move(text));
}

void PluginSet::set_probe(std::size_t candidate, const Result<ProbeNote>& verdict) {
  const std::lock_guard lock(state_->mutex);
  Slot& slot = state_->slots[candidate];
  if (slot.active || slot.opening || is_out(slot.candidate)) return;
  if (verdict.ok()) {
    slot.candidate.probe = *verdict;
  } else {
    slot.candidate.state = CandidateState::inspected;
    slot.candidate.stop(reason_of(verdict.error()), verdict.error().message);
  }
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::serve(std::string_view what, Offer offer) {
  const std::string_view noun = offer == Offer::device ? "device" : "type key";
  const std::vector<Choice> all = choices(what, offer);
  if (all.empty()) {
    const std::string override_id = override_of(what);
    if (!override_id.empty()) {
      return unavailable(noun, " \"", what, "\" is overridden to plugin ", override_id,
                         ", which is not installed or does not offer it")
          .with_reason(reason::pin_unserved.tag);
    }
    return unavailable("no plugin offers ", noun, " \"", what, "\"")
        .with_reason(reason::no_plugin.tag);
  }
  Error last;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Result<std::shared_ptr<const ActivePlugin>> active = activate(all[i].candidate);
    if (active.ok()) return active;
    last = std::move(active).error();
    // A library of another machine never served this host.
    const bool is_foreign = reason_of(last) == reason::wrong_machine;
    Message text;
    {
      std::unique_lock lock(state_->mutex);
      const Candidate& failed = state_->slots[all[i].candidate].candidate;
      // The program has added a plugin with that id in the meantime.
      if (is_out(failed)) {
        lock.unlock();
        return serve(what, offer);
      }
      if (i + 1 == all.size()) break;
      if (!options_.fallback) {
        last.at("plugins.fallback is false in ", options_.fallback_source, ": ",
                state_->slots[all[i + 1].candidate].candidate.title(), " is not tried");
        break;
      }
      state_->fallbacks.fetch_add(1, std::memory_order_relaxed);
      text = Message("plugin ", failed.title(), " cannot serve ", noun, " \"", what, "\", trying ",
                     state_->slots[all[i + 1].candidate].candidate.title(), ": ", last.message);
    }
    if (!is_foreign) {
      warn(text);
    } else if (options_.log != nullptr) {
      options_.log->info(text);
    }
  }
  if (all.front().is_override)
    last.at(noun, " \"", what, "\" is overridden to this plugin, no other is tried");
  return last;
}

Result<std::shared_ptr<const LoadedPlugin>> PluginSet::open_library(const Manifest& manifest,
                                                                    const Inspection& inspection) {
  if (!options_.opened) return open_plugin(manifest, inspection, options_.core);
  GANTRY_TRY(OpenedPlugins::Claim claim, options_.opened->claim(manifest, *inspection.file));
  return open_plugin(manifest, inspection, options_.core, [&] { claim.keep(); });
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::activate(std::size_t index) {
  Candidate candidate;
  decltype(&gantry_plugin_query_v1) query = nullptr;
  Slot* slot = nullptr;
  {
    std::unique_lock lock(state_->mutex);
    slot = &state_->slots[index];
    if (slot->opening && slot->opener == std::this_thread::get_id()) {
      return bug("plugin ", slot->candidate.title(), " requests itself while it is being created")
          .with_reason("CREATE_FAILED");
    }
    state_->settled.wait(lock, [&] { return !slot->opening; });
    if (slot->active) return slot->active;
    // It was shadowed after it was chosen.
    if (is_out(slot->candidate)) {
      return unavailable(slot->candidate.text).with_reason(slot->candidate.reason.tag);
    }
    slot->opening = true;
    slot->opener = std::this_thread::get_id();
    candidate = slot->candidate;
    query = slot->query;
  }
  const Manifest& manifest = *candidate.manifest;

  // Also if pthread_cancel() unwinds the plugin; another thread may then open it.
  struct Opening {
    State& state;
    Slot& slot;
    ~Opening() {
      const std::lock_guard lock(state.mutex);
      slot.opening = false;
      state.settled.notify_all();
    }
  };
  const Opening opening{*state_, *slot};
  CandidateState reached = CandidateState::eligible;
  const auto open = [&]() -> Result<std::shared_ptr<const ActivePlugin>> {
    if (!plugins_may_run()) return process_end_error(concat("plugin ", manifest.title()));
    std::shared_ptr<const LoadedPlugin> plugin;
    if (query) {
      const std::lock_guard load_lock(state_->load_mutex);
      GANTRY_TRY(plugin, adopt_plugin(query, options_.core));
    } else {
      GANTRY_TRY(const Inspection inspection, inspect_file(manifest, Depth::library));
      reached = CandidateState::inspected;
      if (options_.probe.check) {
        GANTRY_TRY(const std::optional<ProbeNote> probe, options_.probe.check(candidate));
        // A note of set_probe() is of the run itself, this one may be of its cached verdict.
        if (!candidate.probe) candidate.probe = probe;
      }
      if (candidate.probe) reached = CandidateState::probed;
      const std::lock_guard load_lock(state_->load_mutex);
      GANTRY_TRY(plugin, open_library(manifest, inspection));
    }
    for (const Message& warning : plugin->warnings) warn(warning);
    reached = CandidateState::negotiated;
    auto active = std::make_shared<ActivePlugin>();
    active->plugin = plugin;
    active->manifest = manifest;
    if (options_.activate) {
      auto instance = options_.activate(plugin, manifest);
      if (!instance.ok()) {
        Error error = std::move(instance).error();
        if (!reason_of(error)) error.reason = reason::create_failed.tag;
        if (error.code == Code::unavailable) add_required_file_users(manifest.needs, error);
        return std::move(error.at("while creating plugin ", manifest.title()));
      }
      active->instance = std::move(*instance);
    }
    watch_process_end();
    reached = CandidateState::active;
    return std::shared_ptr<const ActivePlugin>(std::move(active));
  };
  Result<std::shared_ptr<const ActivePlugin>> opened = open();
  if (!opened.ok() && candidate.probe) {
    if (reached >= CandidateState::probed && options_.probe.forget)
      options_.probe.forget(candidate);
    candidate.probe.reset();
  }

  const std::lock_guard lock(state_->mutex);
  slot->candidate.state = reached;
  slot->candidate.probe = candidate.probe;
  if (opened.ok()) {
    state_->created.push_back(index);
    slot->active = *opened;
    slot->candidate.stop({}, {});
  } else {
    const Reason why = reason_of(opened.error());
    slot->candidate.stop(why ? why : reason::create_failed, opened.error().message);
  }
  return opened;
}

std::vector<std::string> PluginSet::served_keys() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> keys;
  for (const Slot& slot : state_->slots) {
    const Candidate& candidate = slot.candidate;
    if (candidate.stopped()) continue;
    const auto add = [&](const std::string& key) {
      const std::string override_id = override_of(key);
      if (override_id.empty() || override_id == candidate.manifest->id) keys.insert(key);
    };
    for (const ManifestKey& key : candidate.manifest->keys) {
      add(key.key);
      for (const std::string& alias : key.aliases) add(alias);
    }
  }
  return {keys.begin(), keys.end()};
}

std::vector<std::string> PluginSet::served_devices() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> names;
  for (const Slot& slot : state_->slots) {
    if (is_out(slot.candidate)) continue;
    for (const ManifestDevice& device : slot.candidate.manifest->devices) names.insert(device.name);
  }
  return {names.begin(), names.end()};
}

std::vector<Candidate> PluginSet::candidates() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Candidate> all;
  for (const Slot& slot : state_->slots) all.push_back(slot.candidate);
  return all;
}

Candidate PluginSet::candidate(std::size_t index) const {
  const std::lock_guard lock(state_->mutex);
  return state_->slots[index].candidate;
}

std::uint64_t PluginSet::fallbacks() const {
  return state_->fallbacks.load(std::memory_order_relaxed);
}

std::vector<Candidate> PluginSet::in_use() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Candidate> all;
  for (const Slot& slot : state_->slots) {
    if (slot.active) all.push_back(slot.candidate);
  }
  return all;
}

Status PluginSet::check_required() {
  std::vector<Candidate> required;
  std::set<std::string> eligible;
  {
    const std::lock_guard lock(state_->mutex);
    for (const Slot& slot : state_->slots) {
      const auto& manifest = slot.candidate.manifest;
      if (manifest && manifest->required) required.push_back(slot.candidate);
      if (manifest && !is_out(slot.candidate)) eligible.insert(manifest->id);
    }
  }
  for (const Candidate& candidate : required) {
    using namespace reason;
    const Reason& why = candidate.reason;
    if (why == shadowed_by || why == duplicate_of || why == disabled) continue;
    // The version that this process has opened is used instead.
    if (why == restart_needed && eligible.contains(candidate.manifest->id)) continue;
    Error error = unavailable(candidate.text).with_reason(why.tag);
    if (!candidate.stopped()) {
      // part of the program
      if (candidate.manifest->library_path.empty()) continue;
      const auto inspection = inspect_file(*candidate.manifest, Depth::dependencies);
      if (inspection.ok()) continue;
      error = inspection.error();
    }
    const std::string& by = candidate.drop_ins.empty() ? candidate.file : candidate.drop_ins.back();
    return unavailable("plugin ", candidate.title(), " is required by ", by,
                       " and cannot be used, ", gantry::name_of(reason_of(error)), ": ",
                       error.message)
        .with_reason(error.reason);
  }
  return {};
}

Result<Inspection> PluginSet::inspect_file(const Manifest& manifest, Depth depth) const {
  const auto library = [&](const MappedFile& mapped) -> Status {
    if (options_.opened) GANTRY_CHECK(options_.opened->check(manifest, mapped));
    return options_.trust ? options_.trust->check_library(manifest, mapped) : Status();
  };
  std::optional<Ownership> ownership;
  const auto needed = [&](const std::string& file) -> Status {
    if (!options_.trust) return {};
    if (!ownership) ownership = options_.trust->ownership();
    return ownership->check(file);
  };
  return inspect_plugin(manifest, options_.core.abi, depth, library, needed);
}

// Inspects a candidate and stores the result as its state. A failure to open it stays stored: an
// inspection does not show whether its cause is gone.
//
// returns  true if nothing prevents opening it as far as is known
bool PluginSet::inspect(std::size_t index, Depth depth) {
  Slot* slot = nullptr;
  Manifest manifest;
  // in use, being opened, or without a file
  const auto settled = [&] { return slot->query || slot->opening || slot->active; };
  {
    const std::lock_guard lock(state_->mutex);
    slot = &state_->slots[index];
    if (is_out(slot->candidate)) return false;
    if (settled()) return true;
    manifest = *slot->candidate.manifest;
  }
  const auto inspection = inspect_file(manifest, depth);
  const std::lock_guard lock(state_->mutex);
  if (is_out(slot->candidate)) return false;
  if (settled()) return true;
  Candidate& candidate = slot->candidate;
  if (!inspection.ok()) {
    candidate.state = CandidateState::eligible;
    candidate.stop(reason_of(inspection.error()), inspection.error().message);
  } else if (candidate.state == CandidateState::eligible) {
    candidate.state = CandidateState::inspected;
    candidate.stop({}, {});
  }
  return inspection.ok();
}

std::optional<Choice> PluginSet::usable_for_key(std::string_view type_key, Depth depth) {
  for (const Choice& choice : choices_for_key(type_key)) {
    if (inspect(choice.candidate, depth)) return choice;
  }
  return std::nullopt;
}

void PluginSet::inspect_all() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(state_->mutex);
    count = state_->slots.size();
  }
  for (std::size_t i = 0; i < count; ++i) inspect(i, Depth::dependencies);
}

}  // namespace gantry
