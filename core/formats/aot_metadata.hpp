// SPDX-License-Identifier: Apache-2.0
//
// The description of a model that is compiled ahead of time: C structs in its library, whose address
// the library's function get_c_metadata returns. All pointers and numbers have 8 bytes.
//
//   metadata   0  i64 version, 1          tensor    0  name
//              8  inputs*     ; i64 n               8  i64 shape* ; i64 rank
//             24  outputs*    ; i64 n              24  dtype, 4 bytes of padding
//             40  workspaces* ; i64 n     constant  0  name
//             56  constants*  ; i64 n               8  i64 offset in the pool ; i64 bytes
//             72  name of the module               24  array record*
//
// Workspaces are tensors. A pointer whose count is 0 may have any value. The model's function is
// <name of the module>___tvm_main__; its arguments are inputs, outputs, and if there are workspaces,
// the pool of constants, even if there are none, and the workspaces.
//
// source   apache/tvm include/tvm/runtime/metadata_types.h, src/runtime/aot_executor/aot_executor.cc
#pragma once

#include "core/formats/memory_image.hpp"

#include <gantry/tensor.h>
#include <gantry/array_record.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The function that returns the address of the structs.
constexpr char aot_metadata_function[] = "get_c_metadata";

// Names view the image.
struct AotTensor {
  std::string_view name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // of a compact tensor
  std::uint64_t bytes = 0;
};

struct AotConstant {
  std::string_view name;
  // of the data in the pool of constants
  std::uint64_t offset = 0;
  // Its data view the image.
  ArrayRecord array;
};

struct AotMetadata {
  // "tvmgen_default"
  std::string_view module_name;
  std::vector<AotTensor> inputs, outputs, workspaces;
  std::vector<AotConstant> constants;
  // of the pool of constants, at most INT32_MAX
  std::uint64_t constant_bytes = 0;

  // Returns the name of the model's function.
  std::string function() const;
};

// Reads the structs.
//
// address  [in]   of the metadata
// returns  MALFORMED    a pointer that leads out of the image, a count without room, a number that is
//                       negative, a text without an end, more than 1 MiB of names, two inputs with
//                       one name; with the relative address as the offset
//          UNSUPPORTED  another version; an element type that is not supported
// lifetime views are those of the image
// costs    O(tensors log tensors + bytes of names), both limited; the data of constants are not read
Result<AotMetadata> read_aot_metadata(const MemoryImage& image, std::uint64_t address);

// Finds the structs among data, without calling the function.
//
// pointers     [in]   addresses of words that contain addresses of the image
// is_function  [in]   whether the library has a function of this name
// returns      their address; nullopt if there is not exactly one valid description of a function that
//              the library has, or if too many words look like one
// costs        O(pointers) and at most 64 calls of read_aot_metadata()
std::optional<std::uint64_t> find_aot_metadata(
    const MemoryImage& image, std::span<const std::uint64_t> pointers,
    const std::function<bool(std::string_view name)>& is_function);

}  // namespace gantry
