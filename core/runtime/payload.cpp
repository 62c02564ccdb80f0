// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/payload.hpp"

#include "core/module/module_graph.hpp"
#include "core/module/unbound.hpp"
#include "core/plugin/explain.hpp"
#include "core/runtime/state.hpp"

#include <gantry/quoted.hpp>
#include <gantry/wall.hpp>

#include <mutex>

namespace gantry {
namespace {

gantry_blob blob_of(const Payload& payload, const std::string& origin, gantry_object* pin) {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = payload.exact ? std::uint32_t{GANTRY_BLOB_EXACT} : 0u;
  blob.type_key = {payload.type_key.data(), payload.type_key.size()};
  blob.origin = {origin.data(), origin.size()};
  blob.data = payload.bytes.data();
  blob.size = payload.bytes.size();
  blob.generation = payload.generation;
  blob.pin = pin;
  return blob;
}

// What a loader has handed over, until a node owns it.
struct NewModule {
  gantry_module pair{};
  const gantry_module_table* table = nullptr;  // our copy; NULL: nothing is to be destroyed

  NewModule() = default;
  NewModule(const NewModule&) = delete;
  NewModule& operator=(const NewModule&) = delete;
  ~NewModule() {
    if (table != nullptr) table->destroy(pair.self);
  }
};

bool consumed_fits(const Payload& payload, std::uint64_t consumed) {
  const std::uint64_t size = payload.bytes.size();
  return payload.exact ? consumed == size : consumed > 0 && consumed <= size;
}

}  // namespace

Result<std::uint64_t> load_payload(RuntimeState& state, const ActivePlugin& server,
                                   const Payload& payload, gantry_object* pin, ModuleNode& node) {
  const Span span(state.trace.get(), "load payload", "load");
  auto& instance = *static_cast<PluginInstance*>(server.instance.get());
  const ManifestKey* offered = server.manifest.key_for(payload.type_key);
  const gantry_loader_table* loader =
      server.plugin->loader(offered != nullptr ? offered->key : payload.type_key);
  if (loader == nullptr) {
    return unavailable("plugin ", server.plugin->id, " offers ", quoted(payload.type_key),
                       " and has no loader for it")
        .because("KEY_NOT_OFFERED");
  }
  const std::string origin = payload.file->path().string();
  const gantry_blob blob = blob_of(payload, origin, pin);
  const std::string subject = concat("load_binary of plugin ", server.plugin->id);
  NewModule made;
  std::uint64_t consumed = 0;
  StatusBuffer status;
  gantry_code code = GANTRY_OK;
  {
    std::unique_lock<std::mutex> lock(instance.load_mutex(), std::defer_lock);
    if ((loader->flags & GANTRY_LOADER_PARALLEL) == 0) lock.lock();
    code = status.call([&](gantry_status* said) {
      return loader->load_binary(instance.self(), &blob, &node.header, &made.pair, &consumed, said);
    });
  }
  if (code != GANTRY_OK) return status.error(code, subject);
  if (made.pair.table == nullptr) {
    return bug(subject, " returns success without a module").because("MODULE_MISSING");
  }
  GANTRY_TRY(made.table, state.tables.get(made.pair.table, subject));
  if (!consumed_fits(payload, consumed)) {
    return bug(subject, " says it has consumed ", consumed, " bytes of a payload of ", blob.size)
        .because("BLOB_CONSUMED");
  }
  if (loader->device != nullptr) {
    GANTRY_TRY(node.device_type, state.devices.number_of(loader->device));
  }
  GANTRY_CHECK(bind(node, {made.pair.self, made.table}, server.plugin->id));
  made.table = nullptr;  // the node's from now on
  return consumed;
}

Status bind_missing(RuntimeState& state, ModuleNode& root, const std::string& subject) {
  std::vector<Wish> unserved;
  for (ModuleNode* node : reachable(root)) {
    if (!is_unbound(*node)) continue;
    const auto* payload = static_cast<const Payload*>(node->unbound_payload.get());
    // What lies behind a payload of unknown length has no key: nobody can be asked for it.
    const auto server = payload != nullptr && !payload->type_key.empty()
                            ? state.plugins->for_key(payload->type_key)
                            : Result<std::shared_ptr<const ActivePlugin>>(not_found("no payload"));
    if (!server.ok()) {
      unserved.push_back({node->type_key, false, {concat(subject, "[", node->type_key, "]")}});
      continue;
    }
    GANTRY_TRY(const ObjectPtr pin, new_pin(payload->file));
    auto loaded = load_payload(state, **server, *payload, pin.get(), *node);
    if (!loaded.ok() && is_unbound(*node)) {  // another thread may have been faster
      return std::move(loaded).error().at("while binding ", node->place);
    }
  }
  if (unserved.empty()) return {};
  return unserved_error(explain(*state.plugins, unserved), subject);
}

}  // namespace gantry
