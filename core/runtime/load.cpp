// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/load.hpp"

#include "core/blob/container.hpp"
#include "core/elf/elf_file.hpp"
#include "core/host/library_module.hpp"
#include "core/module/module_graph.hpp"
#include "core/module/unbound.hpp"
#include "core/plugin/explain.hpp"
#include "core/runtime/state.hpp"

#include <gantry/quoted.hpp>
#include <gantry/wall.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

namespace gantry {
namespace {

// One file on its way in.
class Loading {
 public:
  Loading(RuntimeState& state, std::shared_ptr<const MappedFile> file, const LoadOptions& options)
      : state_(state), file_(std::move(file)), options_(options), name_(file_->path().filename().string()) {}

  Result<Ref<ModuleNode>> run() {
    GANTRY_TRY(const ElfFile elf, ElfFile::parse(file_));
    GANTRY_TRY(container_, read_container(elf, state_.layouts));
    for (const std::string& warning : container_.warnings) state_.log.info(concat(name_, ": ", warning));
    GANTRY_CHECK(find_servers());
    GANTRY_CHECK(make_nodes());
    GANTRY_CHECK(bind_libraries());
    GANTRY_CHECK(load_payloads());
    link();
    GANTRY_CHECK(set_contexts());
    return nodes_.front();
  }

 private:
  using Server = std::shared_ptr<const ActivePlugin>;

  std::string place_of(std::size_t index) const {
    return concat("module ", index, " ", quoted(container_.entries[index].type_key), " of ", name_);
  }

  // Opens the plugin of every type key, and tells of all that nobody serves at once.
  Status find_servers() {
    std::vector<Wish> wishes;
    for (std::size_t i = 0; i < container_.entries.size(); ++i) {
      const Entry& entry = container_.entries[i];
      if (entry.is_library()) continue;
      const std::string key(entry.type_key);
      auto wish = std::find_if(wishes.begin(), wishes.end(), [&](const Wish& known) { return known.what == key; });
      if (wish == wishes.end()) wish = wishes.insert(wishes.end(), Wish{key, false, {}});
      wish->wanted_by.push_back(concat(name_, "[", key, "#", i, "]"));
    }
    std::vector<Wish> unserved;
    for (const Wish& wish : wishes) {
      // A key that nobody offers opens nothing: all such keys are found before the first plugin runs.
      if (state_.plugins->choices_for_key(wish.what).empty()) unserved.push_back(wish);
    }
    if (unserved.empty() || options_.allow_missing) {
      for (const Wish& wish : wishes) {
        auto server = state_.plugins->for_key(wish.what);
        if (server.ok()) {
          servers_.emplace(wish.what, std::move(*server));
        } else if (std::none_of(unserved.begin(), unserved.end(),
                                [&](const Wish& known) { return known.what == wish.what; })) {
          unserved.push_back(wish);
        }
      }
    }
    if (unserved.empty()) return {};
    if (!options_.allow_missing) return unserved_error(explain(*state_.plugins, unserved), name_);
    for (const Wish& wish : unserved) {
      missing_.emplace(wish.what, unserved_error(explain(*state_.plugins, {wish}), name_).message);
    }
    return {};
  }

  Status make_nodes() {
    for (std::size_t i = 0; i < container_.entries.size(); ++i) {
      const std::string key(container_.entries[i].type_key);
      const auto why = missing_.find(key);
      GANTRY_TRY(Ref<ModuleNode> node, why != missing_.end() ? new_unbound_node(key, place_of(i), why->second)
                                                              : new_module_node(key, place_of(i)));
      node->pins.push_back(state_.life());
      node->globals = state_.globals;
      nodes_.push_back(std::move(node));
    }
    return {};
  }

  // The artifact's own code. Several `_lib` (generation 2) get a mapping each.
  Status bind_libraries() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      const Span span(state_.trace.get(), "dlopen", "load");
      GANTRY_TRY(auto library, HostLibrary::open({file_->path(), file_}, state_.host));
      GANTRY_TRY(const gantry_module pair, new_library_module(std::move(library), &state_.host, *nodes_[i]));
      GANTRY_CHECK(bind(*nodes_[i], pair));
    }
    return {};
  }

  Status load_payloads() {
    GANTRY_TRY(const ObjectPtr pin, new_pin(file_));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (container_.entries[i].is_library() || is_missing(i)) continue;
      auto loaded = load_payload(i, pin.get());
      if (!loaded.ok()) return std::move(loaded).error().at("while loading ", place_of(i));
    }
    return {};
  }

  bool is_missing(std::size_t index) const {
    return missing_.count(std::string(container_.entries[index].type_key)) != 0;
  }

  Status load_payload(std::size_t index, gantry_object* pin) {
    const Entry& entry = container_.entries[index];
    const std::string key(entry.type_key);
    const Span span(state_.trace.get(), "load payload", "load");
    const ActivePlugin& server = *servers_.at(key);
    auto& instance = *static_cast<PluginInstance*>(server.instance.get());
    const ManifestKey* offered = server.manifest.key_for(key);
    const gantry_loader_table* loader = server.plugin->loader(offered != nullptr ? offered->key : key);
    if (loader == nullptr) {
      return unavailable("plugin ", server.plugin->id, " offers ", quoted(key), " and has no loader for it")
          .because("KEY_NOT_OFFERED");
    }
    const bool exact = entry.extent == Extent::exact || entry.extent == Extent::laid_out;
    const std::string origin = file_->path().string();
    gantry_blob blob{};
    blob.struct_size = sizeof blob;
    blob.flags = exact ? std::uint32_t{GANTRY_BLOB_EXACT} : 0u;
    blob.type_key = {key.data(), key.size()};
    blob.origin = {origin.data(), origin.size()};
    blob.data = entry.payload.data();
    blob.size = entry.payload.size();
    blob.generation = generation_number(container_.generation);
    blob.pin = pin;

    ModuleNode& node = *nodes_[index];
    gantry_module pair{};
    std::uint64_t consumed = 0;
    StatusBuffer status;
    gantry_code code = GANTRY_OK;
    {
      std::unique_lock<std::mutex> lock(instance.load_mutex(), std::defer_lock);
      if ((loader->flags & GANTRY_LOADER_PARALLEL) == 0) lock.lock();
      code = loader->load_binary(instance.self(), &blob, &node.header, &pair, &consumed, status.get());
    }
    const std::string subject = concat("load_binary of plugin ", server.plugin->id);
    if (code != GANTRY_OK) return status.error(code, subject);
    if (pair.table == nullptr) {
      return bug(subject, " returns success without a module").because("MODULE_MISSING");
    }
    GANTRY_TRY(const gantry_module_table* table, state_.tables.get(pair.table, subject));
    const auto drop = [&](Error error) {
      table->destroy(pair.self);
      return error;
    };
    if (exact ? consumed != blob.size : consumed == 0 || consumed > blob.size) {
      return drop(bug(subject, " says it has consumed ", consumed, " bytes of a payload of ", blob.size)
                      .because("BLOB_CONSUMED"));
    }
    if (loader->device != nullptr) {
      auto type = state_.devices.number_of(loader->device);
      if (!type.ok()) return drop(std::move(type).error());
      node.device_type = *type;
    }
    const Status bound = bind(node, {pair.self, table});
    return bound.ok() ? Status() : Status(drop(Error(bound.error())));
  }

  static std::int32_t generation_number(Generation generation) {
    switch (generation) {
      case Generation::g0: return 0;
      case Generation::g1: return 1;
      case Generation::g2: return 2;
      case Generation::g3:
      case Generation::g3x: return 3;
      case Generation::g4:
      case Generation::g4x: return 4;
      case Generation::g5: return 5;
      default: return -1;
    }
  }

  void link() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::uint64_t child : container_.tree.children_of(i)) {
        nodes_[i]->imports.push_back(nodes_[child]);
      }
    }
  }

  // Older files look up from the root, newer ones from the library.
  Status set_contexts() {
    const Generation generation = container_.generation;
    const bool from_root =
        generation == Generation::g0 || generation == Generation::g1 || generation == Generation::g2;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      GANTRY_CHECK(set_module_context(*nodes_[i], from_root && i != 0 ? nodes_.front().get() : nullptr));
    }
    return {};
  }

  RuntimeState& state_;
  std::shared_ptr<const MappedFile> file_;
  const LoadOptions options_;
  const std::string name_;
  Container container_;
  std::map<std::string, Server> servers_;
  std::map<std::string, std::string> missing_;  // type key to the reason in full
  std::vector<Ref<ModuleNode>> nodes_;
};

// A graph loaded earlier with allow_missing does not satisfy who wants all of it.
Status check_complete(RuntimeState& state, ModuleNode& root, const std::string& name) {
  std::vector<Wish> wishes;
  for (ModuleNode* node : reachable(root)) {
    if (is_unbound(*node)) wishes.push_back({node->type_key, false, {concat(name, "[", node->type_key, "]")}});
  }
  if (wishes.empty()) return {};
  return unserved_error(explain(*state.plugins, wishes), name);
}

}  // namespace

Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path, const LoadOptions& options) {
  const Span span(state.trace.get(), "load file", "load");
  auto file = MappedFile::open(std::filesystem::absolute(path));
  if (!file.ok()) return std::move(file).error().at("while loading ", path);
  auto root = state.files.get((*file)->identity(), [&] { return Loading(state, *file, options).run(); });
  if (!root.ok()) {
    Error error = std::move(root).error();
    if (error.reason == "NO_PLUGIN") return error;  // says what and where in its first line
    return std::move(error).at("while loading ", path);
  }
  if (!options.allow_missing) {
    GANTRY_CHECK(check_complete(state, **root, std::filesystem::path(path).filename().string()));
  }
  return root;
}

}  // namespace gantry
