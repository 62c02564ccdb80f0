// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/module.hpp - a module of a loaded artifact.
#pragma once

#include <gantry/host.h>
#include <gantry/embed/function.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace gantry {
inline namespace embed_api {

class Module : public Object {
 public:
  Module() = default;
  // Precondition: `object` is a module.
  explicit Module(ObjectRef object) : Object(std::move(object)) {}

  // Looks a function up in this module, then in its imports.
  //
  // returns  NOT_FOUND  lists the modules that were searched and those without a plugin
  Result<Function> function(std::string_view name) const {
    GANTRY_TRY(ObjectRef found,
               embed_detail::made_object("find", [&](gantry_object** made, gantry_status* status) {
                 return embed_table().find(get(), GANTRY_FIND_SELF | GANTRY_FIND_IMPORTS,
                                           bytes_of(name), made, status);
               }));
    return Function(std::move(found));
  }

  // Returns the report "module": type_key, plugin, file, functions, imports, missing.
  Result<Any> report() const {
    GANTRY_TRY(Value tree,
               embed_detail::made_value("report", [&](gantry_value* made, gantry_status* status) {
                 return embed_table().report(get(), gantry_text("module"), made, status);
               }));
    return Any(std::move(tree));
  }
  Result<std::string> type_key() const {
    GANTRY_TRY(const Any tree, report());
    GANTRY_TRY(const Any key, tree.member("type_key"));
    return key.text();
  }
  // Returns the names that this module itself lists.
  Result<std::vector<std::string>> functions() const { return texts("functions"); }
  // Returns the full reason for each module of the tree that has no plugin.
  Result<std::vector<std::string>> missing() const { return texts("missing"); }
  Result<std::vector<Module>> imports() const {
    GANTRY_TRY(const Any tree, report());
    GANTRY_TRY(const Any list, tree.member("imports"));
    GANTRY_TRY(const std::vector<Any> items, list.items());
    std::vector<Module> all;
    for (const Any& item : items) {
      GANTRY_TRY(Module module, item.module());
      all.push_back(std::move(module));
    }
    return all;
  }

  // Binds modules that had no usable plugin when they were loaded and have one now.
  //
  // returns  as load(), if some are still missing; the others are bound
  Status bind_missing() const {
    return embed_detail::checked("module_bind_missing", [&](gantry_status* status) {
      return embed_table().module_bind_missing(get(), status);
    });
  }

 private:
  Result<std::vector<std::string>> texts(std::string_view name) const {
    GANTRY_TRY(const Any tree, report());
    GANTRY_TRY(const Any list, tree.member(name));
    return embed_detail::texts_in(list);
  }
};

inline Result<Module> Any::module() const {
  if (value().kind != GANTRY_MODULE) return wrong("a module");
  return Module(ObjectRef::share(value().object));
}

}  // namespace embed_api
}  // namespace gantry
