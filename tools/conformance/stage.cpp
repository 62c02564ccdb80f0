// SPDX-License-Identifier: Apache-2.0
#include "tools/conformance/stage.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/load.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/plugins/library/table_copy.hpp"
#include "tools/conformance/failing_calls.hpp"
#include "tools/conformance/plugin_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>
#include <gantry/value.hpp>

#include <algorithm>

namespace gantry::kit {
namespace {

// A table without a required function is a defect; the core refuses it.
template <class Table>
Status check_table(const Table* table, std::string_view subject) {
  const auto copy = copy_table(table, subject);
  if (copy.ok()) return {};
  return bug(copy.error().message);
}

}  // namespace

LoadedModule::~LoadedModule() {
  if (pair.table == nullptr) return;
  const PluginCall record("destroy of a module");
  pair.table->destroy(pair.self);
}

LoadedFunction::~LoadedFunction() {
  const PluginCall record("destroy of a function");
  if (pair.table == nullptr) {
    if (pair.self != nullptr) gantry_release(static_cast<gantry_object*>(pair.self));
  } else if (GANTRY_HAS(pair.table, destroy) && pair.table->destroy != nullptr) {
    pair.table->destroy(pair.self);
  }
}

Result<std::unique_ptr<Stage>> Stage::open(const Subject& subject, const Observation& observed) {
  std::unique_ptr<Stage> stage(new Stage);
  GANTRY_TRY(stage->state_, subject.runtime(observed));
  auto active = stage->state_->plugins->open(subject.manifest().id);
  if (!active.ok())
    return not_run("the plugin cannot be opened and created: ", first_line(active.error()));
  stage->active_ = *std::move(active);
  for (const Payload& payload : subject.payloads()) {
    const auto [known, is_new] = stage->imports_.try_emplace({payload.artifact, payload.entry});
    if (is_new) {
      GANTRY_TRY(known->second, imports_of(*stage->state_, payload));
    }
  }
  return stage;
}

Result<std::vector<Ref<ModuleNode>>> imports_of(RuntimeState& state, const Payload& payload) {
  if (payload.artifact.empty()) return std::vector<Ref<ModuleNode>>();
  // Without its plugin, a module is a placeholder that fails when it is called.
  auto root = load_file(state, payload.artifact, {.allow_missing = true});
  if (!root.ok()) {
    return not_run("the modules that ", payload.name,
                   " imports cannot be loaded: ", first_line(root.error()));
  }
  const std::vector<ModuleNode*> all = reachable(**root);
  const auto node = std::ranges::find(all, payload.entry, &ModuleNode::index);
  return node != all.end() ? (*node)->imports : std::vector<Ref<ModuleNode>>();
}

const gantry_loader_table& Stage::loader_for(const Payload& payload) const {
  return *loader_of(*active_, payload.key);
}

Result<std::shared_ptr<const Device>> Stage::device_for(const Payload& payload) const {
  const char* const named = loader_for(payload).device;
  const std::string_view kind = named == nullptr || *named == 0 ? "cpu" : named;
  auto device = state_->device(kind);
  if (!device.ok()) return not_run("no device ", kind, ": ", first_line(device.error()));
  std::int32_t count = 0;
  StatusBuffer status;
  const gantry_code code = status.call([&](gantry_status* failure) {
    return (*device)->table->count((*device)->self, &count, failure);
  });
  if (code != GANTRY_OK)
    return not_run("no device ", kind, ": ", first_line(status.error(code, "count")));
  if (count <= 0) return not_run("this host has no device of kind ", kind);
  return device;
}

gantry_blob Stage::blob(const Payload& payload, std::span<const std::uint8_t> bytes,
                        gantry_object* pin) const {
  gantry_blob blob = blob_of(payload.key, bytes, pin);
  blob.argument_tags = payload.argument_tags;
  blob.numbering = payload.numbering;
  return blob;
}

Result<LoadedModule> Stage::load(const Payload& payload, std::span<const std::uint8_t> bytes,
                                 gantry_object* pin) const {
  return load(payload, blob(payload, bytes, pin));
}

Result<LoadedModule> Stage::load_once(const Payload& payload, std::span<const std::uint8_t> bytes,
                                      gantry_object* pin) const {
  gantry_blob given = blob(payload, bytes, pin);
  const auto copy_of = [](const void* data, std::size_t size) {
    return GuardedBytes({static_cast<const std::uint8_t*>(data), size});
  };
  const auto text_of = [](const GuardedBytes& copy) {
    return gantry_bytes{reinterpret_cast<const char*>(copy.bytes().data()), copy.bytes().size()};
  };
  const GuardedBytes type_key = copy_of(given.type_key.data, given.type_key.size);
  const GuardedBytes origin = copy_of(given.origin.data, given.origin.size);
  given.type_key = text_of(type_key);
  given.origin = text_of(origin);
  const GuardedBytes whole = copy_of(&given, sizeof given);
  return load(payload, *reinterpret_cast<const gantry_blob*>(whole.bytes().data()));
}

Result<LoadedModule> Stage::load(const Payload& payload, const gantry_blob& given) const {
  const gantry_loader_table& loader = loader_for(payload);
  LoadedModule loaded;
  GANTRY_TRY(loaded.node, new_module_node(std::make_shared<const Artifact>(state_->new_artifact()),
                                          payload.key, ModuleNode::kNoIndex));
  if (const auto known = imports_.find({payload.artifact, payload.entry}); known != imports_.end())
    loaded.node->imports = known->second;
  StatusBuffer status;
  const PluginCall record("load_binary");
  const gantry_code code = status.call([&](gantry_status* failure) {
    return loader.load_binary(self(), &given, &loaded.node->header, &loaded.pair, &loaded.consumed,
                              failure);
  });
  if (code == GANTRY_OK) {
    if (loaded.pair.table == nullptr) return bug("load_binary succeeds without a module");
    // An incomplete one may have no destroy.
    Status complete = check_table(loaded.pair.table, "the module of load_binary");
    if (!complete.ok()) loaded.pair = {};
    if (!complete.ok()) return std::move(complete).error();
    return loaded;
  }
  if (std::exchange(loaded.pair, {}).table != nullptr)
    return bug("load_binary fails and writes a module");
  return status.error(code, "load_binary");
}

Result<std::optional<std::int32_t>> Stage::verdict(const Payload& payload,
                                                   std::span<const std::uint8_t> bytes) const {
  // The core's copy has a stub for an absent function.
  const gantry_loader_table& loader = loader_for(payload);
  const ObjectPtr pin = empty_pin();
  const gantry_blob given = blob(payload, bytes, pin.get());
  std::int32_t verdict = -1;
  StatusBuffer status;
  const PluginCall record("check_binary");
  const gantry_code code = status.call([&](gantry_status* failure) {
    return loader.check_binary(self(), &given, 0, &verdict, failure);
  });
  if (code == GANTRY_OK) return std::optional(verdict);
  Error error = status.error(code, "check_binary");
  if (error.reason == "FUNCTION_ABSENT") return std::optional<std::int32_t>();
  return error;
}

Result<LoadedFunction> Stage::function(const LoadedModule& module, std::string_view name) const {
  LoadedFunction function;
  StatusBuffer status;
  const PluginCall record("get_function");
  const gantry_code code = status.call([&](gantry_status* failure) {
    return module.pair.table->get_function(module.pair.self, bytes_of(name), &function.pair,
                                           failure);
  });
  const std::string what = concat("get_function(", quoted(name, 40), ")");
  if (code == GANTRY_OK) {
    if (function.pair.self == nullptr && function.pair.table == nullptr)
      return bug(what, " succeeds without a function");
    const auto* const object = static_cast<const gantry_object*>(function.pair.self);
    if (function.pair.table == nullptr && object->kind != GANTRY_FUNCTION) {
      function.pair = {};
      return bug(what, " succeeds without a table, and its self is no function object");
    }
    if (function.pair.table == nullptr)
      return not_run("function ", quoted(name), " is one of another module");
    Status complete = check_table(function.pair.table, concat("the function of ", what));
    if (!complete.ok()) function.pair = {};
    if (!complete.ok()) return std::move(complete).error();
    return function;
  }
  if (std::exchange(function.pair, {}).table != nullptr)
    return bug(what, " fails and writes a function");
  if (code == GANTRY_NOT_FOUND) return not_found("no function ", quoted(name));
  return status.error(code, "get_function");
}

}  // namespace gantry::kit
