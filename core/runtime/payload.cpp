// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/payload.hpp"

#include "core/base/process_end.hpp"
#include "core/module/module_graph.hpp"
#include "core/module/unbound.hpp"
#include "core/native/device_numbers.hpp"
#include "core/plugin/explain.hpp"
#include "core/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <mutex>
#include <optional>

namespace gantry {
namespace {

// What a loader has handed over, until a node owns it.
struct NewModule {
  gantry_module pair{};
  // our copy; NULL: nothing is to be destroyed
  const gantry_module_table* table = nullptr;

  NewModule() = default;
  NewModule(const NewModule&) = delete;
  NewModule& operator=(const NewModule&) = delete;
  ~NewModule() {
    if (table != nullptr) table->destroy(pair.self);
  }
};

using ArgumentTags = ExporterFacts::ArgumentTags;
using Numbering = ExporterFacts::Numbering;
static_assert(static_cast<std::uint32_t>(ArgumentTags::no) == GANTRY_ARGUMENT_TAGS_NO);
static_assert(static_cast<std::uint32_t>(ArgumentTags::yes) == GANTRY_ARGUMENT_TAGS_YES);
static_assert(static_cast<std::uint32_t>(Numbering::packed) == GANTRY_NUMBERING_PACKED);
static_assert(static_cast<std::uint32_t>(Numbering::ffi_0_21) == GANTRY_NUMBERING_FFI_0_21);
static_assert(static_cast<std::uint32_t>(Numbering::ffi) == GANTRY_NUMBERING_FFI);

}  // namespace

const gantry_loader_table* loader_of(const ActivePlugin& server, std::string_view type_key) {
  const ManifestKey* offered = server.manifest.key_for(type_key);
  return server.plugin->loader(offered != nullptr ? std::string_view(offered->key) : type_key);
}

std::uint64_t ext_dev_of(const RuntimeState& state, const ActivePlugin& server,
                         std::string_view type_key) {
  const gantry_loader_table* const loader = loader_of(server, type_key);
  return loader != nullptr && loader->device != nullptr ? ext_dev_of(loader->device, state.devices)
                                                        : 0;
}

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

Result<PayloadLoader> PayloadLoader::create(RuntimeState& state,
                                            std::shared_ptr<const ActivePlugin> server,
                                            const Payload& like, ObjectPtr pin) {
  PayloadLoader made(state, std::move(server));
  const ActivePlugin& active = *made.server_;
  made.loader_ = loader_of(active, like.type_key);
  if (made.loader_ == nullptr) {
    return unavailable("plugin ", active.plugin->id, " offers ", quoted(like.type_key),
                       " and has no loader for it")
        .with_reason("KEY_NOT_OFFERED");
  }
  made.type_key_ = like.type_key;
  made.origin_ = like.file->path().string();
  made.facts_ = like.facts;
  made.pin_ = std::move(pin);
  return made;
}

Result<std::uint64_t> PayloadLoader::load(std::span<const std::uint8_t> bytes, bool exact,
                                          ModuleNode& node) {
  if (!plugins_may_run()) return process_end_error(subject());
  const Span span(state_->trace.get(), "load payload", "load");
  auto& instance = *static_cast<PluginInstance*>(server_->instance.get());
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = exact ? std::uint32_t{GANTRY_BLOB_EXACT} : 0u;
  blob.type_key = {type_key_.data(), type_key_.size()};
  blob.origin = {origin_.data(), origin_.size()};
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.argument_tags = static_cast<std::uint32_t>(facts_.argument_tags);
  blob.numbering = static_cast<std::uint32_t>(facts_.numbering);
  blob.pin = pin_.get();
  NewModule made;
  std::uint64_t consumed = 0;
  StatusBuffer status;
  gantry_code code = GANTRY_OK;
  {
    std::unique_lock<std::mutex> lock(instance.load_mutex(), std::defer_lock);
    if ((loader_->flags & GANTRY_LOADER_PARALLEL) == 0) lock.lock();
    code = status.call([&](gantry_status* said) {
      return loader_->load_binary(instance.self(), &blob, &node.header, &made.pair, &consumed,
                                  said);
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
    // For want of memory: the plugin's own table is as good. One that is refused is not called.
    const gantry_module_table* const theirs = made.pair.table;
    if (copied.error().code == Code::exhausted && GANTRY_HAS(theirs, destroy) && theirs->destroy) {
      theirs->destroy(made.pair.self);
    }
    return std::move(copied).error();
  }
  made.table = *copied;
  if (exact ? consumed != blob.size : consumed == 0 || consumed > blob.size) {
    return bug(subject(), " says it has consumed ", consumed, " bytes of a payload of ", blob.size)
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
  // the node's from now on
  made.table = nullptr;
  return consumed;
}

Result<std::uint64_t> load_payload(RuntimeState& state, std::shared_ptr<const ActivePlugin> server,
                                   const Payload& payload, ObjectPtr pin, ModuleNode& node) {
  GANTRY_TRY(PayloadLoader loader,
             PayloadLoader::create(state, std::move(server), payload, std::move(pin)));
  return loader.load(payload.bytes, payload.exact, node);
}

Status bind_missing(RuntimeState& state, ModuleNode& root, const std::string& subject) {
  std::vector<Requirement> unserved;
  // the first of a plugin
  std::optional<Error> failure;
  for (ModuleNode* node : reachable(root)) {
    if (!is_unbound(*node)) continue;
    const auto* payload = static_cast<const Payload*>(node->unbound_payload.get());
    // What lies behind a payload of unknown length has no key: nobody can be asked for it.
    const auto server = payload != nullptr && !payload->type_key.empty()
                            ? state.plugins->for_key(payload->type_key)
                            : Result<std::shared_ptr<const ActivePlugin>>(not_found("no payload"));
    if (!server.ok()) {
      if (!failure) failure = server.error();
      unserved.push_back({node->type_key, false, {concat(subject, "[", node->type_key, "]")}});
      continue;
    }
    if (Status counted = add_ext_dev(root, *node, ext_dev_of(state, **server, payload->type_key),
                                     payload->facts.look_up_start, state.devices);
        !counted.ok()) {
      return std::move(counted).error().at("while binding ", node->location);
    }
    GANTRY_TRY(const ObjectPtr pin, new_pin(payload->file));
    auto loaded = load_payload(state, *server, *payload, pin, *node);
    // another thread may have been faster
    if (!loaded.ok() && is_unbound(*node)) {
      return std::move(loaded).failure().at("while binding ", node->location);
    }
  }
  if (unserved.empty()) return {};
  const Explanation told = explain(*state.plugins, unserved);
  // a plugin that asks for itself while it is created
  if (told.all_served()) return std::move(*failure);
  return unserved_error(told, subject);
}

}  // namespace gantry
