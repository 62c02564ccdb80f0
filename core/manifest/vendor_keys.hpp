// SPDX-License-Identifier: Apache-2.0
//
// Type keys whose modules are for the device or library of a vendor, which has a plugin for them;
// gantry contains none. Their payloads are listed and written back (core/format/payload_table.cpp).
// gantry.dnnl runs the sub-graphs of some on the CPU (plugins/dnnl/vendors.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gantry {

struct VendorKey {
  std::string_view key;
  std::string_view vendor;
  // what the modules run on: "CUDA GPUs with cuBLAS"
  std::string_view device;
};
std::span<const VendorKey> vendor_keys();
// Returns NULL for other keys.
const VendorKey* find_vendor_key(std::string_view key);

// Returns "it runs on CUDA GPUs with cuBLAS, by a plugin of NVIDIA; gantry contains none".
std::string vendor_advice(const VendorKey& key);

}  // namespace gantry
