// SPDX-License-Identifier: Apache-2.0
//
// An opened plugin: inspected, mapped for the life of the process, queried, its ABI negotiated and
// its tables copied.
//
//     manifest  ->  inspect.hpp (no code runs)  ->  dlopen  ->  gantry_plugin_query_v1  ->  tables
//
// Creating it (table.create(host)) is left to core/engine/runtime, which provides the host table.
#pragma once

#include "core/base/mapped_file.hpp"
#include "core/plugins/library/inspect.hpp"
#include "core/plugins/library/opened_plugins.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// Limits of a plugin's tables; larger counts are rejected.
constexpr std::uint32_t kMaxLoaders = 256;
constexpr std::uint32_t kMaxDevices = 64;
constexpr std::size_t kMaxLengthTypeKey = 256;

// The checked tables of a plugin. Immutable; its pointers are valid as long as the process.
struct LoadedPlugin {
  std::string id;
  Version version;
  // path; empty for a plugin of the program
  std::string library;
  // of the mapped file; zero for a plugin of the program
  FileIdentity identity;
  // negotiated
  std::uint32_t abi_minor = 0;
  gantry_plugin_table table{};
  // in the plugin's order; their addresses are stable
  std::vector<gantry_loader_table> loaders;
  std::vector<gantry_device_table> devices;
  std::vector<Message> warnings;

  // Returns the loader of a type key, or NULL. Aliases are resolved by Manifest::key_for().
  const gantry_loader_table* loader(std::string_view type_key) const;
  const gantry_device_table* device(std::string_view name) const;
};

// Opens the library of a manifest that has passed inspect_plugin(). The library is never unmapped.
// If dlopen() fails, the dependencies are inspected to explain the failure. dlopen() runs the
// library's constructors, which must not throw, because the linker cannot be unwound. What these
// and the query change of a ProcessState is restored, and is a warning of the plugin.
//
// inspection [in] of that manifest; the mapped file must be the inspected one
// core       [in] ABI range and version of this core; passed to the plugin
// opened     [in] where the plugin is listed once it is mapped; NULL: nowhere
// mapped     [in] called when the constructors have run, before the query; may be empty
// returns  an Error with a reason of D2xx or D3xx: those of inspect_plugin(); LINKER,
//          SYMBOL_MISSING, STATIC_TLS, VERSION_NEEDED (from the linker's message),
//          REPLACED_DURING_LOAD, QUERY_FAILED, STRUCT_SIZE, FUNCTION_MISSING, ABI_RANGE,
//          ID_MISMATCH, VERSION_MISMATCH, ABI_MISMATCH, TABLE_LIMIT, KEY_DUPLICATE,
//          KEY_NOT_OFFERED, DEVICE_MISMATCH; of `opened` RESTART_NEEDED, STALE_MAPPED
// thread   one at a time for each runtime (the load lock); different runtimes in parallel
Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const Inspection& inspection,
                                                        const gantry_host_info& core,
                                                        OpenedPlugins* opened = nullptr,
                                                        const std::function<void()>& mapped = {});
// Inspects the manifest's library first.
Result<std::shared_ptr<const LoadedPlugin>> open_plugin(const Manifest& manifest,
                                                        const gantry_host_info& core);

// Reads the table of a plugin that is part of the program.
//
// query    [in]   its gantry_plugin_query_v1
Result<std::shared_ptr<const LoadedPlugin>> adopt_plugin(decltype(&gantry_plugin_query_v1) query,
                                                         const gantry_host_info& core);

// Returns a manifest for the table of a program's plugin, so that it can be a candidate.
Manifest manifest_of(const LoadedPlugin& plugin);

}  // namespace gantry
