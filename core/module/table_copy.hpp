// SPDX-License-Identifier: Apache-2.0
//
// A plugin's tables, copied once into zeroed ones of our own, so that every place can be called.
//
//     the plugin's, as long as it was built     ours, as long as we know
//     [size|flags|destroy|call]                 [size|flags|destroy|call|later = stub]
//
// What lies beyond the plugin's struct_size is absent, and so is a NULL. Where the ABI lets a place
// be empty, a stub stands there: it returns UNSUPPORTED and names the function,
// `gantry.device/1.event_elapsed`. It cannot name the plugin, for all it is given is `self`;
// whoever called it can, and adds a line of place. Three kinds of places get quieter stubs: what
// only frees does nothing, get_extension knows nothing, and synchronize returns OK, because a
// device without streams has finished whenever a call returns.
#pragma once

#include <gantry/globals.h>
#include <gantry/plugin.h>
#include <gantry/result.hpp>

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace gantry {

// Sizes of ABI 1.0 in bytes. Frozen: tables only grow.
template <class Table>
inline constexpr std::uint32_t kMinTableSize = 0;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_plugin_table> = 112;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_loader_table> = 40;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_module_table> = 48;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_function_table> = 24;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_device_table> = 160;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_globals> = 16;
// A record that a plugin fills, which grows by the same rule.
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_function_info> = 40;

// Nothing that will ever be a table is longer; a size beyond is no size.
constexpr std::uint32_t kMaxTableSize = 64 * 1024;

// Copies and completes one table.
//
// table    [in]   the plugin's; may be NULL or anything that a broken plugin hands over, but
//                 readable for 4 bytes
// subject  [in]   whose table, for messages: "plugin acme.npu 2.3.1"
// returns  a table of our size with every place filled; texts that may be absent are "" instead of
//          NULL malformed, reason STRUCT_SIZE: table, size seen, least size; FUNCTION_MISSING: the
//          empty place by name
// lifetime pointers in it are the plugin's, static for the life of the process
// costs    a copy of at most the table's size
Result<gantry_plugin_table> copy_table(const gantry_plugin_table* table, std::string_view subject);
Result<gantry_loader_table> copy_table(const gantry_loader_table* table, std::string_view subject);
Result<gantry_module_table> copy_table(const gantry_module_table* table, std::string_view subject);
Result<gantry_function_table> copy_table(const gantry_function_table* table,
                                         std::string_view subject);
Result<gantry_device_table> copy_table(const gantry_device_table* table, std::string_view subject);
Result<gantry_globals> copy_table(const gantry_globals* table, std::string_view subject);
// What list_functions gives to its visitor; its texts are the plugin's, valid as long as the
// record.
Result<gantry_function_info> copy_record(const gantry_function_info* info,
                                         std::string_view subject);

// Copies by the address of the original, each made once.
// thread   any; a hit takes a shared lock
template <class Table>
class TableCopies {
 public:
  // returns  our copy, at one address for the life of this object
  Result<const Table*> get(const Table* table, std::string_view subject) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto at = copies_.find(table); at != copies_.end()) return at->second.get();
    }
    GANTRY_TRY(const Table copy, copy_table(table, subject));
    const std::unique_lock lock(mutex_);
    auto& location = copies_[table];
    if (!location) location = std::make_unique<const Table>(copy);
    return location.get();
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const Table*, std::unique_ptr<const Table>> copies_;
};

}  // namespace gantry
