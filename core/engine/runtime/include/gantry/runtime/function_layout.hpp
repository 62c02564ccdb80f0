// SPDX-License-Identifier: Apache-2.0
//
// What a call needs that is compiled into the caller: the beginning of a function object, a status,
// and the functions for everything that is not a plain success.
#pragma once

#include <gantry/gantry.h>
#include <gantry/result.hpp>
#include <gantry/runtime/any.hpp>

#include <cxxabi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gantry::detail {

// Calls packed host code with arguments in its own layout.
//
// values, codes  [in]   count TVMValues and type codes
using PackedEntry = gantry_code (*)(void* self, const gantry_env* env, void* values, int* codes,
                                    std::int32_t count, gantry_value* result,
                                    gantry_status* status);

// The first members of every function object.
struct FunctionLayout {
  gantry_object header;
  // tvm-ffi's function cell, which code of that dialect calls; not used here
  void* safe_call;
  void* cpp_call;
  gantry_function target;
  // NULL: the function is called through `target` only
  PackedEntry packed;
  // for calls without an env
  gantry_env env;
  // 0 while functions of plugins may be called
  const std::atomic<std::uint8_t>* process_phase;
};

// A status whose details are written by a callee that fails.
struct CallStatus {
  CallStatus() {
    status.struct_size = sizeof status;
    status.code = GANTRY_OK;
    status.text = text;
    status.text_capacity = sizeof text;
    status.text_size = 0;
    status.error = nullptr;
  }
  CallStatus(const CallStatus&) = delete;

  gantry_status status;
  char text[2048];
};

// True for the results of nearly all calls. finish_call() checks the others.
inline bool is_plain_result(const gantry_value& value) {
  return static_cast<std::uint32_t>(value.kind) <= GANTRY_DEVICE ||
         (value.kind >= GANTRY_OBJECT && value.object != nullptr);
}

// Sets the result of a call that is not made: `function` is NULL, or has too many arguments.
void refuse_call(const gantry_object* function, std::size_t argument_count,
                 Result<Any>& result) noexcept;
// True if the function may be called although the process ends. Sets the result if it may not.
bool may_call_at_end(gantry_object* function, Result<Any>& result) noexcept;
// Converts the current exception, which the callee must not throw, and returns its code.
gantry_code take_exception(gantry_object* function, gantry_value* result,
                           gantry_status* status) noexcept;
// Sets the result of a call that failed, or that returned a value that is not plain.
void finish_call(gantry_object* function, gantry_code code, CallStatus& said,
                 Result<Any>& result) noexcept;

// Makes a call. Inlined into each caller, so that the arguments, the status and the result are
// where the callee reads and writes them; the result is never copied.
//
// make     [in]   gantry_code(gantry_value* result, gantry_status* status)
// result   [out]  holds none on entry
template <class Make>
[[gnu::always_inline]] inline void make_call(gantry_object* function, Result<Any>& result,
                                             Make&& make) {
  const auto& layout = *reinterpret_cast<const FunctionLayout*>(function);
  if (layout.process_phase->load(std::memory_order_relaxed) != 0 &&
      !may_call_at_end(function, result)) [[unlikely]]
    return;
  CallStatus said;
  gantry_code code = GANTRY_OK;
  try {
    code = make(result->slot(), &said.status);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    code = take_exception(function, result->slot(), &said.status);
  }
  if (code != GANTRY_OK || !is_plain_result(result->value())) [[unlikely]]
    finish_call(function, code, said, result);
}

}  // namespace gantry::detail
