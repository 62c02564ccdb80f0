// SPDX-License-Identifier: Apache-2.0
//
// One plugin, opened: inspected, mapped for good, asked for its table, negotiated with, its tables copied.
//
//     manifest (a claim)  ->  inspect.hpp (no code runs)  ->  dlopen  ->  gantry_plugin_query_v1  ->  tables
//
// Creating it (table.create(host)) is core/runtime's: it lends the host table.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/manifest/manifest.hpp"
#include "core/plugin/inspect.hpp"

#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// More than any plugin has; a count beyond is no count.
constexpr std::uint32_t kMaxLoaders = 256;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxLengthTypeKey = 256;

// What a plugin offers, complete and checked. Immutable; the pointers in it live as long as the process.
struct LoadedPlugin {
  std::string id;
  Version version;
  // path; empty: a table that the program gave
  std::string library;
  // of the mapped file; zero for the program's
  FileIdentity identity;
  // negotiated
  std::uint32_t abi_minor = 0;
  gantry_plugin_table table{};
  // as offered; their addresses are stable
  std::vector<gantry_loader_table> loaders;
  std::vector<gantry_device_table> devices;
  std::vector<std::string> warnings;

  // The loader of a type key as the plugin itself names it (aliases: Manifest::key_for), or NULL.
  const gantry_loader_table* loader(std::string_view type_key) const;
  const gantry_device_table* device(std::string_view name) const;
};

// Opens the library of a manifest, which inspect_plugin() has found right. It is never unmapped.
//
// inspection [in] of that manifest; the file that is mapped must be the one that was looked at
// core     [in]   what this core is: ABI range and version; passed to the plugin
// returns  an Error with a reason of D2xx or D3xx: LINKER, SYMBOL_MISSING, STATIC_TLS, VERSION_NEEDED (the linker's own words, classified),
//          REPLACED_DURING_LOAD, QUERY_FAILED, STRUCT_SIZE, FUNCTION_MISSING, ABI_RANGE, ID_MISMATCH,
//          VERSION_MISMATCH, ABI_MISMATCH, TABLE_LIMIT, KEY_DUPLICATE, KEY_NOT_OFFERED
// thread   one at a time for each runtime (the load lock); different runtimes in parallel
// costs    dlopen runs the library's constructors, which must not throw: the linker cannot be unwound
Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const Inspection& inspection,
                                                        const gantry_host_info& core);
// Inspects before.
Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const gantry_host_info& core);

// The same from the table on, for a plugin that is part of the program.
//
// query    [in]   its gantry_plugin_query_v1
Result<std::shared_ptr<const LoadedPlugin>> adopt_plugin(decltype(&gantry_plugin_query_v1) query,
                                                         const gantry_host_info& core);

// What the program's plugin says about itself in a manifest's words, so that it can be a candidate.
Manifest manifest_of(const LoadedPlugin& plugin);

}  // namespace gantry
