// SPDX-License-Identifier: Apache-2.0
//
// Selects the symbols of a file that belong to its container, and derives facts about the exporter
// from their names.
#pragma once

#include "core/formats/container_layout.hpp"
#include "core/formats/exporter_facts.hpp"

#include <gantry/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// One dynamic symbol of a file.
struct CpuSymbol {
  std::string_view name;
  // 0: unknown
  std::uint64_t size = 0;
  bool defined = false;
};

// The selected symbols, as indices into the list of all symbols.
struct ContainerSymbols {
  enum class Family : std::uint8_t { none, legacy, ffi_first, ffi };

  // by the name of the blob symbol
  Family family = Family::none;
  // [prefix]__tvm_dev_mblob, __tvm_ffi_library_bin, ...
  std::optional<std::size_t> blob;
  // __tvm_dev_mblob_nbytes: the container has no length header
  std::optional<std::size_t> size;
  // the variable for the module handle; often absent
  std::optional<std::size_t> context;
  // symbol prefix of a system library; usually empty
  std::string_view prefix;
  // See ExporterFacts.
  Dialect dialect = Dialect::unknown;
  std::string_view dialect_symbol;
  std::string_view writer;
  // one for each other container in the file
  std::vector<Message> warnings;
};

// The names of a family, each after the prefix of a system library.
struct ContainerFamily {
  ContainerSymbols::Family family;
  // the container
  std::string_view blob;
  // the variable in which CPU code finds its context
  std::string_view context;
};

// Of TVM 0.22 and newer, of 0.21, and up to 0.20. Newest first: in a file with containers of two
// families, the newer one is read.
//
// source   apache/tvm src/target/codegen.cc (v0.7 to v0.26), tvm-ffi include/tvm/ffi/extra
inline constexpr ContainerFamily container_families[] = {
    {ContainerSymbols::Family::ffi, "__tvm_ffi__library_bin", "__tvm_ffi__library_ctx"},
    {ContainerSymbols::Family::ffi_first, "__tvm_ffi_library_bin", "__tvm_ffi_library_ctx"},
    {ContainerSymbols::Family::legacy, "__tvm_dev_mblob", "__tvm_module_ctx"},
};

constexpr const ContainerFamily& container_family(ContainerSymbols::Family family) {
  for (const ContainerFamily& each : container_families) {
    if (each.family == family) return each;
  }
  return container_families[2];
}

// The functions by which the constructor of a system library registers its symbols:
// int (const char* name, void*).
inline constexpr std::string_view packed_register_function = "TVMBackendRegisterSystemLibSymbol";
inline constexpr std::string_view ffi_register_function = "TVMFFIEnvModRegisterSystemLibSymbol";
inline constexpr std::string_view register_functions[] = {
    packed_register_function, "TVMFFIEnvRegisterSystemLibSymbol", ffi_register_function};

// Selects the symbols of the container that is read.
//
// prefix   of the container's symbol; empty: the first in byte order, which the runtime reads
// costs    O(symbols)
ContainerSymbols choose_symbols(std::span<const CpuSymbol> symbols, std::string_view prefix = {});

// True if the symbol of a container may have this name: it ends with one of the blob symbols.
bool is_blob_symbol(std::string_view name);

// Derives facts from symbols and layout. G1 and G2 are reported as G3 until
// ExporterFacts::add_tree() is called.
//
// layout   none: a file without a container
ExporterFacts facts_of(const ContainerSymbols& symbols, ContainerLayout layout);

}  // namespace gantry
