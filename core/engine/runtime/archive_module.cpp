// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/archive_module.hpp"

#include "core/base/near_name.hpp"
#include "core/engine/module/module_graph.hpp"
#include "core/engine/runtime/model_state.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view list_function = "list_module_names";

struct ArchiveModule {
  // owns this object
  const ModuleNode* node;
  std::vector<std::string> names;
};

Status list_names(const ArchiveModule& archive, gantry_value* result) {
  std::vector<Value> texts;
  std::vector<gantry_value> items;
  for (const std::string& name : archive.names) {
    GANTRY_TRY(Value text, new_text(GANTRY_STRING, name));
    items.push_back(text.get());
    texts.push_back(std::move(text));
  }
  GANTRY_TRY(ObjectPtr list, new_items(GANTRY_ARRAY, items));
  *result = owned_value(std::move(list)).take();
  return {};
}

// A factory has the name of its model's default function.
Result<Ref<FunctionObject>> factory_of(ModuleNode& root) {
  GANTRY_TRY(const auto model, ModelState::find({.runtime = state_of(*root.artifact),
                                                 .module = Ref<ModuleNode>::share(&root),
                                                 .devices = {}}));
  GANTRY_TRY(const ModelState::Function* const function, model->function({}));
  return find_function(root, own_or_imported, function->name);
}

constexpr gantry_function_table list_table{
    sizeof(gantry_function_table), 0,
    // The module, which the function keeps alive, owns `self`.
    [](void*) {},
    [](void* self, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
       gantry_status* status) {
      return abi_boundary(
          status, [&] { return list_names(*static_cast<const ArchiveModule*>(self), result); });
    }};

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& archive = *static_cast<const ArchiveModule*>(self);
    const std::string_view known(name.data, name.size);
    if (known == list_function) {
      *out = {self, &list_table};
      return GANTRY_OK;
    }
    const auto found = std::ranges::find(archive.names, known);
    if (found == archive.names.end()) return GANTRY_NOT_FOUND;
    ModuleNode& model =
        *archive.node->imports[static_cast<std::size_t>(found - archive.names.begin())];
    auto factory = factory_of(model);
    if (!factory.ok()) return to_status(factory.error(), status);
    *out = {factory->take(), nullptr};
    return GANTRY_OK;
  });
}

gantry_code visit_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  const auto visit = [&](std::string_view name) {
    const gantry_function_info info{sizeof info, 0, {name.data(), name.size()}, {}};
    return visitor->visit(visitor->self, &info, status);
  };
  if (const gantry_code code = visit(list_function)) return code;
  for (const std::string& name : static_cast<const ArchiveModule*>(self)->names) {
    if (const gantry_code code = visit(name)) return code;
  }
  return GANTRY_OK;
}

constexpr gantry_module_table archive_table{
    sizeof(gantry_module_table),
    0,
    archive_module_key.data(),
    [](void* self) { delete static_cast<ArchiveModule*>(self); },
    get_function,
    visit_functions,
    nullptr};

}  // namespace

Result<Ref<ModuleNode>> new_archive_module(std::shared_ptr<const Artifact> artifact,
                                           std::vector<ArchivedModel> models) {
  GANTRY_TRY(Ref<ModuleNode> node,
             new_module_node(std::move(artifact), archive_module_key, ModuleNode::kNoIndex));
  auto archive = std::make_unique<ArchiveModule>(ArchiveModule{node.get(), {}});
  for (ArchivedModel& model : models) {
    archive->names.push_back(std::move(model.name));
    node->imports.push_back(std::move(model.root));
  }
  GANTRY_CHECK(bind(*node, {archive.get(), &archive_table}));
  (void)archive.release();
  return node;
}

std::vector<std::string> archived_models(const ModuleNode& module) {
  if (module.table.load(std::memory_order_acquire) != &archive_table) return {};
  return static_cast<const ArchiveModule*>(module.self)->names;
}

Result<Ref<ModuleNode>> archived_model(const ModuleNode& archive, std::string_view name) {
  const std::vector<std::string> names = archived_models(archive);
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return archive.imports[static_cast<std::size_t>(found - names.begin())];
  const Message text = name.empty()
                           ? Message("the archive has ", names.size(), " models, one must be named")
                           : Message("model ", quoted(name), " of the archive not found",
                                     did_you_mean(name, {names.begin(), names.end()}));
  Error error = fail(Code::not_found, text).with_reason("ARCHIVE_MODEL");
  const std::size_t listed = std::min(names.size(), max_listed_names);
  for (std::size_t i = 0; i < listed; ++i) error.at(quoted(names[i]));
  if (names.size() > listed) error.at("and ", names.size() - listed, " more");
  return error;
}

}  // namespace gantry
