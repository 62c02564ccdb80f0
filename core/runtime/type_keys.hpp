// SPDX-License-Identifier: Apache-2.0
//
// The type keys of a file on its way in, and who serves each.
//
//     entries by type key -> plugins asked what they offer -> plugins opened, or one error for all that nobody serves
#pragma once

#include "core/format/container.hpp"
#include "core/runtime/payload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

struct RuntimeState;

// The end of the place of every module of a key, for messages: " \"cuda\" of model.so".
std::string location_end_of(std::string_view key, std::string_view file_name);
// "module 3 \"cuda\" of model.so"
std::string location_of_entry(std::size_t index, std::string_view location_end);

// What all entries of one type key have in common.
struct TypeKey {
  // the container's; empty: lost behind a payload that nobody can measure
  std::string_view name;
  // see place_end_of()
  std::string location_end;
  // by index
  std::vector<std::size_t> entries;
  // NULL: host code, or missing
  std::shared_ptr<const ActivePlugin> server;
  // why nobody serves it, in full; empty: somebody does
  std::string missing;
  // made for the first payload
  std::optional<PayloadLoader> loader;
};

class TypeKeys {
 public:
  // container  [in]   borrowed: its names are used
  // file_name  [in]   for messages
  TypeKeys(const Container& container, std::string file_name);

  // Opens the plugin of every type key, and tells of all that nobody serves at once.
  //
  // allow_missing  [in]   a key that nobody serves says so in `missing` instead
  // returns        unavailable, reason NO_PLUGIN; what a plugin says that is created
  Status find_servers(const RuntimeState& state, bool allow_missing);

  std::span<const TypeKey> all() const { return keys_; }
  TypeKey& of(std::size_t entry) { return keys_[key_of_[entry]]; }

 private:
  Status check_served(const RuntimeState& state, const std::vector<TypeKey*>& wanted) const;

  std::string file_name_;
  std::vector<TypeKey> keys_;
  // by entry, into keys_
  std::vector<std::uint32_t> key_of_;
};

}  // namespace gantry
