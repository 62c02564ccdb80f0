// SPDX-License-Identifier: Apache-2.0
#include "core/native/dialect.hpp"

namespace gantry {

DialectFound dialect_of(const ElfFile& elf) {
  for (const auto& [symbol, writer] : {
           std::pair<std::string_view, std::string_view>{"__tvm_ffi__library_bin",
                                                         "TVM 0.22 or newer"},
           {"__tvm_ffi__library_ctx", "TVM 0.22 or newer"},
           {"__tvm_ffi_main", "TVM 0.22 or newer"},
           {"__tvm_ffi_library_bin", "TVM 0.21"},
           {"__tvm_ffi_library_ctx", "TVM 0.21"},
       }) {
    if (elf.find(symbol) != nullptr) return {HostDialect::ffi, writer, symbol};
  }
  // a name of the dialect that a development build may have had too
  const ElfSymbol* other = nullptr;
  for (const ElfSymbol& symbol : elf.symbols()) {
    // Most names of a file are those of its functions, and begin otherwise.
    if (!symbol.name.starts_with('_') && !symbol.name.starts_with('T')) continue;
    if (symbol.defined() && symbol.name.starts_with("__tvm_ffi_"))
      return {HostDialect::ffi, "TVM 0.22 or newer", symbol.name};
    if (other == nullptr &&
        (symbol.name.starts_with("__TVMFFI") || symbol.name.starts_with("TVMFFI"))) {
      other = &symbol;
    }
  }
  if (other != nullptr) {
    return {HostDialect::ffi, "TVM 0.21 or newer, or a development build of 2025", other->name};
  }
  return {HostDialect::packed, "TVM 0.20 or older", {}};
}

}  // namespace gantry
