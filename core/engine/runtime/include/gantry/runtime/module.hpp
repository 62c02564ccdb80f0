// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gantry/result.hpp>
#include <gantry/runtime/function.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A module of a loaded artifact, or one that a function created (an executor).
class Module : public Object {
 public:
  Module() = default;
  // Precondition: `object` is a module.
  explicit Module(Object object) : Object(std::move(object)) {}

  std::string type_key() const;
  std::vector<Module> imports() const;
  // Looks a function up in this module, then in its imports.
  //
  // returns  not_found: lists the modules that were searched and those without a plugin
  Result<Function> function(std::string_view name) const;
  // Returns the names that this module itself lists.
  Result<std::vector<std::string>> functions() const;
  // Returns the full reason for each module of the tree that has no plugin, and for the host code
  // that a bare container lacks. Else empty, unless the file was loaded with allow_missing.
  std::vector<std::string> missing() const;
};

}  // namespace gantry
