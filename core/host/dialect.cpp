// SPDX-License-Identifier: Apache-2.0
#include "core/host/dialect.hpp"

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
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined() && symbol.name.starts_with("__tvm_ffi_")) {
      return {HostDialect::ffi, "TVM 0.22 or newer", symbol.name};
    }
  }
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.name.starts_with("__TVMFFI") || symbol.name.starts_with("TVMFFI")) {
      return {HostDialect::ffi, "TVM 0.21 or newer, or a development build of 2025", symbol.name};
    }
  }
  return {HostDialect::packed, "TVM 0.20 or older", {}};
}

}  // namespace gantry
