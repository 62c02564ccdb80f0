// SPDX-License-Identifier: Apache-2.0
#include "core/native/ffi/ffi_functions.hpp"

#include "core/module/module_graph.hpp"
#include "core/native/context.hpp"
#include "core/native/ffi/ffi_values.hpp"
#include "core/tensor/object.hpp"
#include "core/tensor/raised_error.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>

namespace gantry::ffi {
namespace {

// Runs `body`, which returns a Status. Compiled code cannot pass exceptions on.
template <class Body>
int from_host(const Body& body) {
  try {
    Status done = body();
    return done.ok() ? 0 : fail_here(std::move(done).error());
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory"));
  } catch (const std::exception& thrown) {
    return fail_here(bug(Message::lines(thrown.what())));
  }
}

gantry_value* item_of(void* list, int index) { return static_cast<gantry_value*>(list) + index; }

void move_to(gantry_value& to, gantry_value from) {
  // The destructor of the old value may use the list again.
  const OwnedValue old = OwnedValue::adopt(std::exchange(to, from));
}

}  // namespace

int function_call(void* function, const gantry_value* args, std::int32_t count,
                  gantry_value* result) {
  return from_host([&]() -> Status {
    if (function == nullptr || static_cast<gantry_object*>(function)->kind != GANTRY_FUNCTION) {
      return invalid("TVMFFIFunctionCall receives a handle that is not a function");
    }
    if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
    auto& callee = *static_cast<FunctionObject*>(function);
    const HostThread& thread = here();
    const gantry_env env = env_of_callee(thread, callee.device_type);
    std::span<const gantry_value> values(args, static_cast<std::size_t>(count));
    std::optional<ConvertedList> converted;
    if (const ModuleNode* node = thread.call->node; node != nullptr && !takes_any_list(*node)) {
      converted.emplace(values);
      GANTRY_CHECK(converted->from_host(*node));
      values = converted->get();
    }
    GANTRY_TRY(OwnedValue owned, call(callee, &env, values));
    *result = owned.take();
    return {};
  });
}

void set_raised(const char* kind, const char* text) { set_raised_parts(kind, &text, 1); }

void set_raised_parts(const char* kind, const char** parts, std::int32_t count) {
  from_host([&]() -> Status {
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
  return from_host([&]() -> Status {
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

int any_list_set_packed_arg(void* list, int index, gantry_value* args, int arg) {
  args[arg] = *item_of(list, index);
  return 0;
}

int any_list_move_from_packed_return(void* list, int index, gantry_value* args, int result) {
  move_to(*item_of(list, index), std::exchange(args[result], gantry_value{}));
  return 0;
}

int any_list_reset_item(void* list, int index) {
  move_to(*item_of(list, index), gantry_value{});
  return 0;
}

}  // namespace gantry::ffi
