// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/payload.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/runtime/missing_keys.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <mutex>
#include <optional>

namespace gantry {
namespace {

// The module that a loader has returned, until a node owns it.
struct NewModule {
  gantry_module pair{};
  // copy of the table; NULL: there is nothing to destroy
  const gantry_module_table* table = nullptr;

  NewModule() = default;
  NewModule(const NewModule&) = delete;
  NewModule& operator=(const NewModule&) = delete;
  ~NewModule() {
    if (table != nullptr) call_destroy("a module", [&] { table->destroy(pair.self); });
  }
};

}  // namespace

const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key) {
  return server.plugin->loader(server.manifest.key_for(type_key)->key);
}

std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key) {
  const gantry_loader_table* const loader = loader_of(server, type_key);
  return loader->device != nullptr ? ext_dev_of(loader->device, state.devices) : 0;
}

PayloadLoader::PayloadLoader(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                             const Artifact& artifact, std::string_view type_key)
    : state_(&state),
      server_(std::move(server)),
      artifact_(&artifact),
      type_key_(type_key),
      location_(type_key, artifact.name),
      loader_(loader_of(*server_, type_key)) {}

std::string PayloadLoader::subject() const {
  return concat("load_binary of plugin ", server_->plugin->id);
}

Result<const gantry_module_table*> PayloadLoader::copy_of(const gantry_module_table* table) {
  if (table != last_table_.first) {
    GANTRY_TRY(const gantry_module_table* copy, state_->tables.get(table, subject()));
    last_table_ = {table, copy};
  }
  return last_table_.second;
}

Result<std::uint64_t> PayloadLoader::load_binary(const gantry_blob& blob, ModuleNode& node) {
  if (!plugins_may_run()) return process_end_error(subject());
  const Span span(state_->trace.get(), "load payload", "load");
  PluginInstance& instance = instance_of(*server_);
  NewModule made;
  std::uint64_t consumed = 0;
  StatusBuffer status;
  const auto plugin = [&] { return concat("plugin ", server_->plugin->id); };
  gantry_code code = GANTRY_OK;
  {
    std::unique_lock<std::mutex> lock(instance.load_mutex(), std::defer_lock);
    if ((loader_->flags & GANTRY_LOADER_PARALLEL) == 0) lock.lock();
    code = call_plugin(status, "load_binary", server_->plugin->id, plugin,
                       [&](gantry_status* reported) {
                         return loader_->load_binary(instance.self(), &blob, &node.header,
                                                     &made.pair, &consumed, reported);
                       });
  }
  if (code != GANTRY_OK) {
    Error error = status.error(code, subject());
    if (made.pair.table != nullptr) error.at(subject(), " writes a module although it fails");
    return error;
  }
  if (made.pair.table == nullptr) {
    return bug(subject(), " returns success without a module").with_reason("MODULE_MISSING");
  }
  auto copied = guard([&] { return copy_of(made.pair.table); });
  if (!copied.ok()) {
    // If memory is exhausted, the plugin's own table is used. A table that is rejected is not
    // called.
    const gantry_module_table* const theirs = made.pair.table;
    if (copied.error().code == Code::exhausted && GANTRY_HAS(theirs, destroy) && theirs->destroy) {
      call_destroy("a module", [&] { theirs->destroy(made.pair.self); });
    }
    return std::move(copied).error();
  }
  made.table = *copied;
  const bool exact = (blob.flags & GANTRY_BLOB_EXACT) != 0;
  if (exact ? consumed != blob.size : consumed == 0 || consumed > blob.size) {
    return bug(subject(), " reports that it has consumed ", consumed, " bytes of a payload of ",
               blob.size)
        .with_reason("BLOB_CONSUMED");
  }
  std::int32_t device_type = 0;
  if (loader_->device != nullptr) {
    auto type = state_->devices.number_of(loader_->device);
    if (!type.ok()) {
      return std::move(type).failure().at("which plugin ", server_->plugin->id,
                                          " names for type key ", quoted(type_key_));
    }
    device_type = *type;
  }
  GANTRY_CHECK(bind(node, {made.pair.self, made.table}, server_->plugin->id, device_type));
  // The node owns the module now.
  made.table = nullptr;
  return consumed;
}

gantry_blob PayloadLoader::blob_of(std::span<const std::uint8_t> bytes, bool exact,
                                   std::string_view location) const {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = exact ? std::uint32_t{GANTRY_BLOB_EXACT} : 0u;
  blob.type_key = {type_key_.data(), type_key_.size()};
  blob.origin = {location.data(), location.size()};
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.argument_tags = static_cast<std::uint32_t>(artifact_->container.facts.argument_tags);
  blob.numbering = static_cast<std::uint32_t>(artifact_->container.facts.numbering);
  blob.pin = artifact_->pin.get();
  return blob;
}

gantry_blob PayloadLoader::blob_of(const Entry& entry, std::string_view location) const {
  const bool is_delimited =
      entry.boundary == Boundary::exact || entry.boundary == Boundary::laid_out;
  if (is_delimited) return blob_of(entry.payload, true, location);
  // The end is unknown, so the plugin receives all bytes up to the container's end.
  const std::span<const std::uint8_t> container = artifact_->container.bytes;
  return blob_of({entry.payload.data(), container.data() + container.size()}, false, location);
}

Result<std::uint64_t> PayloadLoader::load(const Entry& entry, ModuleNode& node) {
  return load_binary(blob_of(entry, location_.of(node.index)), node);
}

Result<std::int32_t> PayloadLoader::check(const Entry& entry, std::size_t index,
                                          std::int32_t device) const {
  const std::string location = location_of_entry(index, type_key_, artifact_->name);
  const std::string subject = concat("check_binary of plugin ", server_->plugin->id);
  if (!plugins_may_run()) return process_end_error(subject);
  const PluginInstance& instance = instance_of(*server_);
  const gantry_blob blob = blob_of(entry, location);
  StatusBuffer status;
  const auto plugin = [&] { return concat("plugin ", server_->plugin->id); };
  std::int32_t verdict = -1;
  const gantry_code code = call_plugin(
      status, "check_binary", server_->plugin->id, plugin, [&](gantry_status* reported) {
        return loader_->check_binary(instance.self(), &blob, device, &verdict, reported);
      });
  if (code != GANTRY_OK) return status.error(code, subject).at("while checking ", location);
  if (verdict < GANTRY_VERDICT_NO || verdict > GANTRY_VERDICT_OPTIMAL) {
    return bug(subject, " returns verdict ", verdict, ", expected 0 to ",
               std::int32_t{GANTRY_VERDICT_OPTIMAL})
        .with_reason("VERDICT");
  }
  return verdict;
}

Status bind_missing(RuntimeState& state, ModuleNode& root, const LoadPermissions& options) {
  struct Missing {
    ModuleNode* node;
    // of the plugin or the search
    Error failure;
  };
  std::vector<Missing> missing;
  for (ModuleNode* node : reachable(root)) {
    // CPU code is unbound only in a bare container, and no plugin serves it.
    if (!is_unbound(*node) || node->type_key == library_key) continue;
    // An entry after a payload of unknown length has no key.
    auto server = node->type_key.empty()
                      ? Result<std::shared_ptr<const ActivePlugin>>(not_found("no payload"))
                      : state.plugins->for_key(node->type_key);
    if (!server.ok()) {
      missing.push_back({node, std::move(server).error()});
      continue;
    }
    const auto bind_one = [&]() -> Status {
      // A graph imports the library of another file.
      const Artifact& artifact = *node->artifact;
      GANTRY_CHECK(
          add_ext_dev(root, *node, ext_dev_of(state, **server, node->type_key), state.devices));
      PayloadLoader loader(state, *server, artifact, node->type_key);
      auto loaded = loader.load(artifact.container.entries[node->index], *node);
      // Not an error if another thread has bound the node meanwhile.
      if (!loaded.ok() && is_unbound(*node)) return std::move(loaded).failure();
      return {};
    };
    if (Status bound = bind_one(); !bound.ok())
      return std::move(bound).failure().at("while binding ", location_of(*node));
  }
  if (missing.empty()) return {};
  UsedDevices used;
  if (!options.strict) {
    GANTRY_TRY(used, used_devices(state, root, options.devices));
  }
  std::vector<Requirement> needed;
  std::optional<Error> failure;
  for (Missing& one : missing) {
    Requirement requirement{std::string(one.node->type_key), false, {location_of(*one.node)}};
    if (used.exclude(one.node->type_key, *state.plugins)) {
      // An earlier load has permitted that it is missing.
      if (!one.node->unbound->is_left_out.exchange(true))
        leave_out(state, requirement, used, why_missing(state, requirement, one.failure));
      continue;
    }
    needed.push_back(std::move(requirement));
    if (!failure) failure = std::move(one.failure);
  }
  if (needed.empty()) return {};
  GANTRY_CHECK(check_served(state, needed, root.artifact->name));
  // A plugin looks up its own type key while it is created.
  return std::move(*failure);
}

}  // namespace gantry
