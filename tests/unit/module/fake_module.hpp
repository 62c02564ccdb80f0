// SPDX-License-Identifier: Apache-2.0
//
// A module in memory whose functions return numbers and which records the calls that it receives.
#pragma once

#include "core/engine/module/global_functions.hpp"
#include "core/engine/module/module_graph.hpp"
#include "tests/support/artifact.hpp"

#include <map>
#include <string>
#include <vector>

namespace gantry::test {

// The recorded events in order: "cuda asked f", "cuda destroyed", "pin 1 gone".
using Journal = std::vector<std::string>;

struct FakeModule {
  std::string name;
  std::map<std::string, std::int64_t> functions;
  Journal* journal = nullptr;
  // for every name
  gantry_code look_up_fails_with = GANTRY_OK;
};

struct FakeFunction {
  std::int64_t answer;
  std::string name;
  Journal* journal;
};

inline const gantry_function_table* fake_function_table() {
  static const gantry_function_table table{
      sizeof table, 0,
      [](void* self) {
        auto* function = static_cast<FakeFunction*>(self);
        if (function->journal) function->journal->push_back(function->name + " destroyed");
        delete function;
      },
      [](void* self, const gantry_env*, const gantry_value*, std::int32_t, gantry_value* result,
         gantry_status*) -> gantry_code {
        result->kind = GANTRY_INT;
        result->i = static_cast<FakeFunction*>(self)->answer;
        return GANTRY_OK;
      }};
  return &table;
}

inline const gantry_module_table* fake_module_table() {
  static const gantry_module_table table{
      sizeof table,
      0,
      "fake",
      [](void* self) {
        auto* module = static_cast<FakeModule*>(self);
        if (module->journal) module->journal->push_back(module->name + " destroyed");
        delete module;
      },
      [](void* self, gantry_bytes name, gantry_function* out,
         gantry_status* status) -> gantry_code {
        auto* module = static_cast<FakeModule*>(self);
        const std::string wanted(name.data, name.size);
        if (module->journal) module->journal->push_back(module->name + " asked " + wanted);
        if (module->look_up_fails_with) {
          return gantry_fail(status, module->look_up_fails_with, "FAKE", "the driver is gone");
        }
        const auto found = module->functions.find(wanted);
        if (found == module->functions.end()) return GANTRY_NOT_FOUND;
        *out = {new FakeFunction{found->second, module->name + "." + wanted, module->journal},
                fake_function_table()};
        return GANTRY_OK;
      },
      [](void* self, const gantry_visitor* visitor, gantry_status* status) -> gantry_code {
        for (const auto& [name, answer] : static_cast<FakeModule*>(self)->functions) {
          const gantry_function_info info{sizeof info, 0, {name.data(), name.size()}, {}};
          if (const gantry_code code = visitor->visit(visitor->self, &info, status)) return code;
        }
        return GANTRY_OK;
      },
      nullptr};
  return &table;
}

// A bound node at the location `module "name"`.
inline Ref<ModuleNode> fake_node(std::string name,
                                 std::map<std::string, std::int64_t> functions = {},
                                 Journal* journal = nullptr) {
  Ref<ModuleNode> node = named_node(name);
  const gantry_module pair{new FakeModule{std::move(name), std::move(functions), journal},
                           fake_module_table()};
  if (!bind(*node, pair).ok()) std::abort();
  return node;
}

inline FakeModule& fake_of(ModuleNode& node) { return *static_cast<FakeModule*>(node.self); }

// A global or module function; `self` is passed to it and not owned.
using PlainCall = gantry_code (*)(void* self, const gantry_env* env, const gantry_value* args,
                                  std::int32_t count, gantry_value* result, gantry_status* status);
inline Ref<FunctionObject> plain_function(const gantry_function_table& table, void* self = nullptr,
                                          Ref<ModuleNode> parent = {}) {
  return std::move(new_function({self, &table}, std::move(parent), 0)).value();
}

}  // namespace gantry::test
