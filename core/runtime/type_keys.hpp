// SPDX-License-Identifier: Apache-2.0
//
// The type keys of a file that is being loaded, and the plugin that serves each.
//
//     entries by type key -> candidates by their manifests -> plugins opened, or one error that
//     lists
//                                                             every key without a usable plugin
#pragma once

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

// What all entries of one type key have in common.
struct TypeKey {
  // the container's; empty: behind a payload of unknown length
  std::string_view name;
  // by index
  std::vector<std::size_t> entries;
  // NULL: host code, or missing
  std::shared_ptr<const ActivePlugin> server;
  // why no plugin serves it, in full; empty: one does
  std::string missing;
  // made for the first payload
  std::optional<PayloadLoader> loader;
};

class TypeKeys {
 public:
  // artifact   [in]   whose container is read; outlives this
  explicit TypeKeys(const Artifact& artifact);

  // Opens the plugin of every type key.
  //
  // allow_missing  [in]   sets `missing` of each key that no usable plugin serves, instead of
  //                       failing
  // returns        unavailable, reason NO_PLUGIN, listing all such keys; the error of a plugin that
  //                cannot be created
  Status find_servers(const RuntimeState& state, bool allow_missing);

  std::span<const TypeKey> all() const { return keys_; }
  TypeKey& of(std::size_t entry) { return keys_[key_of_[entry]]; }

 private:
  Status check_served(const RuntimeState& state, const std::vector<TypeKey*>& wanted) const;

  std::string_view file_name_;
  std::vector<TypeKey> keys_;
  // by entry, into keys_
  std::vector<std::uint32_t> key_of_;
};

}  // namespace gantry
