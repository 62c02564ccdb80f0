// SPDX-License-Identifier: Apache-2.0
#include "core/module/traced_function.hpp"

#include <memory>
#include <new>
#include <string>

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
  const Span span(traced.recorder, name, "call");
  return traced.target.table->call(traced.target.self, env, args, count, result, status);
}

constexpr gantry_function_table traced_table{sizeof(gantry_function_table), 0, destroy, call};

}  // namespace

Result<gantry_function> traced_function(const gantry_function& function, std::string_view name,
                                        TraceRecorder& recorder) {
  auto* traced = new (std::nothrow) TracedFunction{function, std::string(name), &recorder};
  if (traced == nullptr) return exhausted("no memory to trace a function");
  return gantry_function{traced, &traced_table};
}

}  // namespace gantry
