// SPDX-License-Identifier: Apache-2.0
//
// Generations: the forms that releases of compilers have given to files, FORMAT.md. One table has
// what differs between them, for reading and writing. Code that depends on a generation reads a fact
// of it.
//
//     if (generation_facts(to).has_sized_shaders) ...
#pragma once

#include "core/formats/container_layout.hpp"

#include <gantry/blob_facts.hpp>

#include <cstdint>
#include <string_view>

namespace gantry {

// See FORMAT.md, "Generations".
enum class Generation : std::uint8_t { none, g0, g1, g2, g3, g3x, g4, g4x, g5, unknown };

// The calling convention of compiled CPU code: TVMValue and type codes, or TVMFFIAny.
enum class Dialect : std::uint8_t {
  packed,
  // v0.21
  ffi_0_21,
  // v0.22 and later
  ffi,
  unknown,
};
constexpr bool is_ffi(Dialect dialect) {
  return dialect == Dialect::ffi_0_21 || dialect == Dialect::ffi;
}
// Symbols of functions begin with "__tvm_ffi_".
constexpr bool has_function_prefix(Dialect dialect) { return dialect == Dialect::ffi; }
// Objects have a header of 16 bytes, and numbers of their own.
constexpr bool has_short_objects(Dialect dialect) { return dialect == Dialect::ffi_0_21; }
// "packed", "ffi" of both, "unknown"
std::string_view name_of(Dialect dialect);

// How the entries of a container follow from its modules; core/writing/index.hpp.
enum class EntryOrder : std::uint8_t {
  // in any order, without a tree
  listed,
  // one for each module, in the order of imports, which may repeat
  separate,
  // one for all CPU code; a child follows its parents, and is imported once by each
  merged,
};

// The payload of "metal".
enum class MetalForm : std::uint8_t {
  // format, kernels, one source
  one_source,
  // version, a source for each kernel, kernels, format; from builds without Metal as one_source
  versioned,
  // format, kernels, a source for each kernel
  separate_sources,
};

struct GenerationFacts {
  Generation generation = Generation::none;
  // for messages: "G3", "v0.8 to v0.20"
  std::string_view name;
  std::string_view releases = {};
  // the generation in whose form a file is written again; none: it cannot be
  Generation written_as = Generation::none;

  // CONTAINER
  ContainerLayout layout = ContainerLayout::none;
  EntryOrder order = EntryOrder::merged;
  // Its symbol, after the prefix of a system library, and the function by which a system library
  // registers its symbols: int (const char* name, void*). Of generations that are written.
  std::string_view symbol = {};
  std::string_view register_function = {};

  // CPU CODE
  Dialect dialect = Dialect::unknown;
  // searches functions from module 0, else from the `_lib` itself
  bool searches_from_root = false;
  // The device numbers are those of v0.10 and older, else of any release;
  // core/engine/native/device_numbers.hpp.
  bool has_old_device_numbers = false;

  // PAYLOADS
  // The form of kernel records in files that are read, and in those that are written.
  ArgumentTags proven_tags = ArgumentTags::unknown;
  ArgumentTags argument_tags = ArgumentTags::unknown;
  // kernel records repeat the kernel's name; those of "webgpu" had done so earlier
  bool has_kernel_names = false;
  bool has_webgpu_kernel_names = false;
  // of launch tags that are flags
  std::string_view flag_prefix = "tir.";
  // dtype codes 6 to 8 are the float8 and float4 types of v0.14 to v0.20
  bool has_private_float_codes = false;
  // of constants in Relax code
  Numbering numbering = Numbering::unknown;
  // Relax code follows its length
  bool has_code_length = true;
  // Relax code has memory scopes
  bool has_memory_scopes = false;
  // shaders of "vulkan" follow their length
  bool has_sized_shaders = false;
  // The text of "opencl" has a program for each kernel, after its marker (opencl_text.hpp); else
  // one for all.
  bool has_opencl_markers = false;
  MetalForm metal = MetalForm::one_source;
  // The data of "hexagon" are a library, else the path of one.
  bool has_hexagon_library = false;
};

const GenerationFacts& generation_facts(Generation generation);

// "none", "G0", ... "G3x", ... "unknown"
inline std::string_view name_of(Generation generation) { return generation_facts(generation).name; }

}  // namespace gantry
