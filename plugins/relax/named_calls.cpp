// SPDX-License-Identifier: Apache-2.0
#include "named_calls.hpp"

#include "error_kind.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/module.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace gantry::relax {
namespace {

// The host looks functions up from a module. This one has none itself.
class LookUpModule {
 public:
  static constexpr const char* type_name = "relax.look_up";
  struct NoFunction {
    Result<Value> call(const Call&) const { return Value(); }
  };
  std::map<std::string, NoFunction, std::less<>>& named_functions() { return none_; }

 private:
  std::map<std::string, NoFunction, std::less<>> none_;
};

}  // namespace

void CalledByName::add(std::string_view name, ObjectRef function) {
  const std::lock_guard lock(mutex_);
  // The replaced function is released after the lock.
  std::swap(functions_[std::string(name)], function);
}

void CalledByName::clear() {
  std::map<std::string, ObjectRef, std::less<>> released;
  const std::lock_guard lock(mutex_);
  std::swap(functions_, released);
}

Result<ObjectRef> CalledByName::find(std::string_view name) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  }
  return find_global(name);
}

Result<ObjectRef> CalledByName::find_global(std::string_view name) const {
  GANTRY_TRY(const Value module, new_module(host_, nullptr, std::make_unique<LookUpModule>()));
  return host_.find_optional(module.object(), GANTRY_FIND_GLOBALS, name);
}

namespace {

template <auto function>
Result<Value> with_kind_of_name(CalledByName& functions, const Call& call) {
  return with_kind(functions.host(), function(functions, call));
}

Result<ObjectRef> function_of(CalledByName& functions, std::string_view name) {
  GANTRY_TRY(ObjectRef function, functions.find(name));
  if (function) return function;
  return raise(functions.host(), "InternalError", "Python function '", name,
               "' not found in registry");
}

Result<Value> add_function(CalledByName& functions, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_TRY(gantry_object* const function, call.object(1, GANTRY_FUNCTION));
  functions.add(name, ObjectRef::share(function));
  return Value();
}

Result<Value> get_function(CalledByName& functions, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_TRY(ObjectRef function, function_of(functions, name));
  gantry_value value{};
  value.kind = GANTRY_FUNCTION;
  value.object = function.take();
  return Value::adopt(value);
}

Result<Value> clear_functions(CalledByName& functions, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  functions.clear();
  return Value();
}

// call_py_func((name, (args...)))
Result<Value> call_function(CalledByName& functions, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  const Host& host = functions.host();
  GANTRY_TRY(gantry_object* const pair, call.object(0, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, host.items(pair));
  const auto name = items.size() == 2 ? value_text(items[0]) : std::nullopt;
  if (!name || items[1].kind != GANTRY_ARRAY) {
    return raise(host, "InternalError",
                 "vm.builtin.call_py_func tuple should contain (func_name, args)");
  }
  GANTRY_TRY(const ObjectRef function, function_of(functions, *name));
  GANTRY_TRY(const auto args, host.items(items[1].object));
  return host.call(function.get(), call.env, args);
}

// invoke_debug_func(effect, name, line, args...)
Result<Value> invoke_debug_function(CalledByName& functions, const Call& call) {
  if (call.args.size() < 3) return call.wrong(call.args.size(), "a name and a line");
  const Host& host = functions.host();
  if (call.args[0].kind != GANTRY_NONE) {
    return raise(host, "ValueError", call.usage, ": argument 0 (effect) is ",
                 kind_text(call.args[0].kind), ", expected none");
  }
  GANTRY_TRY(const std::string_view name, call.text(1));
  GANTRY_TRY(const ObjectRef function, functions.find_global(name));
  if (!function) {
    return raise(host, "ValueError", name,
                 " is not found: add a function of this name to the runtime");
  }
  GANTRY_CHECK(host.call(function.get(), call.env, call.args.subspan(2)));
  return Value();
}

constexpr NamedCallFunction named_call_rows[] = {
    {"vm.builtin.call_py_func", "call_py_func((name, args))", with_kind_of_name<call_function>},
    {"vm.builtin.clear_py_func_registry", "clear_py_func_registry()",
     with_kind_of_name<clear_functions>},
    {"vm.builtin.get_py_func", "get_py_func(name)", with_kind_of_name<get_function>},
    {"vm.builtin.invoke_debug_func", "invoke_debug_func(effect, name, line, ...)",
     with_kind_of_name<invoke_debug_function>},
    {"vm.builtin.register_py_func", "register_py_func(name, function)",
     with_kind_of_name<add_function>},
};

}  // namespace

std::span<const NamedCallFunction> named_call_functions() { return named_call_rows; }

}  // namespace gantry::relax
