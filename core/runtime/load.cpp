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

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace gantry {
namespace {

// Each payload that only its loader can measure costs one more reading of the container.
constexpr std::size_t kMaxSelfMeasured = 256;

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
  // Delimits every payload. Where only a key's loader knows how long its payload is (layout one, a plugin whose
  // manifest declares no layout), that loader runs now, and what it has consumed says where the next entry begins.
  Status read() {
    // copied only where a loader has to say something
    std::optional<PayloadLayouts> informed;
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
      if (loaded_.size() == kMaxSelfMeasured) {
        return exhausted(name_, " has more than ", kMaxSelfMeasured, " payloads of type keys like ",
                         quoted(key),
                         " whose length only their loader knows: declare the payload layout in the "
                         "plugin's manifest")
            .with_reason("PAYLOAD_LAYOUT");
      }
      GANTRY_TRY(const auto server, state_.plugins->for_key(key));
      GANTRY_TRY(Ref<ModuleNode> node,
                 new_module_node(key, location_of_entry(index, location_end_of(key, name_))));
      keep_alive(*node);
      auto consumed = load_payload(state_, server, payload_of(index), pin_, *node);
      if (!consumed.ok()) return std::move(consumed).failure().at("while loading ", node->location);
      if (!informed) informed = state_.layouts;
      informed->report(vague->at, *consumed);
      loaded_.emplace(vague->at, std::move(node));
    }
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

  Payload payload_of(std::size_t index) const {
    const Entry& entry = container_.entries[index];
    Payload payload{file_, std::string(entry.type_key), entry.payload, is_delimited(entry),
                    container_.facts};
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
    const TypeKey& key = keys_->of(index);
    std::string location = location_of_entry(index, key.location_end);
    GANTRY_TRY(Ref<ModuleNode> node,
               key.missing.empty()
                   ? new_module_node(std::string(key.name), std::move(location))
                   : new_unbound_node(std::string(key.name), std::move(location), key.missing,
                                      std::make_shared<const Payload>(payload_of(index))));
    keep_alive(*node);
    return node;
  }

  // How the file's code counts devices.
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
      const Status loaded = load_with(key, i);
      if (!loaded.ok()) return Error(loaded.error()).at("while loading ", nodes_[i]->location);
    }
    return {};
  }

  Status load_with(TypeKey& key, std::size_t index) {
    const Entry& entry = container_.entries[index];
    // no two of them alike
    if (!is_delimited(entry)) {
      GANTRY_CHECK(load_payload(state_, key.server, payload_of(index), pin_, *nodes_[index]));
      return {};
    }
    if (!key.loader) {
      GANTRY_TRY(key.loader, PayloadLoader::create(state_, key.server, payload_of(index), pin_));
    }
    GANTRY_CHECK(key.loader->load(entry.payload, true, *nodes_[index]));
    return {};
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
  // early, by payload offset: see read()
  std::map<std::uint64_t, Ref<ModuleNode>> loaded_;
  std::vector<Ref<ModuleNode>> nodes_;
};

}  // namespace

Result<Ref<ModuleNode>> load_file(RuntimeState& state, const std::string& path,
                                  const LoadOptions& options) {
  const Span span(state.trace.get(), "load file", "load");
  if (path.empty()) return invalid("an empty path names no file");
  // the working directory may be gone, which an absolute path does not need
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
    // says what and where in its first line
    if (error.reason == "NO_PLUGIN") return error;
    return std::move(error).at("while loading ", path);
  }
  watch_process_end();
  state.log.info(concat("loaded ", path, ": module ", quoted((*root)->type_key), ", imports ",
                        (*root)->imports.size()));
  // it may have been loaded by somebody who allowed it
  if (!options.allow_missing && !here) {
    GANTRY_CHECK(bind_missing(state, **root, std::filesystem::path(path).filename().string()));
  }
  return root;
}

}  // namespace gantry
