// SPDX-License-Identifier: Apache-2.0
//
// Functions of the runtime that belong to no module.
#include "core/engine/runtime/state.hpp"
#include "core/engine/tensor/raised_error.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>
#include <gantry/runtime.hpp>

namespace gantry {
namespace {

constexpr gantry_function_table added_function_table{
    sizeof(gantry_function_table), 0,
    [](void* self) { delete static_cast<Runtime::AddedFunction*>(self); },
    [](void* self, const gantry_env*, const gantry_value* args, std::int32_t count,
       gantry_value* result, gantry_status* status) {
      return abi_boundary(status, [&]() -> Status {
        const auto& function = *static_cast<const Runtime::AddedFunction*>(self);
        GANTRY_TRY(Any made, function(std::span(args, static_cast<std::size_t>(count))));
        *result = std::exchange(*made.slot(), gantry_value{});
        return {};
      });
    }};

}  // namespace

Failure raised_error(std::string_view kind, std::string_view text) {
  const Result<Any> failed = guard([&]() -> Result<Any> { return new_raised_error(kind, text); });
  return Failure(Error(failed.error()));
}

Status Runtime::add_function(std::string name, AddedFunction function) {
  return guard([&]() -> Status {
    if (name.empty()) return invalid("global function has an empty name");
    if (!function) return invalid("global function ", quoted(name), " is empty");
    auto kept = std::make_unique<AddedFunction>(std::move(function));
    GANTRY_TRY(Ref<FunctionObject> made, new_function({kept.get(), &added_function_table}, {}, 0));
    (void)kept.release();
    return state_->globals->add(std::move(name), std::move(made));
  });
}

Result<Function> Runtime::function(std::string_view name) const {
  return guard([&]() -> Result<Function> {
    Ref<FunctionObject> found = state_->globals->find(name);
    if (!found) {
      GANTRY_TRY(found, state_->globals->find_offered(name));
    }
    if (!found) {
      return not_found("global function ", quoted(name), " not found, and no plugin offers it; ",
                       "global functions: ", join(state_->globals->names()))
          .with_reason("GLOBAL_MISSING");
    }
    return Function(Object::adopt(reinterpret_cast<gantry_object*>(found.take())));
  });
}

}  // namespace gantry
