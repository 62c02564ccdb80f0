// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/module_graph.hpp"

#include "core/base/process_end.hpp"
#include "core/base/thread_end.hpp"
#include "core/engine/module/global_functions.hpp"
#include "core/engine/module/unbound.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/plugins/library/table_copy.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/function_advice.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <unordered_set>

namespace gantry {
namespace {

// The maximum number of functions, of modules and of reasons that a not-found error lists.
constexpr std::size_t kMaxNames = 8;

// Visits every node below `root` once, depth first, imports in order, without recursion.
//
// visit    [in]   called with each node but root; returns true to stop
template <class Visit>
void walk_imports(ModuleNode& root, Visit visit) {
  struct Step {
    ModuleNode* node;
    // index of the next import
    std::size_t next;
  };
  std::unordered_set<const ModuleNode*> seen{&root};
  std::vector<Step> path{{&root, 0}};
  while (!path.empty()) {
    Step& step = path.back();
    if (step.next == step.node->imports.size()) {
      path.pop_back();
      continue;
    }
    ModuleNode* import = step.node->imports[step.next++].get();
    if (!seen.insert(import).second) continue;
    if (visit(*import)) return;
    path.push_back({import, 0});
  }
}

// Looks up a function in one bound node. NULL with OK: the node has no such function.
Result<Ref<FunctionObject>> find_in(ModuleNode& node, const gantry_module_table& table,
                                    std::string_view name) {
  if (!may_call(node)) return process_end_error(concat("get_function of ", described(node)));
  StatusBuffer buffer;
  gantry_function function{};
  const auto owner = [&] { return described(node); };
  const gantry_code code =
      call_plugin(buffer, "get_function", node.plugin, owner, [&](gantry_status* status) {
        return table.get_function(node.self, {name.data(), name.size()}, &function, status);
      });
  if (code == GANTRY_NOT_FOUND) return Ref<FunctionObject>();
  if (code != GANTRY_OK) {
    Error error = buffer.error(code, concat("get_function of ", described(node)));
    if (function.table != nullptr || function.self != nullptr) {
      error.at("get_function of ", described(node), " writes a function although it fails");
    }
    return std::move(error.at("while looking up ", quoted(name), " in ", location_of(node)));
  }
  const auto subject = [&] { return concat("get_function of ", described(node)); };
  return adopt_function(function, subject, name, Ref<ModuleNode>::share(&node), node.device_type,
                        node.artifact->trace);
}

// Looks up a function. NULL with OK: no module has it.
//
// passed_by  [out]  number of modules that are not bound and therefore were not searched
Result<Ref<FunctionObject>> search(ModuleNode& module, std::uint32_t where, std::string_view name,
                                   std::size_t& passed_by) {
  Result<Ref<FunctionObject>> found = Ref<FunctionObject>();
  const auto settles = [&](ModuleNode& node) {
    const auto* table = node.table.load(std::memory_order_acquire);
    if (table == nullptr) {
      ++passed_by;
      return false;
    }
    found = find_in(node, *table, name);
    return !found.ok() || *found;
  };
  if ((where & GANTRY_FIND_SELF) && settles(module)) return found;
  if ((where & GANTRY_FIND_IMPORTS) && !module.imports.empty()) {
    walk_imports(module, settles);
    if (!found.ok() || *found) return found;
  }
  if ((where & GANTRY_FIND_GLOBALS) && module.artifact->globals) {
    found = module.artifact->globals->find(name);
    if (!*found) found = module.artifact->globals->find_offered(name);
  }
  return found;
}

// Returns an error that lists the modules that were searched and those that are not bound.
//
// unbound_count  [out]  number of modules that are not bound now
Failure not_found_error(ModuleNode& module, std::uint32_t where, std::string_view name,
                        std::size_t& unbound_count) {
  std::vector<std::string> bound;
  std::vector<const ModuleNode*> unbound;
  const auto sort_in = [&](ModuleNode& node) {
    if (is_unbound(node)) {
      unbound.push_back(&node);
    } else {
      bound.push_back(location_of(node));
    }
    return false;
  };
  if (where & GANTRY_FIND_SELF) sort_in(module);
  if (where & GANTRY_FIND_IMPORTS) walk_imports(module, sort_in);
  if ((where & GANTRY_FIND_GLOBALS) && module.artifact->globals)
    bound.push_back("the global functions");

  Message text("function ", quoted(name), " not found");
  if (!bound.empty()) text.append({"; looked in ", join(bound, ", ", {}, kMaxNames)});
  if (where & GANTRY_FIND_SELF) {
    if (const auto names = list_functions(module); names.ok() && !names->empty()) {
      text.append({"; ", location_of(module), " has ", join(*names, ", ", in_quotes, kMaxNames)});
    }
  }
  for (std::size_t i = 0; i < std::min(unbound.size(), kMaxNames); ++i) {
    text.append({"; not looked in: ", unbound_error(*unbound[i]).error().message});
  }
  if (unbound.size() > kMaxNames) {
    text.append({"; ", unbound.size() - kMaxNames, " more modules are not bound"});
  }
  unbound_count = unbound.size();
  Failure error = not_found(text);
  if ((where & GANTRY_FIND_GLOBALS) != 0 && known_advice(name) != nullptr)
    error = with_advice(std::move(error), std::span(&name, 1));
  return unbound.empty() ? std::move(error) : std::move(error).with_reason("MODULE_UNBOUND");
}

// Releases the result of a failed call and sets it to none. Returns true if it was not none.
bool clear_result(gantry_value* result) {
  const bool wrote = result->kind != GANTRY_NONE;
  if (holds_object(*result) && is_result(*result)) gantry_release(result->object);
  *result = gantry_value{};
  return wrote;
}

// Returns the text of a failure; empty if the caller has no room for one.
std::string_view text_of(const gantry_status& status) {
  if (status.text == nullptr || status.text_capacity == 0) return {};
  return {status.text, std::min<std::size_t>(status.text_size, status.text_capacity - 1)};
}

// Completes the status of a call that failed, so that it has a code of the ABI and a text of UTF-8.
gantry_code failed(FunctionObject& function, gantry_code code, gantry_value* result,
                   gantry_status* status) {
  const bool wrote = clear_result(result);
  const bool known = is_failure_code(code);
  const gantry_code reported = known ? code : GANTRY_BUG;
  if (status == nullptr) return reported;

  // Only a defect of the callee requires its name, which takes allocations.
  const auto callee = [&] { return described(function); };
  if (status->code == GANTRY_OK || (status->text != nullptr && status->text_size == 0)) {
    const Message text(callee(), " fails with code ", code, " and without a text");
    gantry_object* const raised = status->error;
    gantry_fail(status, reported, known ? "" : "STATUS_CODE", text.c_str());
    status->error = raised;
  } else {
    // The callers of the caller would report the text as that of their callee.
    if (const std::string_view text = text_of(*status); !is_utf8(text))
      to_status(error_of(*status, text, reported, callee()), status);
    if (!known) {
      gantry_status_add(
          status, Message()
                      .at(callee(), " fails with code ", code, ", which is not a code of the ABI")
                      .c_str());
    }
  }
  status->code = reported;
  if (wrote)
    gantry_status_add(status, Message().at(callee(), " writes a result although it fails").c_str());
  return reported;
}

gantry_code refuse_result(FunctionObject& function, gantry_value* result, gantry_status* status) {
  const bool is_object = holds_object(*result);
  const Error error =
      bug(described(function), is_object ? " returns an object" : " returns a value", " of kind ",
          result->kind, is_object ? " at address 0" : ", which is not a kind of result")
          .with_reason("RESULT_KIND");
  *result = gantry_value{};
  return to_status(error, status);
}

}  // namespace

std::vector<ModuleNode*> reachable(ModuleNode& root) {
  std::vector<ModuleNode*> all{&root};
  walk_imports(root, [&](ModuleNode& node) {
    all.push_back(&node);
    return false;
  });
  return all;
}

Result<Ref<FunctionObject>> find_function(ModuleNode& module, std::uint32_t where,
                                          std::string_view name) {
  // Another thread may bind a module between the look-up and the error, and that module may have
  // the function. The search is then repeated, at most once for each module that is bound
  // meanwhile.
  for (;;) {
    std::size_t passed_by = 0;
    Result<Ref<FunctionObject>> found = search(module, where, name, passed_by);
    if (!found.ok() || *found) return found;
    std::size_t unbound = 0;
    Error error = not_found_error(module, where, name, unbound);
    if (unbound >= passed_by) return error;
  }
}

Result<Ref<FunctionObject>> find_optional_function(ModuleNode& module, std::uint32_t where,
                                                   std::string_view name) {
  std::size_t passed_by = 0;
  return search(module, where, name, passed_by);
}

Result<std::vector<std::string>> list_functions(ModuleNode& module) {
  const auto* table = module.table.load(std::memory_order_acquire);
  if (table == nullptr) return std::vector<std::string>();
  struct List {
    std::string subject;
    std::vector<std::string> names;
    // The first error of a record. The module may ignore the visitor's error and continue.
    Status taken;
  };
  List list{concat("list_functions of ", described(module)), {}, {}};
  const gantry_visitor visitor{
      sizeof visitor, 0, &list,
      [](void* self, const gantry_function_info* info, gantry_status* status) -> gantry_code {
        return abi_boundary(status, [&]() -> Status {
          List& into = *static_cast<List*>(self);
          const auto copy = copy_record(info, into.subject);
          if (copy.ok()) {
            into.names.emplace_back(copy->name.data, copy->name.size);
          } else if (into.taken.ok()) {
            into.taken = copy.error();
          }
          return into.taken;
        });
      }};
  if (!may_call(module)) return process_end_error(list.subject);
  StatusBuffer buffer;
  const gantry_code code = buffer.call(
      [&](gantry_status* status) { return table->list_functions(module.self, &visitor, status); });
  if (!list.taken.ok()) {
    return Error(list.taken.error()).at("while listing the functions of ", location_of(module));
  }
  if (code == GANTRY_UNSUPPORTED) return std::vector<std::string>();
  if (code != GANTRY_OK) {
    return buffer.error(code, list.subject)
        .at("while listing the functions of ", location_of(module));
  }
  return std::move(list.names);
}

gantry_code detail::ended_badly(FunctionObject& function, gantry_code code, gantry_value* result,
                                gantry_status* status) {
  return abi_boundary(status, [&] {
    return code != GANTRY_OK ? failed(function, code, result, status)
                             : refuse_result(function, result, status);
  });
}

gantry_code detail::thrown(FunctionObject& function, gantry_value* result, gantry_status* status) {
  const Error error = error_in_flight();
  return abi_boundary(status, [&]() -> Status {
    clear_result(result);
    return bug(described(function), " throws: ", error.message).with_reason("EXCEPTION");
  });
}

gantry_code detail::refuse_at_end(FunctionObject& function, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status { return process_end_error(described(function)); });
}

gantry_code call(FunctionObject& function, const gantry_env* env, const gantry_value* args,
                 std::int32_t count, gantry_value* result, gantry_status* status) {
  *result = gantry_value{};
  if (status != nullptr) {
    status->code = GANTRY_OK;
    status->text_size = 0;
    status->error = nullptr;
  }
  return call_prepared(function, env ? *env : function.env, args, count, result, status);
}

Result<Value> call(FunctionObject& function, const gantry_env* env,
                   std::span<const gantry_value> args) {
  Result<Value> result{Value()};
  if (args.size() > INT32_MAX) [[unlikely]] {
    result = invalid("a call has ", args.size(), " arguments, maximum is ", INT32_MAX);
  } else {
    StatusBuffer buffer;
    const gantry_code code =
        call(function, env, args.data(), static_cast<std::int32_t>(args.size()), result->slot(),
             buffer.get());
    if (code != GANTRY_OK) [[unlikely]]
      result = buffer.error(code, described(function));
  }
  return result;
}

}  // namespace gantry
