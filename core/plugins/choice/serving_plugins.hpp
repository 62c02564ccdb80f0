// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plugins/choice/plugin_set.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {

// The plugins that serve the type keys of a file, for reports.
class ServingPlugins {
 public:
  // plugins  [in]   must outlive this object
  explicit ServingPlugins(PluginSet& plugins) : plugins_(plugins) {}

  // Returns the id of the first plugin for a type key that can be opened according to its manifest
  // and its library; nullopt if there is none. Opens no plugin.
  std::optional<std::string> id_for(std::string_view type_key);
  // Returns the id of the plugin whose manifest offers a function to compiled code; nullopt if there is
  // none.
  std::optional<std::string> id_for_function(std::string_view name) const;

 private:
  PluginSet& plugins_;
  // id by type key, of earlier calls
  std::map<std::string, std::string, std::less<>> known_;
};

}  // namespace gantry
