// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/ffi_functions.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/context.hpp"
#include "core/engine/native/cpu_code_boundary.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/ffi/ffi_values.hpp"
#include "core/engine/native/value_list.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/kind_text.hpp>
#include <gantry/result.hpp>

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace gantry::ffi {

namespace {

// Calls a function object for CPU code.
//
// node     [in]   the code's, if its list is converted; else NULL
Result<Value> call_out(void* function, const gantry_value* args, std::int32_t count,
                       const ModuleNode* node) {
  if (function == nullptr || static_cast<gantry_object*>(function)->kind != GANTRY_FUNCTION) {
    return invalid("TVMFFIFunctionCall receives a handle that is not a function");
  }
  if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
  auto& callee = *static_cast<FunctionObject*>(function);
  const gantry_env env = env_of_callee(here(), callee.device_type);
  const std::span values(args, static_cast<std::size_t>(count));
  if (node == nullptr) return call(callee, &env, values);
  ConvertedList converted(values);
  GANTRY_CHECK(converted.from_host(*node));
  return call(callee, &env, converted.get());
}

// Moves a value of CPU code to list[index].
Status move_to_list(void* list, int index, gantry_value value) {
  if (!is_result(value)) {
    return unsupported("register ", index, " receives ", kind_text(value.kind),
                       ", which has no owner")
        .with_reason("HOST_RESULT");
  }
  set_list_item(list, index, Value::adopt(value));
  return {};
}

}  // namespace

Error raised_error(std::string_view kind, std::string_view text) {
  Error error = invalid(Message::lines(text.empty() ? "an error without a text" : text))
                    .with_reason("HOST_CODE");
  gantry_error what{};
  what.kind = {kind.data(), kind.size()};
  what.message = {text.data(), text.size()};
  if (auto object = new_error(what); object.ok())
    error.raised = ObjectRef::adopt(&object->take()->header);
  return error;
}

int function_call(void* function, const gantry_value* args, std::int32_t count,
                  gantry_value* result) {
  return cpu_code_boundary([&]() -> Status {
    const ModuleNode* const node = here().call->owner.node;
    const bool converts = node != nullptr && translates_devices(*node);
    GANTRY_TRY(Value owned, call_out(function, args, count, converts ? node : nullptr));
    *result = owned.take();
    return {};
  });
}

int first_function_call(void* function, const gantry_value* args, std::int32_t count,
                        gantry_value* result) {
  return cpu_code_boundary([&]() -> Status {
    CpuThread& thread = here();
    GANTRY_TRY(Value owned, call_out(function, args, count, thread.call->owner.node));
    if (owned.get().kind == GANTRY_SMALL_STRING) {
      thread.kept = std::move(owned);
      *result = to_first_ffi(thread.kept.get());
    } else {
      *result = to_first_ffi(owned.take());
    }
    return {};
  });
}

void set_raised(const char* kind, const char* text) { set_raised_parts(kind, &text, 1); }

void set_raised_parts(const char* kind, const char** parts, std::int32_t count) {
  cpu_code_boundary([&]() -> Status {
    std::string text;
    for (std::int32_t i = 0; i < count; ++i) text += parts[i] != nullptr ? parts[i] : "";
    return raised_error(kind != nullptr ? kind : "RuntimeError", text);
  });
}

int handle_init_once(void** slot, int (*init)(void** result)) {
  // Recursive, because init may need another slot.
  static std::recursive_mutex mutex;
  const std::atomic_ref handle(*slot);
  if (handle.load(std::memory_order_acquire) != nullptr) return 0;
  return cpu_code_boundary([&]() -> Status {
    const std::lock_guard lock(mutex);
    if (handle.load(std::memory_order_acquire) != nullptr) return {};
    void* made = nullptr;
    if (init(&made) != 0) return std::move(here().error);
    if (made == nullptr) return invalid("an initializer of compiled code returns no handle");
    handle.store(made, std::memory_order_release);
    return {};
  });
}

void* env_get_stream(std::int32_t type, std::int32_t index) {
  return stream_here(here(), device_here(type, index));
}

int list_set_packed_arg(void* list, int index, gantry_value* args, int arg) {
  args[arg] = list_item(list, index);
  return 0;
}

int first_list_set_packed_arg(void* list, int index, gantry_value* args, int arg) {
  args[arg] = to_first_ffi(list_item(list, index));
  return 0;
}

int list_move_from_packed_return(void* list, int index, gantry_value* args, int result) {
  return cpu_code_boundary(
      [&] { return move_to_list(list, index, std::exchange(args[result], gantry_value{})); });
}

int first_list_move_from_packed_return(void* list, int index, gantry_value* args, int result) {
  return cpu_code_boundary([&]() -> Status {
    gantry_value value = std::exchange(args[result], gantry_value{});
    if (value.kind == GANTRY_CSTRING) {
      GANTRY_TRY(Value copy, new_text(GANTRY_STRING, value.cstring));
      value = copy.take();
    } else if (!from_first_ffi(value)) {
      return unsupported("register ", index, " receives an object of type number ", value.kind,
                         ", which is not one of this runtime")
          .with_reason("HOST_RESULT");
    }
    return move_to_list(list, index, value);
  });
}

}  // namespace gantry::ffi
