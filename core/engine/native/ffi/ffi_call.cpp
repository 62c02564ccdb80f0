// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/ffi_call.hpp"

#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/ffi/ffi_values.hpp"
#include "core/engine/native/ffi/library_values.hpp"
#include "core/engine/native/ffi/type_registry.hpp"
#include "core/engine/native/library_module.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/kind_text.hpp>

#include <algorithm>
#include <span>
#include <utility>

namespace gantry::ffi {
namespace {

[[gnu::noinline]] gantry_code failed(const CpuFunction& function, gantry_value* result,
                                     gantry_status* status) {
  // Not released: code that fails does not define its result.
  *result = {};
  return to_status(in_function(take_cause(here()), function), status);
}

// Code of TVM 0.21 may return an object that it has received from this runtime. Its own objects have
// other numbers and another header, and only their creator can release them.
[[gnu::noinline]] gantry_code check_result(const CpuFunction& function, gantry_value* result,
                                           gantry_status* status) {
  const ModuleNode& node = *function.owner.node;
  const bool is_short = has_short_objects(node.artifact->container.facts.dialect);
  if (!is_short && !translates_devices(node) && is_result(*result)) return GANTRY_OK;
  if (result->kind < GANTRY_OBJECT && is_result(*result)) {
    if (result->kind == GANTRY_DEVICE) result->device.type = to_runtime(node, result->device.type);
    return GANTRY_OK;
  }
  if (is_short && result->kind >= GANTRY_OBJECT && from_first_ffi(*result)) return GANTRY_OK;
  const std::int32_t kind = std::exchange(*result, gantry_value{}).kind;
  return to_status(in_function(unsupported("it returns ", kind_text(kind),
                                           ", which only code of the same runtime can take")
                                   .with_reason("HOST_RESULT"),
                               function),
                   status);
}

// Calls the code with a list in its own layout. Inlined, because passing six arguments on costs a
// nanosecond.
[[gnu::always_inline]] inline gantry_code run(CpuThread& thread, const CpuFunction& function,
                                              const gantry_env& env, const gantry_value* args,
                                              std::int32_t count, gantry_value* result,
                                              gantry_status* status) {
  int code = 0;
  {
    CpuScope scope(thread, function.owner, env);
    code = scope.returned(function.code(nullptr, args, count, result));
  }
  if (code != 0) [[unlikely]]
    return failed(function, result, status);
  if (result->kind > GANTRY_FLOAT || result->kind < GANTRY_NONE) [[unlikely]]
    return check_result(function, result, status);
  return GANTRY_OK;
}

// The entry of functions whose lists are converted.
[[gnu::noinline]] gantry_code call_converted(void* self, const gantry_env* env,
                                             const gantry_value* args, std::int32_t count,
                                             gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& function = *static_cast<CpuFunction*>(self);
    if (count < 0)
      return to_status(invalid("a call has ", count, " arguments, minimum is 0"), status);
    ConvertedList list({args, static_cast<std::size_t>(count)});
    if (auto converted = list.to_host(*function.owner.node); !converted.ok())
      return to_status(in_function(std::move(converted).failure(), function), status);
    return run(here(), function, *env, list.get().data(), count, result, status);
  });
}

gantry_code call_unconverted(void* self, const gantry_env* env, const gantry_value* args,
                             std::int32_t count, gantry_value* result, gantry_status* status);

// The first call of a thread, which creates its state.
[[gnu::noinline]] gantry_code call_first(void* self, const gantry_env* env,
                                         const gantry_value* args, std::int32_t count,
                                         gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    (void)here();
    return call_unconverted(self, env, args, count, result, status);
  });
}

// The entry of functions that take lists as they are, unless their module has an ext_dev. It calls
// nothing but the code, so that the arguments stay in their registers.
gantry_code call_unconverted(void* self, const gantry_env* env, const gantry_value* args,
                             std::int32_t count, gantry_value* result, gantry_status* status) {
  const auto& function = *static_cast<CpuFunction*>(self);
  CpuThread* const thread = detail::host_thread;
  if (thread == nullptr) [[unlikely]]
    return call_first(self, env, args, count, result, status);
  if (has_ext_devs(*function.owner.node)) [[unlikely]]
    return call_converted(self, env, args, count, result, status);
  return abi_boundary(status, [&]() -> gantry_code {
    return run(*thread, function, *env, args, count, result, status);
  });
}

// True if one of the arguments is the same object.
bool is_echo(const gantry_value& value, std::span<const gantry_value> args) {
  return std::ranges::any_of(args, [&](const gantry_value& each) {
    return holds_object(each) && each.object == value.object;
  });
}

// The entry of functions of libraries with tvm-ffi's C++ headers.
[[gnu::noinline]] gantry_code call_of_headers(void* self, const gantry_env* env,
                                              const gantry_value* args, std::int32_t count,
                                              gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& function = *static_cast<CpuFunction*>(self);
    const CpuOwner& owner = function.owner;
    gantry::CpuCode& code = code_of(*owner.node);
    if (count < 0)
      return to_status(invalid("a call has ", count, " arguments, minimum is 0"), status);
    LibraryArguments list({args, static_cast<std::size_t>(count)});
    if (auto prepared = list.prepare(); !prepared.ok())
      return to_status(in_function(std::move(prepared).error(), function), status);
    const std::span passed(list.data(), static_cast<std::size_t>(count));
    const TypeRegistry* const types = owner.services->types.get();
    const std::uint64_t references = types != nullptr ? types->references() : 0;
    const gantry_code called = run(here(), function, *env, list.data(), count, result, status);
    if (types != nullptr && types->references() != references) code.stay();
    if (called != GANTRY_OK) {
      code.stay();
      return called;
    }
    if (is_plain(*result)) return GANTRY_OK;
    if (!is_echo(*result, passed)) code.stay();
    auto converted = from_library(Value::adopt(std::exchange(*result, gantry_value{})), owner);
    if (!converted.ok())
      return to_status(in_function(std::move(converted).error(), function), status);
    *result = converted->take();
    return GANTRY_OK;
  });
}

constexpr gantry_function_table table_of(decltype(gantry_function_table::call) call) {
  return {sizeof(gantry_function_table), 0,
          [](void* self) { delete static_cast<CpuFunction*>(self); }, call};
}

}  // namespace

const gantry_function_table* host_function_table(const ModuleNode& node) {
  static constexpr gantry_function_table converted = table_of(call_converted);
  static constexpr gantry_function_table unconverted = table_of(call_unconverted);
  const bool is_converted =
      has_short_objects(node.artifact->container.facts.dialect) || has_converted_devices(node);
  return is_converted ? &converted : &unconverted;
}

const gantry_function_table* header_function_table() {
  static constexpr gantry_function_table table = table_of(call_of_headers);
  return &table;
}

}  // namespace gantry::ffi
