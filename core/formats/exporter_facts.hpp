// SPDX-License-Identifier: Apache-2.0
//
// Facts about the exporter of a file, derived from its symbol names, container layout and import
// tree. Only the container's reader derives them; other components use this struct.
#pragma once

#include <gantry/blob_facts.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

class ImportTree;

// See FORMAT.md, "Generations".
enum class Generation : std::uint8_t { none, g0, g1, g2, g3, g3x, g4, g4x, g5, unknown };
// "none", "G0", ... "G3x", ... "unknown"
std::string_view name_of(Generation generation);

// The calling convention of compiled CPU code: TVMValue and type codes, or TVMFFIAny.
enum class Dialect : std::uint8_t {
  packed,
  // v0.21: functions have no prefix, and objects a header of 16 bytes and other numbers
  ffi_0_21,
  // v0.22 and later
  ffi,
  unknown,
};
constexpr bool is_ffi(Dialect dialect) {
  return dialect == Dialect::ffi_0_21 || dialect == Dialect::ffi;
}
// "packed", "ffi" of both, "unknown"
std::string_view name_of(Dialect dialect);

// The module whose imports CPU code searches for a function.
enum class LookUpStart : std::uint8_t {
  // the `_lib` itself: v0.8 and later
  library,
  // module 0: v0.7 and older
  root,
};

// The device numbers in compiled code and graphs; see core/engine/native/device_numbers.hpp.
enum class DeviceNumbering : std::uint8_t {
  // of v0.11 or older: files of v0.8 and later do not show it
  since_v0_8,
  // older than v0.11
  up_to_v0_7,
};

struct ExporterFacts {
  // For messages; code must use the facts below.
  Generation generation = Generation::none;
  Dialect dialect = Dialect::unknown;
  // ffi: the symbol that proves the dialect, a view into the file, and the releases that write such
  // files, "TVM 0.22 or newer". For messages.
  std::string_view dialect_symbol;
  std::string_view writer;
  ArgumentTags argument_tags = ArgumentTags::unknown;
  // of constants in Relax code
  Numbering numbering = Numbering::unknown;
  // dtype codes 6 to 8 are the float8 and float4 types of v0.14 to v0.20
  bool has_private_float_codes = false;
  LookUpStart look_up_start = LookUpStart::library;
  DeviceNumbering device_numbering = DeviceNumbering::since_v0_8;

  // Distinguishes G1 and G2 from G3, which symbols and layout cannot.
  //
  // libraries    number of entries with key `_lib`
  // tree         NULL if the container has none
  void add_tree(std::uint64_t libraries, const ImportTree* tree);
  // Sets the generation and the facts that depend on it.
  void set_generation(Generation proven);
};

}  // namespace gantry
