// SPDX-License-Identifier: Apache-2.0
//
// Which plugin would serve a type key, by the manifests that are installed. Opens no plugin.
#pragma once

#include "tools/gantry/command.hpp"

#include "core/blob/payload_layout.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace gantry::cli {

class InstalledPlugins {
 public:
  explicit InstalledPlugins(const Globals& globals);

  // Those that the core knows and those that manifests declare.
  const PayloadLayouts& layouts() const { return layouts_; }
  std::optional<std::string> serving(std::string_view type_key) const;

 private:
  PayloadLayouts layouts_;
};

}  // namespace gantry::cli
