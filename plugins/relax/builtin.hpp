// SPDX-License-Identifier: Apache-2.0
//
// Functions that executables look up by name, `vm.builtin.*`. Each is a row of a table; compiled
// code finds them as functions of the runtime, and so does a caller, for example for
// `vm.builtin.kv_state_add_sequence`.
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/call.hpp>
#include <gantry/error_kind.hpp>
#include <gantry/handle.hpp>
#include <gantry/result.hpp>
#include <gantry/storage_memory.hpp>

#include <exception>
#include <memory>
#include <span>
#include <string_view>

namespace gantry::relax {

// Gives a failed allocation without an error object the kind that it has in TVM.
inline Result<Value> with_kind_of_allocation(const Host& host, Result<Value> result) {
  if (!result.ok() && result.error().code == Code::exhausted && !result.error().raised) [[unlikely]]
    set_kind(host, result.error(), "InternalError");
  return result;
}

struct Builtin {
  // "vm.builtin.copy"
  std::string_view name;
  // Argument names for errors: "copy(value)".
  std::string_view usage;
  // call     arguments are borrowed; its usage is that of the row
  Result<Value> (*run)(const Host& host, const Call& call) = nullptr;
  // In place of `run`, of functions whose own memory numbers of a file decide.
  //
  // memory   counts it
  Result<Value> (*run_counted)(const Host& host, const Call& call,
                               const std::shared_ptr<StorageMemory>& memory) = nullptr;

  // Runs the function.
  //
  // memory   [in]   of the runtime
  // returns  also what the function throws; a failed allocation has the kind InternalError, as in TVM
  Result<Value> call(const Host& host, const std::shared_ptr<StorageMemory>& memory,
                     const gantry_env* env, std::span<const gantry_value> args) const {
    return with_kind_of_allocation(host, run_safely(host, memory, env, args));
  }

  Result<Value> run_safely(const Host& host, const std::shared_ptr<StorageMemory>& memory,
                           const gantry_env* env, std::span<const gantry_value> args) const {
    try {
      const Call arguments{usage, env, args};
      return run != nullptr ? run(host, arguments) : run_counted(host, arguments, memory);
    } catch (const std::exception&) {
      return error_in_flight();
    }
  }
};

// Fails with an error object.
template <class... Parts>
Failure raise(const Host& host, std::string_view kind, const Parts&... parts) {
  Failure failure = invalid(parts...).with_reason("RELAX");
  set_kind(host, failure.error(), kind);
  return failure;
}

// Returns a value that may outlive the call that has `borrowed` as an argument, as Host::keep()
// does; a tensor by reference is copied on its device.
inline Result<Value> keep_or_copy(const Host& host, const gantry_value& borrowed,
                                  const gantry_env* env) {
  if (borrowed.kind != GANTRY_TENSOR_REF || borrowed.tensor == nullptr) return host.keep(borrowed);
  return host.tensor_copied(*borrowed.tensor, borrowed.tensor->device, env);
}

// Returns the numbers of a function's shape heap.
//
// returns  INVALID  the argument is not a compact list of int64 on the CPU
Result<std::span<std::int64_t>> shape_heap(const Call& call, std::size_t argument);

// Rows of one subject each.
std::span<const Builtin> check_builtins();
std::span<const Builtin> shape_builtins();
std::span<const Builtin> tensor_builtins();
std::span<const Builtin> object_builtins();
std::span<const Builtin> capture_builtins();
std::span<const Builtin> paged_cache_builtins();
std::span<const Builtin> legacy_cache_builtins();
std::span<const Builtin> sampling_builtins();

// All rows, by name.
std::span<const Builtin* const> builtins();
// Returns NULL if there is no such row.
const Builtin* find_builtin(std::string_view name);

}  // namespace gantry::relax
