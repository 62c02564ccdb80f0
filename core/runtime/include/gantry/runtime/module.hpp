// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/function.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A module of a loaded artifact, or one that a function made (an executor).
class GANTRY_EXPORT Module : public Object {
 public:
  Module() = default;
  // precondition: a module
  explicit Module(Object object) : Object(std::move(object)) {}

  std::string type_key() const;
  std::vector<Module> imports() const;
  // Looks in this module, then in its imports.
  //
  // returns  not_found: names the modules that were searched, and those without a plugin
  Result<Function> function(std::string_view name) const;
  // The names that this module itself lists.
  Result<std::vector<std::string>> functions() const;
  // Modules of the tree without a plugin (only after allow_missing), each with the reason in full.
  std::vector<std::string> missing() const;
};

}  // namespace gantry
