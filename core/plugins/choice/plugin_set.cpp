// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/plugin_set.hpp"

#include "core/base/process_end.hpp"

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

bool offers(const Manifest& manifest, std::string_view what, Offer offer) {
  if (offer == Offer::type_key) return manifest.key_for(what) != nullptr;
  return offer == Offer::global ? manifest.offers_global(what) : manifest.offers_device(what);
}

}  // namespace

// A candidate and its plugin, if it is in use.
struct Slot {
  Candidate candidate;
  // of a plugin that is part of the program
  decltype(&gantry_plugin_query_v1) query = nullptr;
  // the refused candidates that it replaces, as long as no warning has named them
  std::vector<std::size_t> unlogged;
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

PluginSet::PluginSet(SearchResult found, ChoiceOptions options, ManifestCache* cache)
    : found_(std::move(found)), options_(std::move(options)), state_(std::make_unique<State>()) {
  Discovery discovery = discover(found_, options_, cache);
  for (Candidate& candidate : discovery.candidates)
    state_->slots.emplace_back().candidate = std::move(candidate);
  warnings_ = std::move(discovery.warnings);
  for (const Message& warning : warnings_) warn(warning);
}

PluginSet::~PluginSet() {
  for (; !state_->created.empty(); state_->created.pop_back())
    state_->slots[state_->created.back()].active.reset();
}

void PluginSet::warn(const Message& text) const {
  if (options_.log) options_.log->warning(text);
}

// Warns that a plugin was not used. A library of another machine never served this host.
void PluginSet::warn_about(const Reason& why, const Message& text) const {
  if (why != reason::wrong_machine) return warn(text);
  if (options_.log) options_.log->info(text);
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
  slot.candidate.manifest = std::make_shared<const Manifest>(manifest_of(*plugin));
  slot.candidate.passed = Step::preferred;
  const std::lock_guard lock(state_->mutex);
  for (Slot& other : state_->slots) {
    Candidate& candidate = other.candidate;
    if (candidate.is_out() || candidate.manifest->id != plugin->id) continue;
    if (other.query) return invalid("plugin ", plugin->id, " is already part of the program");
    if (other.opening || other.active) {
      return invalid("plugin ", candidate.title(),
                     " is already in use and cannot be replaced by a plugin of the program");
    }
    shadow_by_program(candidate, slot.candidate.title());
  }
  state_->slots.push_back(std::move(slot));
  return {};
}

std::vector<std::size_t> PluginSet::choices(std::string_view what, Offer offer) const {
  const std::string_view override_id = options_.override_of(what);
  const std::lock_guard lock(state_->mutex);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < state_->slots.size(); ++i) {
    const Candidate& candidate = state_->slots[i].candidate;
    if (candidate.is_out() || !offers(*candidate.manifest, what, offer)) continue;
    if (check_override(override_id, *candidate.manifest).ok()) all.push_back(i);
  }
  std::ranges::stable_sort(all, [&](std::size_t a, std::size_t b) {
    return comes_first(*state_->slots[a].candidate.manifest, *state_->slots[b].candidate.manifest);
  });
  return all;
}

std::vector<std::size_t> PluginSet::choices_for_key(std::string_view type_key) const {
  return choices(type_key, Offer::type_key);
}
std::vector<std::size_t> PluginSet::choices_for_device(std::string_view name) const {
  return choices(name, Offer::device);
}
std::vector<std::size_t> PluginSet::choices_for_global(std::string_view name) const {
  return choices(name, Offer::global);
}

std::string PluginSet::tie_for(const std::vector<std::size_t>& all) const {
  if (all.size() < 2) return "";
  const std::lock_guard lock(state_->mutex);
  const Manifest& first = *state_->slots[all[0]].candidate.manifest;
  const Manifest& second = *state_->slots[all[1]].candidate.manifest;
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
      return !slot.candidate.is_out() && slot.candidate.manifest->id == id;
    });
    if (at == state_->slots.end()) {
      return not_found("plugin ", quoted(id), " not found among the usable ones")
          .with_reason(reason::no_plugin.tag);
    }
    index = static_cast<std::size_t>(at - state_->slots.begin());
  }
  return open(index);
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::open(std::size_t candidate) {
  for (;;) {
    Result<std::shared_ptr<const ActivePlugin>> active = open_candidate(candidate);
    if (active.ok()) return active;
    const auto next = logged_next_version(candidate, Depth::library);
    if (!next) return active;
    candidate = *next;
  }
}

void PluginSet::exclude(std::size_t candidate, const Reason& why, Message text) {
  const std::lock_guard lock(state_->mutex);
  Slot& slot = state_->slots[candidate];
  if (slot.active || slot.opening) return;
  slot.candidate.passed = Step::read;
  slot.candidate.stop(why, std::move(text));
}

void PluginSet::set_probe(std::size_t candidate, const Result<ProbeNote>& verdict) {
  const std::lock_guard lock(state_->mutex);
  Slot& slot = state_->slots[candidate];
  if (slot.active || slot.opening || slot.candidate.is_out()) return;
  if (verdict.ok()) {
    slot.candidate.probe = *verdict;
  } else {
    slot.candidate.passed = Step::resolved;
    slot.candidate.stop(verdict.error());
  }
}

std::optional<std::size_t> PluginSet::next_version(std::size_t refused, Depth depth) {
  if (!plugins_may_run()) return std::nullopt;
  const auto of_id = [&](std::string_view id, bool is_used) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < state_->slots.size(); ++i) {
      const Candidate& one = state_->slots[i].candidate;
      if (!one.manifest || one.manifest->id != id) continue;
      if (is_used ? !one.is_out() : one.stopped() && one.passed == Step::trusted) all.push_back(i);
    }
    return all;
  };
  // Decides under the lock whether another candidate may replace it.
  const auto can_be_replaced = [&] {
    const Slot& slot = state_->slots[refused];
    return !slot.opening && !slot.active && !slot.candidate.is_out() &&
           slot.candidate.was_refused();
  };
  std::vector<std::size_t> others;
  // the last one that is refused
  Candidate last;
  {
    std::unique_lock lock(state_->mutex);
    const Slot& slot = state_->slots[refused];
    if (slot.opening && slot.opener == std::this_thread::get_id()) return std::nullopt;
    state_->settled.wait(lock, [&] { return !slot.opening; });
    if (slot.active) return refused;
    const Candidate& self = slot.candidate;
    if (!self.manifest) return std::nullopt;
    // Another thread has replaced it, or the program has added a plugin with its id.
    if (self.is_out()) {
      const std::vector<std::size_t> used = of_id(self.manifest->id, true);
      return used.empty() ? std::nullopt : std::optional(used.front());
    }
    if (!can_be_replaced()) return std::nullopt;
    last = self;
    others = of_id(self.manifest->id, false);
    std::erase_if(others, [&](std::size_t i) {
      const Candidate& other = state_->slots[i].candidate;
      return precedes(other, self) || (!precedes(self, other) && i < refused);
    });
    std::ranges::stable_sort(others, [&](std::size_t a, std::size_t b) {
      return precedes(state_->slots[a].candidate, state_->slots[b].candidate);
    });
  }
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::size_t other = others[i];
    Candidate copy = candidate(other);
    if (!may_replace(options_, last, copy)) continue;
    copy.passed = Step::preferred;
    copy.stop({}, {});
    Status usable =
        options_.opened != nullptr ? options_.opened->check_version(*copy.manifest) : Status();
    Passage at{.options = options_, .candidate = copy, .depth = depth};
    if (usable.ok()) usable = take(Step::resolved, at);

    std::unique_lock lock(state_->mutex);
    Candidate& next = state_->slots[other].candidate;
    if (!can_be_replaced()) {
      // Another thread opens it again, or has replaced it.
      lock.unlock();
      return next_version(refused, depth);
    }
    if (next.passed != Step::trusted) continue;
    if (!usable.ok()) {
      next.stop(usable.error());
      // The version that this process has opened may follow.
      if (next.reason == reason::restart_needed) continue;
      if (!next.was_refused()) return std::nullopt;
      last = next;
      continue;
    }
    Slot& old = state_->slots[refused];
    old.candidate.passed = Step::trusted;
    next = std::move(copy);
    std::vector<std::size_t>& unlogged = state_->slots[other].unlogged;
    unlogged = std::exchange(old.unlogged, {});
    unlogged.push_back(refused);
    // Their texts name the refused one.
    for (++i; i < others.size(); ++i) {
      Candidate& later = state_->slots[others[i]].candidate;
      if (later.reason == reason::shadowed_by || later.reason == reason::duplicate_of)
        later.stop(shadowed(later, next).error());
    }
    return other;
  }
  return std::nullopt;
}

// As next_version(), with a warning about what is used instead.
std::optional<std::size_t> PluginSet::logged_next_version(std::size_t refused, Depth depth) {
  const auto next = next_version(refused, depth);
  if (next) log_replacement(*next);
  return next;
}

// Warns once that a candidate is used instead of refused ones, and about its signature if the policy
// of its tier is `warn`.
void PluginSet::log_replacement(std::size_t candidate) {
  std::vector<Candidate> replaced;
  Candidate used;
  {
    const std::lock_guard lock(state_->mutex);
    Slot& slot = state_->slots[candidate];
    for (const std::size_t refused : std::exchange(slot.unlogged, {}))
      replaced.push_back(state_->slots[refused].candidate);
    if (replaced.empty()) return;
    used = slot.candidate;
  }
  for (const Candidate& old : replaced) {
    state_->fallbacks.fetch_add(1, std::memory_order_relaxed);
    warn_about(old.reason, Message("plugin ", old.title(), " of ", old.file, " is refused, ",
                                   used.manifest->version.text, " of ", used.file,
                                   " is used instead: ", old.text));
  }
  for (const Message& warning : used.policy_warnings) warn(warning);
}

// Replaces a refused choice as logged_next_version(), and inserts the next version among the later
// choices if it offers the same.
//
// at       [in]   index into `choices`
// returns  false if the choice stays what it is
bool PluginSet::insert_next_version(std::vector<std::size_t>& choices, std::size_t at,
                                    std::string_view what, Offer offer, Depth depth) {
  const auto next = logged_next_version(choices[at], depth);
  if (!next) return false;
  const auto manifest_of = [&](std::size_t i) { return candidate(i).manifest; };
  const auto manifest = manifest_of(*next);
  if (!offers(*manifest, what, offer)) return true;
  const auto later = choices.begin() + static_cast<std::ptrdiff_t>(at) + 1;
  choices.insert(std::upper_bound(later, choices.end(), *next,
                                  [&](std::size_t, std::size_t other) {
                                    return comes_first(*manifest, *manifest_of(other));
                                  }),
                 *next);
  return true;
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::serve(std::string_view what, Offer offer) {
  const std::string_view noun = offer == Offer::device ? "device" : "type key";
  std::vector<std::size_t> all = choices(what, offer);
  if (all.empty()) {
    const std::string_view override_id = options_.override_of(what);
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
    Result<std::shared_ptr<const ActivePlugin>> active = open_candidate(all[i]);
    if (active.ok()) return active;
    last = std::move(active).error();
    // Now another candidate of its id takes part in the choice.
    if (insert_next_version(all, i, what, offer, Depth::library)) continue;
    if (i + 1 == all.size()) break;
    const Candidate failed = candidate(all[i]), next = candidate(all[i + 1]);
    if (const Status tried = check_fallback(options_, next); !tried.ok()) {
      last.at(tried.error().message);
      break;
    }
    state_->fallbacks.fetch_add(1, std::memory_order_relaxed);
    warn_about(reason_of(last), Message("plugin ", failed.title(), " cannot serve ", noun, " \"",
                                        what, "\", trying ", next.title(), ": ", last.message));
  }
  if (!options_.override_of(what).empty())
    last.at(noun, " \"", what, "\" is overridden to this plugin, no other is tried");
  return last;
}

Result<std::shared_ptr<const ActivePlugin>> PluginSet::open_candidate(std::size_t index) {
  Candidate candidate;
  decltype(&gantry_plugin_query_v1) query = nullptr;
  Slot* slot = nullptr;
  {
    std::unique_lock lock(state_->mutex);
    slot = &state_->slots[index];
    if (slot->opening && slot->opener == std::this_thread::get_id()) {
      return bug("plugin ", slot->candidate.title(), " requests itself while it is being created")
          .with_reason(reason::create_failed.tag);
    }
    state_->settled.wait(lock, [&] { return !slot->opening; });
    if (slot->active) return slot->active;
    // It was shadowed after it was chosen.
    if (slot->candidate.is_out())
      return unavailable(slot->candidate.text).with_reason(slot->candidate.reason.tag);
    slot->opening = true;
    slot->opener = std::this_thread::get_id();
    candidate = slot->candidate;
    query = slot->query;
  }

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
  // A report may have replaced another version by it.
  log_replacement(index);
  candidate.passed = Step::preferred;
  candidate.stop({}, {});
  Passage at{.options = options_,
             .candidate = candidate,
             .query = query,
             .load_mutex = &state_->load_mutex};
  Status opened;
  if (!plugins_may_run())
    opened = process_end_error(concat("plugin ", candidate.manifest->title()));
  for (const Step step : {Step::resolved, Step::probed, Step::opened, Step::created}) {
    if (opened.ok()) opened = take(step, at);
  }
  if (!opened.ok()) {
    const Reason why = reason_of(opened.error());
    candidate.stop(why ? why : reason::create_failed, opened.error().message);
    if (candidate.probe && candidate.passed >= Step::probed && options_.prober != nullptr)
      options_.prober->forget(candidate);
    candidate.probe.reset();
  }

  const std::lock_guard lock(state_->mutex);
  if (opened.ok()) {
    slot->active = std::make_shared<ActivePlugin>(
        ActivePlugin{std::move(at.plugin), *candidate.manifest, std::move(at.instance)});
    state_->created.push_back(index);
  }
  slot->candidate = std::move(candidate);
  if (!opened.ok()) return std::move(opened).error();
  return slot->active;
}

std::vector<std::string> PluginSet::served_keys() const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> keys;
  for (const Slot& slot : state_->slots) {
    const Candidate& candidate = slot.candidate;
    if (candidate.stopped()) continue;
    const auto add = [&](const std::string& key) {
      if (check_override(options_.override_of(key), *candidate.manifest).ok()) keys.insert(key);
    };
    for (const ManifestKey& key : candidate.manifest->keys) {
      add(key.key);
      for (const std::string& alias : key.aliases) add(alias);
    }
  }
  return {keys.begin(), keys.end()};
}

std::vector<std::string> PluginSet::devices_of(bool (Candidate::*is_omitted)() const) const {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> names;
  for (const Slot& slot : state_->slots) {
    if ((slot.candidate.*is_omitted)()) continue;
    for (const ManifestDevice& device : slot.candidate.manifest->devices) names.insert(device.name);
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> PluginSet::served_devices() const {
  return devices_of(&Candidate::stopped);
}
std::vector<std::string> PluginSet::offered_devices() const {
  return devices_of(&Candidate::is_out);
}

std::vector<Candidate> PluginSet::candidates() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Candidate> all;
  all.reserve(state_->slots.size());
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
  std::vector<std::size_t> required;
  {
    const std::lock_guard lock(state_->mutex);
    for (std::size_t i = 0; i < state_->slots.size(); ++i) {
      const Candidate& candidate = state_->slots[i].candidate;
      if (candidate.manifest && candidate.manifest->required) required.push_back(i);
    }
  }
  const auto is_used = [&](const std::string& id) {
    const std::lock_guard lock(state_->mutex);
    return std::ranges::any_of(state_->slots, [&](const Slot& slot) {
      return !slot.candidate.is_out() && slot.candidate.manifest->id == id;
    });
  };
  for (const std::size_t index : required) {
    Candidate candidate = this->candidate(index);
    using namespace reason;
    const Reason& why = candidate.reason;
    if (why == shadowed_by || why == duplicate_of || why == disabled) continue;
    // The version that this process has opened, or the next one, is used instead.
    const bool is_replaced =
        candidate.is_out() && (why == restart_needed || candidate.was_refused());
    if (is_replaced && is_used(candidate.manifest->id)) continue;
    Status usable;
    if (candidate.stopped()) {
      usable = unavailable(candidate.text).with_reason(why.tag);
    } else if (!candidate.manifest->library_path.empty()) {
      Passage at{.options = options_, .candidate = candidate, .depth = Depth::dependencies};
      usable = take(Step::resolved, at);
      if (!usable.ok() && !inspect(index, Depth::dependencies) &&
          logged_next_version(index, Depth::dependencies))
        continue;
    }
    if (usable.ok()) continue;
    const Error& error = usable.error();
    const std::string& by = candidate.drop_ins.empty() ? candidate.file : candidate.drop_ins.back();
    return unavailable("plugin ", candidate.title(), " is required by ", by,
                       " and cannot be used, ", gantry::name_of(reason_of(error)), ": ",
                       error.message)
        .with_reason(error.reason);
  }
  return {};
}

// Inspects a candidate and stores the result as its state. A failure to open it stays stored: an
// inspection does not show whether its cause is gone.
//
// returns  true if nothing prevents opening it as far as is known
bool PluginSet::inspect(std::size_t index, Depth depth) {
  Slot* slot = nullptr;
  Candidate copy;
  // in use, being opened, or without a file
  const auto settled = [&] { return slot->query || slot->opening || slot->active; };
  {
    const std::lock_guard lock(state_->mutex);
    slot = &state_->slots[index];
    if (slot->candidate.is_out()) return false;
    if (settled()) return true;
    copy = slot->candidate;
  }
  copy.passed = Step::preferred;
  Passage at{.options = options_, .candidate = copy, .depth = depth};
  const Status usable = take(Step::resolved, at);
  const std::lock_guard lock(state_->mutex);
  Candidate& candidate = slot->candidate;
  if (candidate.is_out()) return false;
  if (settled()) return true;
  if (!usable.ok()) {
    candidate.passed = Step::preferred;
    candidate.stop(usable.error());
  } else if (candidate.passed == Step::preferred) {
    candidate.passed = Step::resolved;
    candidate.stop({}, {});
  }
  return usable.ok();
}

std::optional<std::size_t> PluginSet::usable_for_key(std::string_view type_key, Depth depth) {
  std::vector<std::size_t> all = choices_for_key(type_key);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (inspect(all[i], depth)) return all[i];
    insert_next_version(all, i, type_key, Offer::type_key, depth);
  }
  return std::nullopt;
}

void PluginSet::note_probes() {
  if (options_.prober == nullptr) return;
  const std::size_t count = candidates().size();
  const auto is_refused = [&](std::size_t index) {
    const Candidate one = candidate(index);
    if (one.stopped() || one.passed >= Step::opened || one.manifest->library_path.empty())
      return false;
    if (!Prober::is_subject(*one.manifest)) return false;
    const auto verdict = options_.prober->cached(one);
    if (verdict) set_probe(index, *verdict);
    return verdict && !verdict->ok();
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::optional<std::size_t> at = i; at && is_refused(*at);)
      at = next_version(*at, Depth::dependencies);
  }
}

void PluginSet::inspect_all() {
  std::size_t count = 0;
  {
    const std::lock_guard lock(state_->mutex);
    count = state_->slots.size();
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!inspect(i, Depth::dependencies)) next_version(i, Depth::dependencies);
  }
}

}  // namespace gantry
