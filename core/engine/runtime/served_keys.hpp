// SPDX-License-Identifier: Apache-2.0
//
// The type keys of a file that is being loaded, and the plugin that serves each.
//
//     entries by type key -> candidates by their manifests -> opened plugins, or one error for all
//                                                             keys without a usable plugin
#pragma once

#include "core/engine/runtime/default_devices.hpp"
#include "core/engine/runtime/options.hpp"
#include "core/engine/runtime/payload.hpp"
#include "core/plugins/choice/explain.hpp"

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

// The common data of all entries of one type key.
struct ServedKey {
  // from the container; empty: unknown, after a payload of unknown length
  std::string_view name;
  // indices
  std::vector<std::size_t> entries;
  // NULL: CPU code, or no plugin serves it
  std::shared_ptr<const ActivePlugin> server;
  // why no plugin serves it, full text; empty: one does
  std::string missing;
  // The error of the plugin or of the search, of kernels that no plugin serves until the load decides
  // whether it needs them.
  std::optional<Error> undecided;
  // created for the first payload
  std::optional<PayloadLoader> loader;
  // by the table of type keys
  bool are_kernels = false;
};

// Returns the modules of the file that require a key, for messages.
Requirement requirement_of(const ServedKey& key, std::string_view file_name);

class ServedKeys {
 public:
  // artifact   [in]   its container is read; must outlive this object
  explicit ServedKeys(const Artifact& artifact);

  // Opens the plugin of every type key.
  //
  // options  [in]   allow_missing sets `missing` of each key that no usable plugin serves, instead of
  //                 failing; strict leaves no key undecided
  // returns  unavailable, reason NO_PLUGIN, listing all such keys; the error of a plugin that
  //          cannot be created. Not for kernels: decide_kernels() must follow
  Status find_servers(const RuntimeState& state, const LoadPermissions& options);

  // True if decide_kernels() has something to decide.
  bool has_undecided() const;
  // Sets `missing` of the kernels without a plugin that run on none of these devices.
  //
  // returns  as find_servers(), listing the others
  Status decide_kernels(const RuntimeState& state, const UsedDevices& used);

  std::span<const ServedKey> all() const { return keys_; }
  ServedKey& of(std::size_t entry) { return keys_[key_of_[entry]]; }

 private:
  Status check(const RuntimeState& state, const std::vector<ServedKey*>& wanted) const;
  Status check_all(const RuntimeState& state, const std::vector<ServedKey*>& wanted) const;

  std::string_view file_name_;
  std::vector<ServedKey> keys_;
  // index into keys_ for each entry
  std::vector<std::uint32_t> key_of_;
};

}  // namespace gantry
