// SPDX-License-Identifier: Apache-2.0
//
// Type keys: the reserved ones, the rules for them, and the table of those that compilers write. One row
// has everything that is specific to a key: the payload's layouts and content, the releases that have
// it, and the plugin of this project or of a vendor that serves it.
//
// A change of what a compiler writes for a key begins in the table (type_key.cpp).
#pragma once

#include "core/formats/exporter_facts.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// CPU code. Its entry has no payload: the module is the library that contains the container.
inline constexpr std::string_view library_key = "_lib";
// The import tree in layout one.
inline constexpr std::string_view tree_key = "_import_tree";

// Graph factories; the second key is of TVM 0.7.
inline constexpr std::string_view graph_factory_key = "GraphExecutorFactory";
inline constexpr std::string_view old_graph_factory_key = "GraphRuntimeFactory";
// Code that is compiled ahead of time, and its metadata.
inline constexpr std::string_view aot_factory_key = "AotExecutorFactory";
inline constexpr std::string_view aot_metadata_key = "metadata_module";
inline constexpr std::string_view constants_key = "const_loader";
inline constexpr std::string_view relay_executable_key = "VMExecutable";
inline constexpr std::string_view relax_executable_key = "relax.VMExecutable";

// What a payload contains: decides how it is described, aligned and converted.
enum class PayloadContent : std::uint8_t {
  // described by its layout, copied as it is
  other,
  // kernels of a device and their code
  kernels,
  // array_list.hpp
  graph,
  ahead_of_time,
  constants,
  // virtual machines: relay_code.hpp, relax_code.hpp
  relay_code,
  relax_code,
};

// How a payload is written in the form of another generation (core/writing/converted_payload.hpp), in
// addition to the parts that its layout names: element types, kernel records.
enum class PayloadConversion : std::uint8_t {
  // none
  parts,
  // a program for each kernel, or one for all
  opencl_text,
  // shaders with or without their lengths
  vulkan_shaders,
  // the fields in another order, with or without a version
  metal_fields,
  // kernels with or without a second name
  webgpu_kernels,
  // only between generations with the same kind of data: a library, or its path
  hexagon_data,
};

// A type key that compilers write. Texts may be empty.
struct TypeKey {
  std::string_view key;
  // description: "CUDA kernels"
  std::string_view what = {};
  PayloadContent content = PayloadContent::other;
  PayloadConversion conversion = PayloadConversion::parts;
  // Layouts of the payload (payload_layout.hpp), fields separated by blanks. The first one that matches
  // is that of a payload.
  std::span<const std::string_view> layouts = {};
  // The generations that have it.
  Generation first = Generation::g0;
  Generation last = Generation::g5;
  // the key that later releases write for the same payload
  std::string_view renamed = {};
  // id of the plugin of this project that serves it: "gantry.cuda"
  std::string_view plugin = {};
  // DLPack's name of the device that runs kernels, if it is not the key
  std::string_view kind = {};
  // The modules are for a device or library of this vendor, which has a plugin for them: "NVIDIA", "CUDA
  // GPUs with cuBLAS".
  std::string_view vendor = {};
  std::string_view device = {};
};
// Sorted bytewise.
//
// source   apache/tvm v0.2 to v0.27, the runtime modules of src/runtime and their writers
std::span<const TypeKey> type_keys();
// Returns NULL for other keys, for example those of vendors.
const TypeKey* find_type_key(std::string_view key);

// `other` for a key that is not in the table.
PayloadContent content_of(std::string_view type_key);
// `parts` for a key that is not in the table.
PayloadConversion conversion_of(std::string_view type_key);
inline bool is_virtual_machine(std::string_view type_key) {
  const PayloadContent content = content_of(type_key);
  return content == PayloadContent::relay_code || content == PayloadContent::relax_code;
}

// Returns DLPack's name of the device that runs the kernels of a key: "rocm" of "hsaco". Empty for other
// modules, and for devices that DLPack does not name.
std::string_view device_kind_of(const TypeKey& key);

// Returns the type key that modules of a key have in another generation: mostly the same. Empty if no
// release of that generation has such modules.
std::string_view type_key_in(Generation generation, std::string_view type_key);

// Returns "it runs on CUDA GPUs with cuBLAS, by a plugin of NVIDIA; gantry contains none".
std::string vendor_advice(const TypeKey& key);

// Returns the served keys that are other names of `key`, followed by those with a similar spelling;
// never `key` itself.
std::vector<std::string> near_keys(std::string_view key, const std::vector<std::string>& served);

// True for 1 to 256 printable ASCII characters.
bool is_type_key(std::string_view key);
// Returns the error of a text for which is_type_key() is false: malformed, reason BLOB_KEY.
//
// offset   offset of the key's length
// entry    index of the entry
Failure type_key_error(std::string_view key, std::uint64_t offset, std::uint64_t entry);

}  // namespace gantry
