// SPDX-License-Identifier: Apache-2.0
#include "core/native/ffi/ffi_functions.hpp"

#include "core/module/module_graph.hpp"
#include "core/native/context.hpp"
#include "core/native/ffi/ffi_values.hpp"
#include "core/native/host_boundary.hpp"
#include "core/native/value_list.hpp"
#include "core/tensor/object.hpp"
#include "core/tensor/raised_error.hpp"

#include <gantry/kind_text.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace gantry::ffi {

int function_call(void* function, const gantry_value* args, std::int32_t count,
                  gantry_value* result) {
  return host_boundary([&]() -> Status {
    if (function == nullptr || static_cast<gantry_object*>(function)->kind != GANTRY_FUNCTION) {
      return invalid("TVMFFIFunctionCall receives a handle that is not a function");
    }
    if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
    auto& callee = *static_cast<FunctionObject*>(function);
    HostThread& thread = here();
    const gantry_env env = env_of_callee(thread, callee.device_type);
    std::span<const gantry_value> values(args, static_cast<std::size_t>(count));
    std::optional<ConvertedList> converted;
    if (const ModuleNode* node = thread.call->owner.node;
        node != nullptr && !takes_any_list(*node)) {
      converted.emplace(values);
      GANTRY_CHECK(converted->from_host(*node));
      values = converted->get();
    }
    GANTRY_TRY(OwnedValue owned, call(callee, &env, values));
    if (!is_first_ffi(thread.call->owner.node)) {
      *result = owned.take();
    } else if (owned.get().kind == GANTRY_SMALL_STRING) {
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
  host_boundary([&]() -> Status {
    std::string text;
    for (std::int32_t i = 0; i < count; ++i) text += parts[i] != nullptr ? parts[i] : "";
    return new_raised_error(kind != nullptr ? kind : "RuntimeError", text);
  });
}

int handle_init_once(void** slot, int (*init)(void** result)) {
  // Recursive, because init may need another slot.
  static std::recursive_mutex mutex;
  const std::atomic_ref handle(*slot);
  if (handle.load(std::memory_order_acquire) != nullptr) return 0;
  return host_boundary([&]() -> Status {
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
  const gantry_value& item = list_item(list, index);
  args[arg] = is_first_ffi(here().call->owner.node) ? to_first_ffi(item) : item;
  return 0;
}

int list_move_from_packed_return(void* list, int index, gantry_value* args, int result) {
  return host_boundary([&]() -> Status {
    gantry_value value = std::exchange(args[result], gantry_value{});
    if (is_first_ffi(here().call->owner.node)) {
      if (value.kind == GANTRY_CSTRING) {
        GANTRY_TRY(OwnedValue copy, new_text(GANTRY_STRING, value.cstring));
        value = copy.take();
      } else if (!from_first_ffi(value)) {
        return unsupported("register ", index, " receives an object of type number ", value.kind,
                           ", which is not one of this runtime")
            .with_reason("HOST_RESULT");
      }
    }
    if (!is_result(value)) {
      return unsupported("register ", index, " receives ", kind_text(value.kind),
                         ", which has no owner")
          .with_reason("HOST_RESULT");
    }
    set_list_item(list, index, OwnedValue::adopt(value));
    return {};
  });
}

}  // namespace gantry::ffi
