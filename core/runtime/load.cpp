// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/load.hpp"

#include "core/blob/container.hpp"
#include "core/elf/elf_file.hpp"
#include "core/host/device_numbers.hpp"
#include "core/host/library_module.hpp"
#include "core/module/unbound.hpp"
#include "core/plugin/explain.hpp"
#include "core/runtime/payload.hpp"
#include "core/runtime/state.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

namespace gantry {
namespace {

// Each payload that only its loader can measure costs one more reading of the container.
constexpr std::size_t kMostSelfMeasured = 256;

// One file on its way in.
class Loading {
 public:
  Loading(RuntimeState& state, std::shared_ptr<const MappedFile> file, const LoadOptions& options)
      : state_(state),
        file_(std::move(file)),
        options_(options),
        name_(file_->path().filename().string()),
        life_(state.life()) {}

  Result<Ref<ModuleNode>> run() {
    GANTRY_TRY(ElfFile elf, ElfFile::parse(file_));
    elf_ = std::make_shared<const ElfFile>(std::move(elf));
    GANTRY_TRY(pin_, new_pin(file_));
    GANTRY_CHECK(read());
    for (const std::string& warning : container_.warnings)
      state_.log.info(concat(name_, ": ", warning));
    if (Status found = find_servers(); !found.ok()) return with_dialect(std::move(found).error());
    GANTRY_CHECK(make_nodes());
    GANTRY_CHECK(set_numbers());
    GANTRY_CHECK(bind_libraries());
    GANTRY_CHECK(load_payloads());
    link();
    GANTRY_CHECK(set_contexts());
    return nodes_.front();
  }

 private:
  using Server = std::shared_ptr<const ActivePlugin>;

  // What all entries of one type key have in common.
  struct Key {
    std::string_view name;                // empty: lost behind a payload that nobody can measure
    std::string place_end;                // of every place: " \"cuda\" of model.so"
    std::vector<std::size_t> entries;     // by index
    Server server;                        // NULL: host code, or missing
    std::string missing;                  // why nobody serves it, in full; empty: somebody does
    std::optional<PayloadLoader> loader;  // made for the first payload
  };

  std::string place_end_of(std::string_view key) const {
    return concat(" ", quoted(key), " of ", name_);
  }
  static std::string place_of(std::size_t index, std::string_view place_end) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, index).ptr;
    std::string place;
    place.reserve(7 + static_cast<std::size_t>(end - digits) + place_end.size());
    return place.append("module ").append(digits, end).append(place_end);
  }

  // Delimits every payload. Where only a key's loader knows how long its payload is (layout one, a plugin whose
  // manifest declares no layout), that loader runs now, and what it has consumed says where the next entry begins.
  Status read() {
    std::optional<PayloadLayouts> informed;  // copied only where a loader has to say something
    for (;;) {
      GANTRY_TRY(container_, read_container(*elf_, informed ? *informed : state_.layouts));
      const auto& entries = container_.entries;
      const auto vague = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
        return !is_delimited(entry) && !entry.type_key.empty() &&
               state_.plugins->usable_for_key(entry.type_key).has_value();
      });
      if (vague == entries.end()) return {};
      const auto index = static_cast<std::size_t>(vague - entries.begin());
      const std::string key(vague->type_key);
      if (loaded_.size() == kMostSelfMeasured) {
        return exhausted(name_, " has more than ", kMostSelfMeasured,
                         " payloads of type keys like ", quoted(key),
                         " whose length only their loader knows: declare the payload layout in the "
                         "plugin's manifest")
            .because("PAYLOAD_LAYOUT");
      }
      GANTRY_TRY(const Server server, state_.plugins->for_key(key));
      GANTRY_TRY(Ref<ModuleNode> node, new_module_node(key, place_of(index, place_end_of(key))));
      keep_alive(*node);
      auto consumed = load_payload(state_, server, payload_of(index), pin_, *node);
      if (!consumed.ok()) return std::move(consumed).failure().at("while loading ", node->place);
      if (!informed) informed = state_.layouts;
      informed->report(vague->at, *consumed);
      loaded_.emplace(vague->at, std::move(node));
    }
  }

  // What else stands in the way: serving all type keys alone would not make the file run.
  Error with_dialect(Error error) const {
    const DialectFound found = dialect_of(*elf_);
    if (found.dialect != HostDialect::ffi) return error;
    return std::move(error).at(concat("its host code is of the ffi dialect, written by ",
                                      found.writer, ", which this version does not run either"));
  }

  static bool is_delimited(const Entry& entry) {
    return entry.extent == Extent::exact || entry.extent == Extent::laid_out;
  }

  Payload payload_of(std::size_t index) const {
    const Entry& entry = container_.entries[index];
    Payload payload{file_, std::string(entry.type_key), entry.payload, is_delimited(entry),
                    generation_number(container_.generation)};
    if (!payload.exact && entry.payload.data() != nullptr) {
      const std::uint8_t* end = container_.bytes.data() + container_.bytes.size();
      payload.bytes = {entry.payload.data(), end};
    }
    return payload;
  }

  void keep_alive(ModuleNode& node) const {
    node.pins.push_back(life_);
    node.globals = state_.globals;
    node.trace = state_.trace.get();
  }

  Result<Ref<ModuleNode>> new_node(std::size_t index) {
    const Key& key = keys_[key_of_[index]];
    std::string place = place_of(index, key.place_end);
    GANTRY_TRY(Ref<ModuleNode> node,
               key.missing.empty()
                   ? new_module_node(std::string(key.name), std::move(place))
                   : new_unbound_node(std::string(key.name), std::move(place), key.missing,
                                      std::make_shared<const Payload>(payload_of(index))));
    keep_alive(*node);
    return node;
  }

  // Files have few keys and thousands of modules.
  void sort_by_key() {
    std::unordered_map<std::string_view, std::uint32_t> place;
    key_of_.reserve(container_.entries.size());
    for (std::size_t i = 0; i < container_.entries.size(); ++i) {
      const std::string_view name = container_.entries[i].type_key;
      if (key_of_.empty() || keys_[key_of_.back()].name != name) {
        const auto [known, added] =
            place.try_emplace(name, static_cast<std::uint32_t>(keys_.size()));
        if (added) keys_.push_back({name, place_end_of(name), {}, {}, {}, {}});
        key_of_.push_back(known->second);
      } else {
        key_of_.push_back(key_of_.back());
      }
      keys_[key_of_.back()].entries.push_back(i);
    }
  }

  // Who wants a key, for messages.
  Wish wish_of(const Key& key) const {
    Wish wish{std::string(key.name), false, {}};
    for (const std::size_t i : key.entries) {
      wish.wanted_by.push_back(concat(name_, "[", key.name, "#", i, "]"));
    }
    return wish;
  }

  // In one sentence, for a placeholder says it again wherever it is passed; the whole story is explain()'s.
  std::string why_missing(const Wish& wish, const Error& failure) const {
    const ExplainedWish told = explain(*state_.plugins, {wish}).wishes.front();
    const auto sentence = [](std::string_view text) { return text.substr(0, text.find('\n')); };
    if (told.served)
      return std::string(sentence(failure.message));  // nothing against it but this one try
    std::string why;
    for (const ExplainedCandidate& candidate : told.candidates) {
      why += concat(why.empty() ? "" : "; ", candidate.id, " ", candidate.version, ": ",
                    sentence(candidate.text));
    }
    if (why.empty()) why = "no plugin offers it";
    return told.advice.empty() ? why : concat(why, "; ", told.advice);
  }

  // One error for all keys that nobody serves; OK where somebody serves each.
  Status check_served(const std::vector<Key*>& wanted) const {
    std::vector<Wish> wishes;
    for (const Key* key : wanted) wishes.push_back(wish_of(*key));
    const Explanation told = explain(*state_.plugins, wishes);
    if (told.all_served()) return {};
    return unserved_error(told, name_);
  }

  // Opens the plugin of every type key, and tells of all that nobody serves at once.
  Status find_servers() {
    sort_by_key();
    std::vector<Key*> wanted;
    bool usable = true;
    for (Key& key : keys_) {
      if (key.name == library_key) continue;
      if (key.name.empty()) {  // lost behind one that nobody serves, which is told of
        key.missing = "it lies behind a payload of unknown length";
        continue;
      }
      wanted.push_back(&key);
      // Whatever the plugins' files tell is known of all keys before the code of one plugin runs.
      usable = (options_.allow_missing || state_.plugins->usable_for_key(key.name)) && usable;
    }
    if (!usable) GANTRY_CHECK(check_served(wanted));
    std::optional<Error> failure;
    for (Key* key : wanted) {
      auto server = state_.plugins->for_key(key->name);
      if (server.ok()) {
        key->server = std::move(*server);
      } else if (options_.allow_missing) {
        key->missing = why_missing(wish_of(*key), server.error());
      } else if (!failure) {
        failure = std::move(server).error();
      }
    }
    if (!failure) return {};
    GANTRY_CHECK(check_served(wanted));
    return std::move(*failure);  // a plugin that asks for itself while it is created
  }

  // How the file's code counts devices.
  Status set_numbers() {
    set_device_numbers(nodes_, is_of_v0_7_or_older(), state_.devices);
    std::uint64_t ext_devs = 0;
    for (const Key& key : keys_) {
      if (key.server == nullptr) continue;
      const std::uint64_t device = ext_dev_of(state_, *key.server, key.name);
      if (device == 0) continue;
      for (const std::size_t i : key.entries) nodes_[i]->ext_devs = device;
      ext_devs |= device;
    }
    if (ext_devs == 0) return {};
    for (const std::uint64_t i : container_.tree.children_first()) {
      for (const std::uint64_t child : container_.tree.children_of(i))
        nodes_[i]->ext_devs |= nodes_[child]->ext_devs;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      if (is_of_v0_7_or_older()) nodes_[i]->ext_devs |= nodes_.front()->ext_devs;
      GANTRY_CHECK(check_ext_dev(*nodes_[i], nodes_[i]->ext_devs, state_.devices));
    }
    return {};
  }

  Status make_nodes() {
    nodes_.reserve(container_.entries.size());
    for (std::size_t i = 0; i < container_.entries.size(); ++i) {
      if (!loaded_.empty() && !container_.entries[i].is_library()) {
        const auto early = loaded_.find(container_.entries[i].at);
        if (early != loaded_.end()) {
          nodes_.push_back(early->second);
          continue;
        }
      }
      GANTRY_TRY(Ref<ModuleNode> node, new_node(i));
      nodes_.push_back(std::move(node));
    }
    return {};
  }

  // The artifact's own code. Several `_lib` (generation 2) get a mapping each.
  Status bind_libraries() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      const Span span(state_.trace.get(), "dlopen", "load");
      GANTRY_TRY(auto library, HostLibrary::open(file_, elf_, state_.host));
      GANTRY_TRY(const gantry_module pair, new_library_module(std::move(library), &state_.host,
                                                              *nodes_[i], container_.prefix));
      GANTRY_CHECK(bind(*nodes_[i], pair));
    }
    return {};
  }

  Status load_payloads() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Entry& entry = container_.entries[i];
      Key& key = keys_[key_of_[i]];
      if (key.server == nullptr || (!loaded_.empty() && loaded_.contains(entry.at))) continue;
      const Status loaded = load_with(key, i);
      if (!loaded.ok()) return Error(loaded.error()).at("while loading ", nodes_[i]->place);
    }
    return {};
  }

  Status load_with(Key& key, std::size_t index) {
    const Entry& entry = container_.entries[index];
    if (!is_delimited(entry)) {  // no two of them alike
      GANTRY_CHECK(load_payload(state_, key.server, payload_of(index), pin_, *nodes_[index]));
      return {};
    }
    if (!key.loader) {
      GANTRY_TRY(key.loader, PayloadLoader::create(state_, key.server, payload_of(index), pin_));
    }
    GANTRY_CHECK(key.loader->load(entry.payload, true, *nodes_[index]));
    return {};
  }

  static std::int32_t generation_number(Generation generation) {
    switch (generation) {
      case Generation::g0:
        return 0;
      case Generation::g1:
        return 1;
      case Generation::g2:
        return 2;
      case Generation::g3:
      case Generation::g3x:
        return 3;
      case Generation::g4:
      case Generation::g4x:
        return 4;
      case Generation::g5:
        return 5;
      default:
        return -1;
    }
  }

  void link() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto children = container_.tree.children_of(i);
      nodes_[i]->imports.reserve(children.size());
      for (const std::uint64_t child : children) nodes_[i]->imports.push_back(nodes_[child]);
    }
  }

  bool is_of_v0_7_or_older() const {
    return generation_number(container_.generation) >= 0 &&
           generation_number(container_.generation) <= 2;
  }

  // Older files look up from the root, newer ones from the library.
  Status set_contexts() {
    const bool from_root = is_of_v0_7_or_older();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      GANTRY_CHECK(
          set_module_context(*nodes_[i], from_root && i != 0 ? nodes_.front().get() : nullptr));
    }
    return {};
  }

  RuntimeState& state_;
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<const ElfFile> elf_;  // of file_
  const LoadOptions options_;
  const std::string name_;
  Container container_;
  ObjectPtr pin_;   // the mapping, for plugins that keep a payload
  const Pin life_;  // of the runtime
  std::vector<Key> keys_;
  std::vector<std::uint32_t> key_of_;                // by entry, into keys_
  std::map<std::uint64_t, Ref<ModuleNode>> loaded_;  // early, by payload offset: see read()
  std::vector<Ref<ModuleNode>> nodes_;
};

}  // namespace

Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options) {
  const Span span(state.trace.get(), "load file", "load");
  if (path.empty()) return invalid("an empty path names no file");
  std::error_code failed;  // the working folder may be gone, which an absolute path does not need
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  auto file = MappedFile::open(failed ? std::filesystem::path(path) : whole);
  if (!file.ok()) return std::move(file).failure().at("while loading ", path);
  bool here = false;
  auto root = state.files.get(*file, [&] {
    here = true;
    return Loading(state, *file, options).run();
  });
  if (!root.ok()) {
    Error error = std::move(root).error();
    if (error.reason == "NO_PLUGIN") return error;  // says what and where in its first line
    return std::move(error).at("while loading ", path);
  }
  state.log.info(concat("loaded ", path, ": module ", quoted((*root)->type_key), ", imports ",
                        (*root)->imports.size()));
  if (!options.allow_missing && !here) {  // it may have been loaded by somebody who allowed it
    GANTRY_CHECK(bind_missing(state, **root, std::filesystem::path(path).filename().string()));
  }
  return root;
}

}  // namespace gantry
