// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/load.hpp"

#include "core/base/absolute_path.hpp"
#include "core/base/process_end.hpp"
#include "core/base/reason.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/library.hpp"
#include "core/engine/native/library_module.hpp"
#include "core/engine/native/linked_code.hpp"
#include "core/engine/runtime/artifact_file.hpp"
#include "core/engine/runtime/cpu_requirement.hpp"
#include "core/engine/runtime/graph_files.hpp"
#include "core/engine/runtime/load_archive.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/engine/runtime/served_keys.hpp"
#include "core/engine/runtime/state.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/kind/file_kind.hpp"
#include "core/formats/kind/graph_text.hpp"
#include "core/formats/kind/unpacked_file.hpp"

#include <gantry/linked_symbols.h>
#include <gantry/quoted.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace gantry {
namespace {

// Code that is linked into the program, in place of a file.
struct Linked {
  std::vector<LinkedSymbol> symbols;
  std::string prefix;
};

// Loads one artifact.
class Loading {
 public:
  // facts    [in]   see load_artifact()
  // linked   [in]   the artifact's code; NULL: it is in the artifact's file
  Loading(RuntimeState& state, std::shared_ptr<Artifact> artifact, const LoadPermissions& options,
          const ExporterFacts* facts, const Linked* linked = nullptr)
      : state_(state),
        options_(options),
        facts_(facts),
        linked_(linked),
        artifact_(std::move(artifact)) {}

  Result<Ref<ModuleNode>> run() {
    GANTRY_CHECK(read());
    for (const Message& warning : container().warnings)
      state_.log.info(Message(artifact_->name, ": ", warning));
    keys_.emplace(*artifact_);
    GANTRY_CHECK(keys_->find_servers(state_, options_));
    GANTRY_CHECK(make_nodes());
    artifact_->device_numbers = converted_device_numbers(container(), state_.devices);
    GANTRY_CHECK(set_ext_devs());
    // A model states its devices, and these decide about kernels without a plugin. No code of the file
    // runs before that.
    GANTRY_CHECK(load_payloads(false));
    link();
    GANTRY_CHECK(decide_kernels());
    GANTRY_CHECK(bind_libraries());
    GANTRY_CHECK(load_payloads(true));
    GANTRY_CHECK(set_contexts());
    return nodes_.front();
  }

 private:
  const Container& container() const { return artifact_->container; }

  // Reads the container and delimits every payload. If neither the container nor a payload layout
  // determines the length of a payload (container layout one, no layout in the plugin's manifest),
  // its plugin loads it now and reports how many bytes it has read.
  Status read() {
    GANTRY_TRY(const ContainerLocation location,
               linked_ != nullptr ? linked_location(linked_->symbols, linked_->prefix)
                                  : container_location(*artifact_));
    GANTRY_TRY(ContainerReader reader, ContainerReader::open(location, state_.layouts));
    artifact_->container = reader.container();
    for (;;) {
      GANTRY_TRY(const bool found, reader.next());
      if (!found) break;
      const Entry entry = reader.entry();
      GANTRY_TRY(ServedKey* const key, early_key(entry.type_key));
      if (key == nullptr) break;
      GANTRY_TRY(Ref<ModuleNode> node,
                 new_module_node(artifact_, key->name, reader.module_index()));
      GANTRY_TRY(const std::uint64_t size, load(*key, entry, *node));
      GANTRY_CHECK(reader.accept(size));
      loaded_.emplace(entry.at, std::move(node));
    }
    GANTRY_TRY(artifact_->container, std::move(reader).finish());
    if (facts_ != nullptr) artifact_->container.facts = *facts_;
    return {};
  }

  // Returns a key and its plugin, for payloads that are loaded while the container is read. NULL:
  // no usable plugin serves it.
  Result<ServedKey*> early_key(std::string_view name) {
    const auto known = early_keys_.find(name);
    if (known != early_keys_.end()) return &known->second;
    if (!state_.plugins->usable_for_key(name, Depth::library)) return nullptr;
    auto server = state_.plugins->for_key(name);
    if (!server.ok()) {
      // find_servers() reports a plugin that cannot be opened together with all others.
      if (!state_.plugins->usable_for_key(name, Depth::dependencies)) return nullptr;
      return std::move(server).failure();
    }
    return &early_keys_.emplace(name, ServedKey{name, {}, *std::move(server), {}, {}})
                .first->second;
  }

  Result<Ref<ModuleNode>> new_node(std::size_t index) {
    const ServedKey& key = keys_->of(index);
    if (key.name == library_key && !has_cpu_code())
      return new_unbound_node(artifact_, key.name, index, "the file is a container without it");
    if (key.missing.empty() && !key.undecided) return new_module_node(artifact_, key.name, index);
    return new_unbound_node(artifact_, key.name, index, key.missing);
  }

  // Sets ModuleNode::ext_devs of all modules.
  Status set_ext_devs() {
    std::uint64_t ext_devs = 0;
    for (const ServedKey& key : keys_->all()) {
      if (key.server == nullptr) continue;
      const std::uint64_t device = ext_dev_of(state_, *key.server, key.name);
      if (device == 0) continue;
      for (const std::size_t i : key.entries) nodes_[i]->ext_devs = device;
      ext_devs |= device;
    }
    if (ext_devs == 0) return {};
    for (const std::uint64_t i : container().tree.children_first()) {
      for (const std::uint64_t child : container().tree.children_of(i))
        nodes_[i]->ext_devs |= nodes_[child]->ext_devs;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container().entries[i].is_library()) continue;
      if (looks_up_from_root()) nodes_[i]->ext_devs |= nodes_.front()->ext_devs;
      GANTRY_CHECK(check_ext_dev(*nodes_[i], nodes_[i]->ext_devs, state_.devices));
    }
    return {};
  }

  Status make_nodes() {
    nodes_.reserve(container().entries.size());
    for (std::size_t i = 0; i < container().entries.size(); ++i) {
      const auto early = loaded_.find(container().entries[i].at);
      if (early != loaded_.end()) {
        // Corrects the index that was assigned before it was known whether there is a tree.
        early->second->index = i;
        nodes_.push_back(early->second);
        continue;
      }
      GANTRY_TRY(Ref<ModuleNode> node, new_node(i));
      nodes_.push_back(std::move(node));
    }
    return {};
  }

  Result<std::shared_ptr<CpuCode>> open_cpu_code() {
    if (linked_ != nullptr) {
      return std::make_shared<LinkedCode>(linked_->symbols, container().facts, artifact_->name);
    }
    if (!options_.allow_executable_stack)
      GANTRY_CHECK(check_stack(*artifact_->elf, artifact_->file->path().native()));
    if (const auto unmet = unmet_cpu_requirement(*artifact_->elf))
      state_.log.warning(Message(artifact_->name, ": ", to_text(*unmet)));
    const Span span(state_.trace.get(), "dlopen", "load");
    GANTRY_TRY(std::shared_ptr<CpuCode> library,
               CpuLibrary::open(artifact_->file, artifact_->elf, container().facts, state_.host,
                                artifact_->container_file ? std::span<const std::uint8_t>()
                                                          : container().bytes));
    return library;
  }

  // Opens the artifact's own code. Each of several `_lib` entries (G2) has its own mapping.
  Status bind_libraries() {
    if (!has_cpu_code()) return {};
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container().entries[i].is_library()) continue;
      GANTRY_TRY(std::shared_ptr<CpuCode> library, open_cpu_code());
      GANTRY_TRY(const gantry_module pair, new_library_module(std::move(library), &state_.host,
                                                              *nodes_[i], container().prefix));
      GANTRY_CHECK(bind(*nodes_[i], pair));
    }
    return {};
  }

  Status load_payloads(bool kernels) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const Entry& entry = container().entries[i];
      ServedKey& key = keys_->of(i);
      if (key.server == nullptr || key.are_kernels != kernels || loaded_.contains(entry.at))
        continue;
      GANTRY_CHECK(load(key, entry, *nodes_[i]));
    }
    return {};
  }

  Status decide_kernels() {
    if (!keys_->has_undecided()) return {};
    GANTRY_TRY(const UsedDevices used, used_devices(state_, *nodes_.front(), options_.devices));
    GANTRY_CHECK(keys_->decide_kernels(state_, used));
    for (const ServedKey& key : keys_->all()) {
      if (!key.undecided) continue;
      for (const std::size_t i : key.entries) {
        nodes_[i]->unbound->reason = key.missing;
        nodes_[i]->unbound->is_left_out = true;
      }
    }
    return {};
  }

  // returns  bytes consumed
  Result<std::uint64_t> load(ServedKey& key, const Entry& entry, ModuleNode& node) {
    if (!key.loader) key.loader.emplace(state_, key.server, *artifact_, key.name);
    auto consumed = key.loader->load(entry, node);
    if (!consumed.ok())
      return std::move(consumed).failure().at("while loading ", location_of(node));
    return consumed;
  }

  void link() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto children = container().tree.children_of(i);
      nodes_[i]->imports.reserve(children.size());
      for (const std::uint64_t child : children) nodes_[i]->imports.push_back(nodes_[child]);
    }
  }

  // A bare container has none; functions of its other modules are found through the unbound `_lib`.
  bool has_cpu_code() const { return artifact_->elf != nullptr || linked_ != nullptr; }

  bool looks_up_from_root() const {
    return generation_facts(container().facts.generation).searches_from_root;
  }

  Status set_contexts() {
    if (!has_cpu_code()) return {};
    const bool from_root = looks_up_from_root();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!container().entries[i].is_library()) continue;
      GANTRY_CHECK(set_module_context(*nodes_[i], from_root ? nodes_.front().get() : nullptr));
    }
    return {};
  }

  RuntimeState& state_;
  const LoadPermissions& options_;
  const ExporterFacts* const facts_;
  const Linked* const linked_;
  const std::shared_ptr<Artifact> artifact_;
  // set when the container is read
  std::optional<ServedKeys> keys_;
  // see early_key(); names are views into the file
  std::map<std::string_view, ServedKey> early_keys_;
  // modules loaded while the container was read, by payload offset
  std::map<std::uint64_t, Ref<ModuleNode>> loaded_;
  std::vector<Ref<ModuleNode>> nodes_;
};

// Returns the modules of a key, or of what `load` creates for it.
//
// name     [in]   for messages: the path of a file
Result<Ref<ModuleNode>> load_once(RuntimeState& state, const LoadedFiles::Key& key,
                                  std::string_view name, const LoadPermissions& options,
                                  const std::function<Result<Ref<ModuleNode>>()>& load) {
  bool is_new = false;
  auto root = state.files.get(key, [&] {
    is_new = true;
    return load();
  });
  if (!root.ok()) {
    Error error = std::move(root).error();
    // Its first line names the file. In a forked process, it would advise to look for a driver.
    if (error.reason == reason::no_plugin.tag)
      return plugins_may_run() ? error : process_end_error(concat("the loader of ", name)).error();
    return std::move(error).at("while loading ", name);
  }
  watch_process_end();
  state.log.info(Message("loaded ", name, ": module ", quoted((*root)->type_key), ", imports ",
                         (*root)->imports.size()));
  // An earlier load may have allowed missing modules.
  if (!options.allow_missing && !is_new) GANTRY_CHECK(bind_missing(state, **root, options));
  return root;
}

Result<Ref<ModuleNode>> load_mapped(RuntimeState& state,
                                    const std::shared_ptr<const MappedFile>& file,
                                    std::string_view name, const LoadPermissions& options) {
  return load_once(state, {file->identity(), {}}, name, options, [&]() -> Result<Ref<ModuleNode>> {
    GANTRY_TRY(auto content, unpacked(file));
    if (kind_of(content->bytes()) == FileKind::model_library)
      return load_model_library(state, content, file, options);
    const bool is_unpacked = content != file;
    GANTRY_TRY(auto artifact, open_artifact_file(state, std::move(content), name));
    if (is_unpacked) artifact->origin = file;
    return load_artifact(state, std::move(artifact), options);
  });
}

}  // namespace

std::string memory_title(std::string_view name) {
  const std::string file = std::filesystem::path(name).filename().string();
  return file.empty() ? std::string("artifact in memory") : file;
}

Result<Ref<ModuleNode>> load_artifact(RuntimeState& state, std::shared_ptr<Artifact> artifact,
                                      const LoadPermissions& options, const ExporterFacts* facts) {
  return Loading(state, std::move(artifact), options, facts).run();
}

Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadPermissions& options) {
  const Span span(state.trace.get(), "load file", "load");
  if (path.empty()) return invalid("path is empty, expected a file");
  auto file = MappedFile::open(absolute_path(path));
  if (!file.ok()) return std::move(file).failure().at("while loading ", path);
  // A graph or its parameters are a model together with the files beside them.
  const FileKind kind = kind_of((*file)->bytes());
  const bool is_graph = kind == FileKind::unknown && is_graph_json((*file)->bytes());
  if (kind == FileKind::parameters || is_graph) {
    auto files = graph_files_beside((*file)->path(), is_graph);
    if (files.ok()) {
      state.log.info(Message("loading ", path, " with graph ", files->graph, ", library ",
                             files->library, " and ",
                             files->params.empty() ? "no parameters" : files->params));
      return load_graph_files(state, *files, options);
    }
    return unsupported(path, " is ", is_graph ? "a graph" : words_for(kind), ", and ",
                       files.error().message,
                       is_graph
                           ? "; load its library with it (gantry run FILE.so --graph FILE.json "
                             "--params FILE.params)"
                           : "; load it with its graph and its library")
        .with_reason("FILE_KIND");
  }
  return load_mapped(state, *file, path, options);
}

Result<Ref<ModuleNode>> load_memory(RuntimeState& state, std::span<const std::uint8_t> bytes,
                                    std::string_view name, const LoadPermissions& options) {
  const Span span(state.trace.get(), "load bytes", "load");
  const std::string title = memory_title(name);
  auto file = MappedFile::copy(std::filesystem::path(title), bytes);
  if (!file.ok()) return std::move(file).failure().at("while loading ", title);
  return load_mapped(state, *file, title, options);
}

Result<Ref<ModuleNode>> load_linked(RuntimeState& state, const gantry_linked_symbols& symbols,
                                    std::string_view prefix, const LoadPermissions& options) {
  const Span span(state.trace.get(), "load linked code", "load");
  if (symbols.count == 0) {
    return not_found(
        "no symbol is registered: the program contains no system library, or the linker has left "
        "it out of an archive; link its objects as objects");
  }
  Linked linked{{}, std::string(prefix)};
  for (const gantry_linked_symbol& symbol : std::span(symbols.symbols, symbols.count)) {
    linked.symbols.push_back(
        {symbol.name, symbol.address,
         symbol.dialect == GANTRY_DIALECT_FFI ? Dialect::ffi : Dialect::packed});
  }
  const std::string name =
      prefix.empty() ? "system library" : concat("system library ", quoted(prefix));
  // Not of a file: no device has the number 0 and the table's address as an inode.
  const FileIdentity identity{0, reinterpret_cast<std::uintptr_t>(symbols.image)};
  return load_once(state, {identity, linked.prefix}, name, options,
                   [&]() -> Result<Ref<ModuleNode>> {
                     auto artifact = std::make_shared<Artifact>(state.new_artifact());
                     // The program's memory needs no pin to live; loaders expect one.
                     GANTRY_TRY(artifact->pin, new_pin(nullptr));
                     artifact->name = name;
                     return Loading(state, std::move(artifact), options, nullptr, &linked).run();
                   });
}

}  // namespace gantry
