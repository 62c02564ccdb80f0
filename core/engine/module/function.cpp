// SPDX-License-Identifier: Apache-2.0
#include "core/engine/module/function.hpp"

#include "core/base/call_destroy.hpp"
#include "core/base/process_end.hpp"
#include "core/base/trace/span.hpp"
#include "core/engine/module/module.hpp"
#include "core/engine/module/trace_arguments.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {
namespace {

struct TracedFunction {
  // owned
  gantry_function target;
  std::string name;
  TraceRecorder* recorder;
};

void destroy(void* self) {
  const std::unique_ptr<TracedFunction> traced(static_cast<TracedFunction*>(self));
  destroy_target(traced->target);
}

// The span also ends if the callee violates the ABI and throws.
gantry_code call(void* self, const gantry_env* env, const gantry_value* args, std::int32_t count,
                 gantry_value* result, gantry_status* status) {
  const TracedFunction& traced = *static_cast<TracedFunction*>(self);
  const std::string_view name = traced.name;
  // Before the span begins: the time of a kernel is not to have it. Results are not known yet.
  std::vector<TraceArgument> arguments = trace_arguments(args, count);
  Span span(traced.recorder, name, "call");
  span.set_arguments(std::move(arguments));
  return traced.target.table->call(traced.target.self, env, args, count, result, status);
}

constexpr gantry_function_table traced_table{sizeof(gantry_function_table), 0, destroy, call};

// Wraps a function so that each call is recorded as a span of category "call". Only used if the
// runtime traces, so that calls cost nothing more otherwise.
//
// function  [in]  owned by the result; after a failure by the caller
// name      [in]  name of the spans; copied
// recorder  [in]  borrowed, must outlive the function
// returns   exhausted
Result<gantry_function> traced_function(const gantry_function& function, std::string_view name,
                                        TraceRecorder& recorder) {
  auto* traced = new (std::nothrow) TracedFunction{function, std::string(name), &recorder};
  if (traced == nullptr) return exhausted("no memory to trace a function");
  return gantry_function{traced, &traced_table};
}

}  // namespace

void destroy_target(const gantry_function& target) {
  const gantry_function_table* const table = target.table;
  if (table != nullptr && GANTRY_HAS(table, destroy) && table->destroy != nullptr)
    call_destroy("a function", [&] { table->destroy(target.self); });
}

namespace {

// No code of a plugin is called while the process ends; its objects are not freed then.
void destroy_function(void* object, std::int32_t flags) {
  if (!plugins_may_run()) return;
  if ((flags & GANTRY_DELETE_CONTENT) != 0) {
    const NoCancellation guard;
    destroy_target(static_cast<FunctionObject*>(object)->target);
  }
  destroy_object<FunctionObject>(object, flags);
}
void delete_function(void* object, std::int32_t flags) {
  delete_nested(object, flags, destroy_function);
}

}  // namespace

bool is_own_function(const gantry_object& object) {
  void (*const deleter)(void*, std::int32_t) = delete_function;
  return object.deleter == deleter;
}

SafeCall safe_call_of_functions = nullptr;

Result<Ref<FunctionObject>> new_function(const gantry_function& target, Ref<ModuleNode> parent,
                                         std::int32_t device_type, Pin pin) {
  if (target.table == nullptr || !GANTRY_HAS(target.table, call) || target.table->call == nullptr) {
    return bug(parent ? described(*parent) : std::string("a global"),
               " returns a function without `call`")
        .with_reason("TABLE_INCOMPLETE");
  }
  auto* function = new (std::nothrow) FunctionObject;
  if (function == nullptr) return exhausted("no memory for a function object");
  function->header = fresh_header(GANTRY_FUNCTION, delete_function);
  function->safe_call = reinterpret_cast<void*>(safe_call_of_functions);
  function->target = target;
  function->env.device = {device_type != 0 ? device_type : kCpu, 0};
  function->process_phase = &detail::process_phase;
  function->device_type = device_type;
  function->parent = std::move(parent);
  function->pin = std::move(pin);
  return Ref<FunctionObject>::adopt(function);
}

Result<Ref<FunctionObject>> adopt_function(const gantry_function& target,
                                           const std::function<std::string()>& subject,
                                           std::string_view name, Ref<ModuleNode> parent,
                                           std::int32_t device_type, TraceRecorder* trace,
                                           Pin pin) {
  if (target.table == nullptr && target.self != nullptr) {
    auto existing = ObjectPtr::adopt(static_cast<gantry_object*>(target.self));
    if (existing->kind == GANTRY_FUNCTION)
      return Ref<FunctionObject>::adopt(reinterpret_cast<FunctionObject*>(existing.take()));
    return bug(subject(), " returns an object of kind ", existing->kind,
               ", expected a function (kind ", std::int32_t{GANTRY_FUNCTION}, ")")
        .with_reason("RESULT_KIND");
  }
  auto made = new_function(target, std::move(parent), device_type, std::move(pin));
  if (!made.ok()) {
    destroy_target(target);
    return made;
  }
  if (trace != nullptr) {
    GANTRY_TRY((*made)->target, traced_function(target, name, *trace));
  }
  return made;
}

const gantry_function& unrecorded(const FunctionObject& function) {
  return function.target.table == &traced_table
             ? static_cast<const TracedFunction*>(function.target.self)->target
             : function.target;
}

std::string described(const FunctionObject& function) {
  return function.parent ? concat("a function of ", described(*function.parent))
                         : std::string("a global function");
}

}  // namespace gantry
