// SPDX-License-Identifier: Apache-2.0
//
// Which plugin would serve a type key, according to the manifests and libraries that are installed.
// Opens no plugin.
#pragma once

#include "core/format/payload_layout.hpp"
#include "core/manifest/candidate.hpp"
#include "core/runtime/runtime.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

class InstalledPlugins {
 public:
  explicit InstalledPlugins(Runtime runtime) : runtime_(std::move(runtime)) {}

  // The built-in ones and those that manifests declare.
  const PayloadLayouts& layouts() const;
  // The id of the first choice that could be opened, as far as its manifest and its own library
  // show; nothing where there is none. Doctor also checks what the library needs.
  std::optional<std::string> serving(std::string_view type_key);

 private:
  Runtime runtime_;
  // id by type key, of earlier calls
  std::map<std::string, std::string, std::less<>> serving_;
};

}  // namespace gantry::cli
