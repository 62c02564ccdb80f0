// SPDX-License-Identifier: Apache-2.0
//
// The payload layouts that manifests declare, found when a container asks for them.
#pragma once

#include "core/format/payload_layout.hpp"
#include "core/plugin/plugin_set.hpp"

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

class DeclaredLayouts {
 public:
  // plugins  [in]   borrowed
  // built_in [in]   what needs no manifest: they alias such keys
  DeclaredLayouts(const PluginSet& plugins, PayloadLayouts built_in)
      : plugins_(plugins), built_in_(std::move(built_in)) {}

  // Empty where no manifest declares one. Layouts of plugins that cannot be used here count too: how a payload is
  // written does not depend on who can run it. Where a usable plugin offers the key, its own manifest decides.
  //
  // lifetime as long as this
  // thread   any
  std::span<const PayloadLayout> of(std::string_view type_key);

 private:
  using Candidates = std::map<std::size_t, Candidate>;
  Candidates candidates_for(std::string_view type_key) const;
  Candidates all_candidates() const;
  PayloadLayouts layouts_of(const Candidates& candidates) const;

  const PluginSet& plugins_;
  const PayloadLayouts built_in_;
  std::mutex mutex_;
  // by key, as asked before; never changed
  std::map<std::string, std::vector<PayloadLayout>, std::less<>> known_;
  // known_ holds every key that a manifest declares
  bool complete_ = false;
};

}  // namespace gantry
