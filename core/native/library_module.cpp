// SPDX-License-Identifier: Apache-2.0
#include "core/native/library_module.hpp"

#include "core/native/library_context.hpp"
#include "core/native/packed/packed_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <string_view>

namespace gantry {
namespace {

constexpr std::string_view kMain = "__tvm_main__";

struct LibraryModule {
  // Destroyed last: its code may use the context's handles until then.
  std::shared_ptr<HostLibrary> library;
  // of function names; empty except for prefixed system libraries
  std::string prefix;
  const HostServices* services;
  ModuleNode* node;
  LibraryContext context;
};

// True for helpers that LLVM adds to every file; they are not packed functions.
bool is_compiler_helper(std::string_view name) {
  constexpr std::string_view helpers[] = {"_init",         "_fini",        "__extendhfsf2",
                                          "__truncsfhf2",  "__truncdfhf2", "__gnu_f2h_ieee",
                                          "__gnu_h2f_ieee"};
  return std::find(std::begin(helpers), std::end(helpers), name) != std::end(helpers);
}

// Returns the name of the function that `__tvm_main__` denotes. In files from LLVM it is a text
// that contains the name, in files from C it is the function itself.
//
// returns  an empty view if the file has no entry
Result<std::string_view> entry_name(const HostLibrary& library) {
  const ElfSymbol* symbol = library.elf().find(kMain);
  if (symbol == nullptr || !symbol->exported()) return std::string_view();
  if (symbol->type != SymbolType::object) return kMain;
  GANTRY_TRY(const auto bytes, library.elf().bytes_of(*symbol));
  const auto end = std::find(bytes.begin(), bytes.end(), std::uint8_t{0});
  if (end == bytes.end()) {
    return malformed(library.elf().offset_in_file(bytes), "__tvm_main__ has no terminator in its ",
                     bytes.size(), " bytes");
  }
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()),
                              static_cast<std::size_t>(end - bytes.begin()));
  if (library.function(name) == nullptr) {
    return malformed(library.elf().offset_in_file(bytes), "__tvm_main__ names ", quoted(name),
                     ", which is not a function of the file");
  }
  return name;
}

// Returns NULL if there is no such function.
Result<std::unique_ptr<HostFunction>> find_host_function(const LibraryModule& module,
                                                         std::string_view name) {
  if (is_compiler_helper(name)) return std::unique_ptr<HostFunction>();
  if (name == kMain) {
    auto entry = entry_name(*module.library);
    if (!entry.ok())
      return std::move(entry).failure().at("while looking for the entry of ",
                                           location_of(*module.node));
    name = *entry;
  }
  void* code = nullptr;
  if (!module.prefix.empty()) code = module.library->function(concat(module.prefix, name));
  if (code == nullptr) code = module.library->function(name);
  if (code == nullptr) return std::unique_ptr<HostFunction>();
  return std::make_unique<HostFunction>(HostFunction{
      reinterpret_cast<PackedCall>(code), module.services, module.node, std::string(name)});
}

// Returns a function object that callers can enter with arguments in the code's layout. If calls
// are traced, returns the pair, which the look-up wraps.
Result<gantry_function> to_function(const LibraryModule& module,
                                    std::unique_ptr<HostFunction> function) {
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

gantry_code get_function(void* self, gantry_bytes name, gantry_function* out,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    auto found = find_host_function(*static_cast<LibraryModule*>(self), {name.data, name.size});
    if (!found.ok()) return to_status(found.error(), status);
    if (*found == nullptr) return GANTRY_NOT_FOUND;
    auto made = to_function(*static_cast<LibraryModule*>(self), std::move(*found));
    if (!made.ok()) return to_status(made.error(), status);
    *out = *made;
    return GANTRY_OK;
  });
}

gantry_code visit_functions(void* self, const gantry_visitor* visitor, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    for (const std::string& name :
         exported_functions(static_cast<LibraryModule*>(self)->library->elf())) {
      const gantry_function_info info{sizeof info, 0, {name.data(), name.size()}, {}};
      if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
    }
    return GANTRY_OK;
  });
}

gantry_code save_binary(void*, const gantry_sink*, gantry_status* status) {
  return gantry_fail(status, GANTRY_UNSUPPORTED, "",
                     "host code has no payload: it is the library itself");
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

std::vector<std::string> exported_functions(const ElfFile& elf) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.exported() || symbol.type != SymbolType::function) continue;
    if (symbol.name.starts_with("__") || symbol.name.starts_with('.') ||
        is_compiler_helper(symbol.name))
      continue;
    names.emplace_back(symbol.name);
  }
  return names;
}

Result<gantry_module> new_library_module(std::shared_ptr<HostLibrary> library,
                                         const HostServices* services, ModuleNode& node,
                                         std::string_view prefix) {
  if (!library->claim()) {
    return invalid(location_of(node), ": ", library->path().native(),
                   " already belongs to another module");
  }
  for (const ContextVariable& variable : context_variables()) {
    if (void** slot = library->pointer_variable(variable.name)) *slot = variable.address;
  }
  return gantry_module{new LibraryModule{std::move(library), std::string(prefix), services, &node,
                                         LibraryContext(node)},
                       &library_table};
}

Status set_module_context(ModuleNode& own, ModuleNode* root) {
  if (own.table.load(std::memory_order_acquire) != &library_table) {
    return invalid(location_of(own), " is not a library module");
  }
  auto* module = static_cast<LibraryModule*>(own.self);
  if (root != nullptr) module->context.add_root(*root);
  for (const std::string& name :
       {module->prefix + "__tvm_module_ctx", std::string("__tvm_module_ctx")}) {
    void** const slot = module->library->pointer_variable(name);
    if (slot == nullptr) continue;
    *slot = &module->context;
    break;
  }
  return {};
}

}  // namespace gantry
