// SPDX-License-Identifier: Apache-2.0
//
// Copies of a plugin's tables with every function set, so that callers need not check for NULL.
//
//     the plugin's table, struct_size bytes     the copy, of this core's size
//     [size|flags|destroy|call]                 [size|flags|destroy|call|later = stub]
//
// A function is absent if it is beyond the plugin's struct_size or NULL. An optional function that
// is absent is replaced by a stub that returns UNSUPPORTED with the function's name
// (`gantry.device/1.event_elapsed`). The caller adds the plugin to the error, because a stub only
// receives `self`. Some stubs do not fail: functions that free something do nothing, get_extension
// returns NULL; synchronize returns OK, because a device without streams completes all work before a
// call returns, and so do check of a generator and prepare of a module, which require nothing then.
// Functions without which the host does the same otherwise remain NULL: those of a device from `fill`
// on. The host asks for them before it calls them.
#pragma once

#include <gantry/generator.h>
#include <gantry/globals.h>
#include <gantry/model.h>
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
inline constexpr std::uint32_t kMinTableSize<gantry_module_table> = 64;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_function_table> = 24;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_device_table> = 232;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_globals> = 16;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_generator> = 16;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_model> = 32;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_executor_table> = 32;
// Records that a plugin fills. They grow like a table.
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_function_info> = 40;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_signature> = 32;
template <>
inline constexpr std::uint32_t kMinTableSize<gantry_parameter> = 72;

// A larger struct_size is rejected.
constexpr std::uint32_t kMaxTableSize = 64 * 1024;

// Copies and completes one table.
//
// table    [in]   of the plugin; untrusted, may be NULL, else at least 4 bytes are readable
// subject  [in]   owner of the table for messages: "plugin acme.npu 2.3.1"
// returns  a table in which every function is set; optional texts are "" instead of NULL
//          malformed  STRUCT_SIZE: the size is out of range; FUNCTION_MISSING: a required member is
//                     absent
// lifetime pointers in it are the plugin's, valid for the life of the process
// costs    a copy of at most the table's size
Result<gantry_plugin_table> copy_table(const gantry_plugin_table* table, std::string_view subject);
Result<gantry_loader_table> copy_table(const gantry_loader_table* table, std::string_view subject);
Result<gantry_module_table> copy_table(const gantry_module_table* table, std::string_view subject);
Result<gantry_function_table> copy_table(const gantry_function_table* table,
                                         std::string_view subject);
Result<gantry_device_table> copy_table(const gantry_device_table* table, std::string_view subject);
Result<gantry_globals> copy_table(const gantry_globals* table, std::string_view subject);
Result<gantry_generator> copy_table(const gantry_generator* table, std::string_view subject);
Result<gantry_model> copy_table(const gantry_model* table, std::string_view subject);
Result<gantry_executor_table> copy_table(const gantry_executor_table* table,
                                         std::string_view subject);
// Copies a record that a plugin passes. What it refers to is the plugin's, valid as long as the
// record; no text or list is at address 0.
//
// returns  malformed  STRUCT_SIZE; FUNCTION_MISSING: a text or list is at address 0 and not empty
Result<gantry_function_info> copy_record(const gantry_function_info* info,
                                         std::string_view subject);
Result<gantry_signature> copy_record(const gantry_signature* signature, std::string_view subject);
Result<gantry_parameter> copy_record(const gantry_parameter* parameter, std::string_view subject);

// Copies by the address of the original. Each is created once.
//
// thread   any; a look-up of an existing copy takes a shared lock
template <class Table>
class TableCopies {
 public:
  // returns  the copy, valid as long as this object
  Result<const Table*> get(const Table* table, std::string_view subject) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto at = copies_.find(table); at != copies_.end()) return at->second.get();
    }
    GANTRY_TRY(const Table copy, copy_table(table, subject));
    // made before it is entered: an entry without a table would be found by the next call
    auto kept = std::make_unique<const Table>(copy);
    const std::unique_lock lock(mutex_);
    return copies_.try_emplace(table, std::move(kept)).first->second.get();
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<const Table*, std::unique_ptr<const Table>> copies_;
};

}  // namespace gantry
