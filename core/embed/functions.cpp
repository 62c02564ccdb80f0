// SPDX-License-Identifier: Apache-2.0
#include "core/embed/functions.hpp"

#include "core/module/function.hpp"

#include <gantry/call.h>
#include <gantry/quoted.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace gantry {
namespace {

// The beginning of a function object, which is compiled into programs.
static_assert(offsetof(FunctionObject, target) == offsetof(gantry_function_cell, target));
static_assert(offsetof(FunctionObject, env) == offsetof(gantry_function_cell, env));
static_assert(offsetof(FunctionObject, process_phase) ==
              offsetof(gantry_function_cell, process_phase));
static_assert(sizeof(std::atomic<std::uint8_t>) == sizeof(std::uint8_t));

// A function of the program until an object owns it.
class GivenFunction {
 public:
  explicit GivenFunction(const gantry_function& function) : function_(function) {}
  GivenFunction(const GivenFunction&) = delete;
  GivenFunction& operator=(const GivenFunction&) = delete;
  ~GivenFunction() { destroy_target(function_); }

  const gantry_function& get() const { return function_; }
  void release() { function_ = {}; }

 private:
  gantry_function function_;
};

}  // namespace

Status add_function(RuntimeState* runtime, std::string_view name, const gantry_function& function) {
  GivenFunction given(function);
  if (runtime == nullptr) return invalid("function_add: there is no runtime");
  if (name.empty())
    return invalid("function_add: the function has an empty name").with_reason("ARGUMENT");
  if (function.table == nullptr) {
    return invalid("function_add: the table of function ", quoted(name), " is NULL")
        .with_reason("ARGUMENT_KIND");
  }
  // Without a pin: the runtime keeps the function, which must not keep the runtime.
  GANTRY_TRY(Ref<FunctionObject> made, new_function(given.get(), {}, 0));
  given.release();
  return runtime->globals->add(std::string(name), std::move(made));
}

}  // namespace gantry
