// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/import_binding.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

namespace gantry {
namespace {

constexpr std::size_t kMaxRefusedNames = 8;

// True for Itanium names in namespace tvm: functions, const methods, type infos, type info names
// and virtual tables.
bool is_tvm_cpp(std::string_view name) {
  return name.starts_with("_ZN3tvm") || name.starts_with("_ZNK3tvm") ||
         name.starts_with("_ZTIN3tvm") || name.starts_with("_ZTSN3tvm") ||
         name.starts_with("_ZTVN3tvm");
}

// Elf64_Sym from its second member on.
struct [[gnu::packed]] SymbolRest {
  std::uint8_t info, visibility;
  std::uint16_t section;
  std::uint64_t value;
};
constexpr std::uint64_t symbol_rest_at = 4;
constexpr std::uint8_t global_function = 0x12, global_binding = 0x10, hidden = 2;
constexpr std::uint16_t absolute_section = 0xfff1;

// The tag of an entry that no linker reads: the first of those for systems.
constexpr std::uint64_t unused_tag = 0x6000000d;
constexpr std::string_view ffi_library = "libtvm_ffi.so";

// True if another library of the process may have a symbol of the name that the linker would use instead:
// variables that are unique in a process, and those of the headers where a library is opened globally.
bool may_be_shared(const ElfSymbol& symbol) {
  if (!symbol.exported()) return false;
  return symbol.binding == SymbolBinding::unique ||
         (symbol.name.starts_with("_Z") && symbol.name.find("3tvm3ffi") != std::string_view::npos);
}

// True if the program, a library that it was started with or one that was opened globally defines
// the symbol.
bool is_global(std::string_view name) {
  static void* const global = dlopen(nullptr, RTLD_LAZY);
  return dlsym(global, std::string(name).c_str()) != nullptr;
}

}  // namespace

Result<ImportBinding> ImportBinding::of(const ElfFile& elf, const ExporterFacts& facts,
                                        std::string_view location) {
  ImportBinding binding;
  std::vector<std::string_view> missing, cpp;
  std::vector<std::size_t> symbols;
  for (std::size_t i = 0; i < elf.symbols().size(); ++i) {
    const ElfSymbol& symbol = elf.symbols()[i];
    if (symbol.defined()) continue;
    if (const RuntimeFunction* function = find_runtime_function(symbol.name, facts)) {
      binding.imports_.push_back({function, i, symbol.at});
      symbols.push_back(i);
      binding.is_early_ = binding.is_early_ || function->is_called_at_load;
      binding.is_of_headers_ = binding.is_of_headers_ || function->is_of_headers;
    } else if (symbol.binding == SymbolBinding::weak) {
      continue;
    } else if (is_tvm_cpp(symbol.name)) {
      cpp.push_back(symbol.name);
    } else if (symbol.name.starts_with("TVM")) {
      missing.push_back(symbol.name);
    }
  }
  if (!cpp.empty()) {
    return unsupported(location, " imports ", join(cpp, ", ", in_quotes, kMaxRefusedNames),
                       " of TVM's C++ runtime: only the libtvm that it was built with can run it")
        .with_reason("TVM_CPP");
  }
  if (!missing.empty()) {
    return unsupported(location, " imports ", join(missing, ", ", in_quotes, kMaxRefusedNames),
                       " from its runtime, which gantry does not provide")
        .with_reason("TVM_SYMBOLS");
  }
  GANTRY_CHECK(binding.drop_needed(elf, location));
  if (symbols.empty()) return binding;
  if (binding.is_of_headers_) binding.separate(elf);

  GANTRY_TRY(SymbolUses uses, uses_of(elf, symbols));
  // The linker ends the process if a symbol is missing at a first call, so symbols that are not
  // global are resolved when the library is opened.
  const auto must_be_resolved = [&](const ElfSymbol& symbol) {
    return !symbol.defined() && symbol.binding != SymbolBinding::weak &&
           !binding.binds(symbol.name) && !is_global(symbol.name);
  };
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  binding.is_early_ =
      binding.is_early_ || uses.has_others || elf.flags().bind_now ||
      std::ranges::any_of(uses.slots,
                          [&](const JumpSlot& slot) {
                            return elf.image().is_protected(slot.address, sizeof(void*), page);
                          }) ||
      std::ranges::any_of(elf.symbols(), must_be_resolved);
  binding.slots_ = std::move(uses.slots);
  return binding;
}

void ImportBinding::separate(const ElfFile& elf) {
  for (Import& import : imports_) {
    for (const RuntimeFunction& form : header_functions()) {
      if (form.name == import.function->name) import.function = &form;
    }
  }
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (may_be_shared(symbol)) hidden_.push_back(symbol.at);
  }
}

Status ImportBinding::drop_needed(const ElfFile& elf, std::string_view location) {
  for (std::size_t i = 0; i < elf.needed().size(); ++i) {
    if (elf.needed()[i].starts_with(ffi_library)) unneeded_.push_back(elf.dynamic().needed()[i].at);
  }
  is_early_ = is_early_ || !unneeded_.empty();
  for (const ElfVersionNeed& need : elf.version_needs()) {
    if (!need.file.starts_with(ffi_library)) continue;
    return unsupported(location, " needs version ", quoted(need.version), " of ", need.file,
                       ", whose functions gantry provides without versions")
        .with_reason("TVM_SYMBOLS");
  }
  return {};
}

bool ImportBinding::drops(std::string_view needed) const {
  return !unneeded_.empty() && needed.starts_with(ffi_library);
}

bool ImportBinding::binds(std::string_view name) const {
  return std::ranges::any_of(imports_,
                             [&](const Import& import) { return import.function->name == name; });
}

const ImportBinding::Import& ImportBinding::import_of(std::size_t symbol) const {
  return *std::ranges::lower_bound(imports_, symbol, {}, &Import::symbol);
}

std::vector<std::uint8_t> ImportBinding::copied(std::span<const std::uint8_t> file) const {
  std::vector<std::uint8_t> bytes(file.begin(), file.end());
  for (const Import& import : imports_) {
    const SymbolRest rest{global_function, hidden, absolute_section,
                          reinterpret_cast<std::uintptr_t>(import.function->address)};
    std::memcpy(bytes.data() + import.at + symbol_rest_at, &rest, sizeof rest);
  }
  for (const std::uint64_t at : hidden_) {
    SymbolRest rest;
    std::memcpy(&rest, bytes.data() + at + symbol_rest_at, sizeof rest);
    rest.info = static_cast<std::uint8_t>((rest.info & 0x0f) | global_binding);
    rest.visibility = hidden;
    std::memcpy(bytes.data() + at + symbol_rest_at, &rest, sizeof rest);
  }
  for (const std::uint64_t at : unneeded_)
    std::memcpy(bytes.data() + at - sizeof unused_tag, &unused_tag, sizeof unused_tag);
  return bytes;
}

void ImportBinding::bind(std::uintptr_t base) const {
  for (const JumpSlot& slot : slots_) {
    auto* const word = reinterpret_cast<void**>(base + slot.address);
    std::atomic_ref(*word).store(import_of(slot.symbol).function->address,
                                 std::memory_order_release);
  }
}

}  // namespace gantry
