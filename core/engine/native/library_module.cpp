// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/library_module.hpp"

#include "core/engine/native/ffi/ffi_call.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/native/library_context.hpp"
#include "core/engine/native/packed/packed_call.hpp"
#include "core/engine/native/runtime_functions.hpp"
#include "core/formats/container_symbols.hpp"
#include "core/formats/function_symbol.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <ranges>
#include <string_view>

namespace gantry {
namespace {

struct LibraryModule {
  // Destroyed last: its code may use the context's handles until then.
  std::shared_ptr<CpuCode> library;
  // of function names; empty except for prefixed system libraries
  std::string prefix;
  const HostServices* services;
  ModuleNode* node;
  LibraryContext context;
};

// Returns the address of a function; NULL if there is none of that name.
//
// name     [in,out]  the entry's name replaces `__tvm_main__`
Result<void*> find_code(const LibraryModule& module, std::string_view& name) {
  const CpuCode& library = *module.library;
  const std::string_view symbol_prefix = function_symbol_prefix(library.facts());
  if (name == main_symbol && !symbol_prefix.empty()) {
    name = "main";
  } else if (name == main_symbol) {
    auto entry = library.entry_name();
    if (!entry.ok())
      return std::move(entry).failure().at("while looking for the entry of ",
                                           location_of(*module.node));
    name = *entry;
  }
  if (is_compiler_helper(name)) return nullptr;
  void* code = nullptr;
  if (!module.prefix.empty()) code = library.function(concat(symbol_prefix, module.prefix, name));
  return code != nullptr ? code : library.function(concat(symbol_prefix, name));
}

// Returns a function object that callers can enter with arguments in the code's layout. If calls
// are traced, returns the pair, which the look-up wraps.
Result<gantry_function> to_packed_function(const LibraryModule& module,
                                           std::unique_ptr<CpuFunction> function) {
  const gantry_function pair{function.get(), host_function_table()};
  if (module.node->artifact->trace != nullptr) {
    function.release();
    return pair;
  }
  GANTRY_TRY(Ref<FunctionObject> object,
             new_function(pair, Ref<ModuleNode>::share(module.node), module.node->device_type));
  function.release();
  object->packed = call_packed;
  return gantry_function{object.take(), nullptr};
}

Result<gantry_function> to_function(const LibraryModule& module, void* code, std::string name) {
  if (is_ffi(module.library->facts().dialect)) {
    auto* function = new ffi::CpuFunction{
        reinterpret_cast<ffi::CpuCode>(code), {module.services, module.node}, std::move(name)};
    return gantry_function{function, module.library->is_of_headers()
                                         ? ffi::header_function_table()
                                         : ffi::host_function_table(*module.node)};
  }
  return to_packed_function(
      module,
      std::make_unique<CpuFunction>(CpuFunction{
          reinterpret_cast<PackedCall>(code), {module.services, module.node}, std::move(name)}));
}

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& module = *static_cast<LibraryModule*>(self);
    std::string_view known(name.data, name.size);
    const auto code = find_code(module, known);
    if (!code.ok()) return to_status(code.error(), status);
    if (*code == nullptr) return GANTRY_NOT_FOUND;
    auto made = to_function(module, *code, std::string(known));
    if (!made.ok()) return to_status(made.error(), status);
    *out = *made;
    return GANTRY_OK;
  });
}

gantry_code visit_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    for (const std::string& name : static_cast<LibraryModule*>(self)->library->function_names()) {
      const gantry_function_info info{sizeof info, 0, {name.data(), name.size()}, {}};
      if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
    }
    return GANTRY_OK;
  });
}

gantry_code save_binary(void*, const gantry_sink*, gantry_status* status) {
  return gantry_fail(status, GANTRY_UNSUPPORTED, "",
                     "CPU code has no payload: it is the library itself");
}

constexpr gantry_module_table library_table{
    sizeof(gantry_module_table),
    0,
    "_lib",
    [](void* self) { delete static_cast<LibraryModule*>(self); },
    get_function,
    visit_functions,
    save_binary};

}  // namespace

Result<gantry_module> new_library_module(std::shared_ptr<CpuCode> library,
                                         const HostServices* services, ModuleNode& node,
                                         std::string_view prefix) {
  if (!library->claim()) {
    return invalid(location_of(node), ": ", library->name(), " already belongs to another module");
  }
  for (const RuntimeFunction& function : runtime_functions()) {
    if (function.variable.empty() || !function.fits(library->facts())) continue;
    void** const slot = library->pointer_variable(function.variable);
    if (slot != nullptr) *slot = function.address;
  }
  if (library->is_of_headers() && services->types != nullptr) {
    for (const auto& [name, value] : services->types->context_symbols()) {
      if (void** const slot = library->pointer_variable(name)) *slot = value;
    }
  }
  if (TraceRecorder* const trace = node.artifact->trace)
    GANTRY_CHECK(library->record_calls(*trace));
  return gantry_module{new LibraryModule{std::move(library), std::string(prefix), services, &node,
                                         LibraryContext(node)},
                       &library_table};
}

CpuCode& code_of(const ModuleNode& node) {
  return *static_cast<LibraryModule*>(node.self)->library;
}

Status set_module_context(ModuleNode& own, ModuleNode* root) {
  if (own.table.load(std::memory_order_acquire) != &library_table) {
    return invalid(location_of(own), " is not a library module");
  }
  auto* module = static_cast<LibraryModule*>(own.self);
  if (root != nullptr) module->context.add_root(*root);
  for (const ContainerFamily& family : std::views::reverse(container_families)) {
    const std::string_view name = family.context;
    void** slot = nullptr;
    if (!module->prefix.empty())
      slot = module->library->pointer_variable(concat(module->prefix, name));
    if (slot == nullptr) slot = module->library->pointer_variable(name);
    if (slot == nullptr) continue;
    // Its static variables still hold functions of the module to which it belonged.
    if (*slot != nullptr && module->library->outlives_module()) {
      return invalid(location_of(own), ": ", module->library->name(),
                     " already belongs to another module, until this process ends: keep the module "
                     "that was loaded first, and load its code no second time")
          .with_reason("LINKED_TWICE");
    }
    *slot = &module->context;
  }
  return {};
}

}  // namespace gantry
