// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/runtime_functions.hpp"

#include "core/formats/container_symbols.hpp"

#include "core/engine/native/context.hpp"
#include "core/engine/native/ffi/ffi_functions.hpp"
#include "core/engine/native/half.hpp"
#include "core/engine/native/library_context.hpp"
#include "core/engine/native/packed/packed_call.hpp"
#include "core/engine/native/packed/packed_lists.hpp"
#include "core/engine/native/parallel_launch.hpp"
#include "core/engine/native/value_list.hpp"

#include <sched.h>

namespace gantry {
namespace {

void set_last_error(const char* text) {
  fail_here(
      invalid(Message::lines(text ? text : "an error without a text")).with_reason("HOST_CODE"));
}

// Returns the services of the runtime whose call runs on this thread, or NULL after fail_here().
const HostServices* services_here(const char* function) {
  const HostServices* services = here().call->owner.services;
  if (services == nullptr) {
    fail_here(bug(function, " is called on a thread that no gantry call has entered"));
  }
  return services;
}

void* alloc_workspace(int type, int index, std::uint64_t bytes, int, int) {
  const HostServices* services = services_here("TVMBackendAllocWorkspace");
  if (services == nullptr) return nullptr;
  try {
    const gantry_device_id device = device_here(type, index);
    void* const stream = device.type == kCpu ? nullptr : stream_here(here(), device);
    auto data = services->workspaces->alloc(device, bytes, stream);
    if (data.ok()) return *data;
    fail_here(std::move(data).error());
  } catch (const std::bad_alloc&) {
    fail_here(exhausted("out of memory"));
  }
  return nullptr;
}

int free_workspace(int type, int index, void* data) {
  const HostServices* services = services_here("TVMBackendFreeWorkspace");
  if (services == nullptr) return -1;
  try {
    auto freed = services->workspaces->free(device_here(type, index), data);
    return freed.ok() ? 0 : fail_here(std::move(freed).error());
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory"));
  }
}

// Runs f(closure) once for each slot; concurrent callers wait. A run that fails may be repeated.
//
// slot     [in,out]  NULL at first; 1 while f runs, 2 after it succeeded
int run_once(void** slot, int (*f)(void*), void* closure, int) {
  static_assert(sizeof(std::uintptr_t) == sizeof(void*));
  auto* state = reinterpret_cast<std::uintptr_t*>(slot);
  for (;;) {
    std::uintptr_t seen = 0;
    if (__atomic_compare_exchange_n(state, &seen, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      break;
    if (seen == 2) return 0;
    sched_yield();
  }
  const int code = f(closure);
  __atomic_store_n(state, code == 0 ? 2 : 0, __ATOMIC_RELEASE);
  return code;
}

// Objects of system-library mode register their names when they are opened. This runtime reads the
// names from the symbol table instead.
int register_symbol(const char*, void*) { return 0; }

// A function that code expects in the variable `__<name>` or imports.
RuntimeFunction in_variable(std::string_view variable, void* address, Dialect dialect,
                            bool has_twin = false) {
  return {variable.substr(2), address, dialect, variable, false, has_twin};
}
// A function of the ffi dialect that code only imports.
RuntimeFunction imported(std::string_view name, void* address, Dialect dialect) {
  return {name, address, dialect, {}, false, true};
}

}  // namespace

std::span<const RuntimeFunction> runtime_functions() {
  static const HalfHelpers half = half_helpers();
  static const RuntimeFunction functions[] = {
      in_variable("__TVMFuncCall", address(call_from_cpu_code), Dialect::packed),
      in_variable("__TVMAPISetLastError", address(set_last_error), Dialect::packed),
      {packed_register_function, address(register_symbol), Dialect::packed, {}, true},
      in_variable("__TVMFFIFunctionCall", address(ffi::function_call), Dialect::ffi, true),
      in_variable("__TVMFFIFunctionCall", address(ffi::first_function_call), Dialect::ffi_0_21,
                  true),
      in_variable("__TVMFFIErrorSetRaisedFromCStr", address(ffi::set_raised), Dialect::ffi),
      in_variable("__TVMFFIErrorSetRaisedFromCStrParts", address(ffi::set_raised_parts),
                  Dialect::ffi),
      in_variable("__TVMFFIEnvModLookupFromImports", address(get_function_from_context),
                  Dialect::ffi),
      in_variable("__TVMFFIHandleInitOnce", address(ffi::handle_init_once), Dialect::ffi),
      {"TVMFFIEnvGetStream", address(ffi::env_get_stream), Dialect::ffi},
      {ffi_register_function, address(register_symbol), Dialect::ffi, {}, true},
      // of development builds of TVM in August 2025
      {register_functions[1], address(register_symbol), Dialect::ffi, {}, true},
      {"TVMBackendAnyListSetPackedArg", address(list_set_packed_arg), Dialect::packed},
      {"TVMBackendAnyListMoveFromPackedReturn", address(list_move_from_packed_return),
       Dialect::packed},
      imported("TVMBackendAnyListSetPackedArg", address(ffi::list_set_packed_arg), Dialect::ffi),
      imported("TVMBackendAnyListSetPackedArg", address(ffi::first_list_set_packed_arg),
               Dialect::ffi_0_21),
      imported("TVMBackendAnyListMoveFromPackedReturn", address(ffi::list_move_from_packed_return),
               Dialect::ffi),
      imported("TVMBackendAnyListMoveFromPackedReturn",
               address(ffi::first_list_move_from_packed_return), Dialect::ffi_0_21),
      {"TVMBackendAnyListResetItem", address(reset_list_item), Dialect::unknown},
      in_variable("__TVMBackendGetFuncFromEnv", address(get_function_from_context),
                  Dialect::unknown),
      in_variable("__TVMBackendAllocWorkspace", address(alloc_workspace), Dialect::unknown),
      in_variable("__TVMBackendFreeWorkspace", address(free_workspace), Dialect::unknown),
      in_variable("__TVMBackendParallelLaunch", address(parallel_launch), Dialect::unknown),
      in_variable("__TVMBackendParallelBarrier", address(parallel_barrier), Dialect::unknown),
      {"TVMBackendRunOnce", address(run_once), Dialect::unknown},
      {"__gnu_f2h_ieee", half.float_to_half, Dialect::unknown},
      {"__gnu_h2f_ieee", half.half_to_float, Dialect::unknown},
      {"__truncdfhf2", half.double_to_half, Dialect::unknown},
      {"__truncsfhf2", half.float_to_register_half, Dialect::unknown},
      {"__extendhfsf2", half.register_half_to_float, Dialect::unknown},
  };
  return functions;
}

const RuntimeFunction* find_runtime_function(std::string_view name, const ExporterFacts& facts) {
  // Most names that a library imports are of the C library.
  if (!name.starts_with("TVM") && !name.starts_with("__")) return nullptr;
  for (const RuntimeFunction& function : runtime_functions()) {
    if (function.name == name && function.address != nullptr && function.is_of(facts) &&
        function.fits(facts))
      return &function;
  }
  if (facts.dialect == Dialect::packed) return nullptr;
  for (const RuntimeFunction& function : header_functions()) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace gantry
