// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/load.hpp"

#include "core/base/process_end.hpp"
#include "core/elf/elf_file.hpp"
#include "core/format/container.hpp"
#include "core/module/unbound.hpp"
#include "core/native/device_numbers.hpp"
#include "core/native/library_module.hpp"
#include "core/runtime/payload.hpp"
#include "core/runtime/state.hpp"
#include "core/runtime/type_keys.hpp"

#include <gantry/quoted.hpp>

#include <filesystem>
#include <map>
#include <optional>

namespace gantry {
namespace {

// Loads one file.
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
    keys_.emplace(container_, name_);
    Status found = keys_->find_servers(state_, options_.allow_missing);
    if (!found.ok()) return with_dialect(std::move(found).error());
    GANTRY_CHECK(make_nodes());
    GANTRY_CHECK(set_numbers());
    GANTRY_CHECK(bind_libraries());
    GANTRY_CHECK(load_payloads());
    link();
    GANTRY_CHECK(set_contexts());
    return nodes_.front();
  }

 private:
  // Delimits every payload. Where neither the container nor a payload layout shows the length of
  // one (layout one, a plugin whose manifest declares no layout), its plugin loads it now and
  // reports how many bytes it has read.
  Status read() {
    GANTRY_TRY(const ContainerLocation location, locate_container(*elf_));
    GANTRY_TRY(ContainerReader reader, ContainerReader::open(location, state_.layouts));
    container_.facts = reader.facts();
    for (;;) {
      GANTRY_TRY(const bool found, reader.next());
      if (!found) break;
      const Entry entry = reader.entry();
      GANTRY_TRY(TypeKey* const key, early_key(entry.type_key));
      if (key == nullptr) break;
      GANTRY_TRY(Ref<ModuleNode> node,
                 new_module_node(std::string(key->name),
                                 location_of_entry(reader.module_index(), key->location_end)));
      keep_alive(*node);
      GANTRY_TRY(const std::uint64_t size, load_with(*key, entry.payload, false, *node));
      GANTRY_CHECK(reader.accept(size));
      loaded_.emplace(entry.at, std::move(node));
    }
    GANTRY_TRY(container_, std::move(reader).finish());
    return {};
  }

  // A key with its server, for payloads that are loaded while the container is read. Null: no
  // usable plugin serves it.
  Result<TypeKey*> early_key(std::string_view name) {
    const auto known = early_keys_.find(name);
    if (known != early_keys_.end()) return &known->second;
    if (!state_.plugins->usable_for_key(name, Depth::library)) return nullptr;
    auto server = state_.plugins->for_key(name);
    if (!server.ok()) {
      // find_servers() reports a plugin that cannot be opened together with all others.
      if (!state_.plugins->usable_for_key(name, Depth::dependencies)) return nullptr;
      return std::move(server).failure();
    }
    TypeKey key{name, location_end_of(name, name_), {}, *std::move(server), {}, {}};
    return &early_keys_.emplace(name, std::move(key)).first->second;
  }

  // Adds what else prevents the load: serving all type keys alone would not be enough.
  Error with_dialect(Error error) const {
    if (container_.facts.dialect != Dialect::ffi) return error;
    return std::move(error).at(concat("its host code is of the ffi dialect, written by ",
                                      container_.facts.writer,
                                      ", which this version does not run either"));
  }

  static bool is_delimited(const Entry& entry) {
    return entry.boundary == Boundary::exact || entry.boundary == Boundary::laid_out;
  }

  // What a loader receives: the payload, or where its end is not known, all bytes up to the
  // container's end.
  std::span<const std::uint8_t> bytes_of(const Entry& entry) const {
    if (is_delimited(entry) || entry.payload.data() == nullptr) return entry.payload;
    return {entry.payload.data(), container_.bytes.data() + container_.bytes.size()};
  }

  Payload payload_of(std::string_view key, std::span<const std::uint8_t> bytes, bool exact) const {
    return {file_, std::string(key), bytes, exact, container_.facts};
  }

  void keep_alive(ModuleNode& node) const {
    node.pins.push_back(life_);
    node.globals = state_.globals;
    node.trace = state_.trace.get();
  }

  Result<Ref<ModuleNode>> new_node(std::size_t index) {
    const TypeKey& key = keys_->of(index);
    const Entry& entry = container_.entries[index];
    std::string location = location_of_entry(index, key.location_end);
    GANTRY_TRY(Ref<ModuleNode> node,
               key.missing.empty()
                   ? new_module_node(std::string(key.name), std::move(location))
                   : new_unbound_node(std::string(key.name), std::move(location), key.missing,
                                      std::make_shared<const Payload>(payload_of(
                                          key.name, bytes_of(entry), is_delimited(entry)))));
    keep_alive(*node);
    return node;
  }

  // Sets what the device numbers in the file's code mean.
  Status set_numbers() {
    set_device_numbers(nodes_, container_.facts.device_numbering, state_.devices);
    std::uint64_t ext_devs = 0;
    for (const TypeKey& key : keys_->all()) {
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
      if (looks_up_from_root()) nodes_[i]->ext_devs |= nodes_.front()->ext_devs;
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
          early->second->location = location_of_entry(i, keys_->of(i).location_end);
          nodes_.push_back(early->second);
          continue;
        }
      }
      GANTRY_TRY(Ref<ModuleNode> node, new_node(i));
      nodes_.push_back(std::move(node));
    }
    return {};
  }

  // Opens the artifact's own code. Each of several `_lib` entries (G2) has its own mapping.
  Status bind_libraries() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      const Span span(state_.trace.get(), "dlopen", "load");
      GANTRY_TRY(auto library, HostLibrary::open(file_, elf_, container_.facts, state_.host));
      GANTRY_TRY(const gantry_module pair, new_library_module(std::move(library), &state_.host,
                                                              *nodes_[i], container_.prefix));
      GANTRY_CHECK(bind(*nodes_[i], pair));
    }
    return {};
  }

  Status load_payloads() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Entry& entry = container_.entries[i];
      TypeKey& key = keys_->of(i);
      if (key.server == nullptr || (!loaded_.empty() && loaded_.contains(entry.at))) continue;
      GANTRY_CHECK(load_with(key, bytes_of(entry), is_delimited(entry), *nodes_[i]));
    }
    return {};
  }

  // exact    see PayloadLoader::load
  // returns  bytes consumed
  Result<std::uint64_t> load_with(TypeKey& key, std::span<const std::uint8_t> bytes, bool exact,
                                  ModuleNode& node) {
    const auto load = [&]() -> Result<std::uint64_t> {
      if (!key.loader) {
        GANTRY_TRY(key.loader, PayloadLoader::create(state_, key.server,
                                                     payload_of(key.name, bytes, exact), pin_));
      }
      return key.loader->load(bytes, exact, node);
    };
    auto consumed = load();
    if (!consumed.ok()) return std::move(consumed).failure().at("while loading ", node.location);
    return consumed;
  }

  void link() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto children = container_.tree.children_of(i);
      nodes_[i]->imports.reserve(children.size());
      for (const std::uint64_t child : children) nodes_[i]->imports.push_back(nodes_[child]);
    }
  }

  bool looks_up_from_root() const { return container_.facts.look_up_start == LookUpStart::root; }

  Status set_contexts() {
    const bool from_root = looks_up_from_root();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container_.entries[i].is_library()) continue;
      GANTRY_CHECK(
          set_module_context(*nodes_[i], from_root && i != 0 ? nodes_.front().get() : nullptr));
    }
    return {};
  }

  RuntimeState& state_;
  std::shared_ptr<const MappedFile> file_;
  // of file_
  std::shared_ptr<const ElfFile> elf_;
  const LoadOptions options_;
  const std::string name_;
  Container container_;
  // the mapping, for plugins that keep a payload
  ObjectPtr pin_;
  // of the runtime
  const Pin life_;
  // of container_, once it is read
  std::optional<TypeKeys> keys_;
  // see early_key(); names are views into the file
  std::map<std::string_view, TypeKey> early_keys_;
  // modules loaded while the container was read, by payload offset
  std::map<std::uint64_t, Ref<ModuleNode>> loaded_;
  std::vector<Ref<ModuleNode>> nodes_;
};

}  // namespace

Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options) {
  const Span span(state.trace.get(), "load file", "load");
  if (path.empty()) return invalid("an empty path names no file");
  // Fails where the working directory was removed, which an absolute path does not need.
  std::error_code failed;
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
    // Its first line names the file.
    if (error.reason == "NO_PLUGIN") return error;
    return std::move(error).at("while loading ", path);
  }
  watch_process_end();
  state.log.info(concat("loaded ", path, ": module ", quoted((*root)->type_key), ", imports ",
                        (*root)->imports.size()));
  // An earlier load may have allowed missing modules.
  if (!options.allow_missing && !here) {
    GANTRY_CHECK(bind_missing(state, **root, std::filesystem::path(path).filename().string()));
  }
  return root;
}

}  // namespace gantry
