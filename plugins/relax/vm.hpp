// SPDX-License-Identifier: Apache-2.0
//
// A virtual machine: runs the functions of an executable on one list of devices.
//
//     bytecode   registers of a frame, and calls of other functions
//     compiled   `__vmtir__<name>` of the library, with the addresses of the lists below
//
// Compiled code and builtins receive the machine by address.
#pragma once

#include "builtin.hpp"
#include "captures.hpp"
#include "loaded.hpp"
#include "registers.hpp"

#include <gantry/call.hpp>
#include <gantry/call_streams.hpp>
#include <gantry/stack_room.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::relax {

// One thread at a time.
class Vm {
 public:
  Vm(Host host, std::shared_ptr<const Loaded> code)
      : host_(host), code_(std::move(code)), captures_(host), stack_(host, code_->pool->memory()) {}
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  const Loaded& code() const { return *code_; }
  const Host& host() const { return host_; }
  bool is_initialized() const { return !devices_.empty(); }

  // Resolves all functions that the executable imports and places its constants.
  //
  // devices  [in]   the first one has the constants; the CPU is appended unless it is the last one
  // returns  NOT_FOUND  lists all functions that nobody has; the machine is unchanged
  Status initialize(std::span<const gantry_device_id> devices, const gantry_env* env);

  // Runs a function of the executable. Precondition: is_initialized().
  //
  // args     [in]   borrowed; a tensor by reference is copied
  // returns  a constant, or a part of one, as a copy. INVALID with kind InternalError for a wrong number of arguments; the failures of the
  //          functions that it calls, with the instruction
  Result<Value> run(std::uint32_t function, const gantry_env* env,
                    std::span<const gantry_value> args);

  // Runs a closure of make_closure(), or any other function object.
  Result<Value> invoke_closure(gantry_object* closure, const gantry_env* env,
                               std::span<const gantry_value> args);

  // index    [in]   in the list of devices; -1: the last one, the CPU
  Result<gantry_device_id> device(std::int64_t index) const;
  Captures& captures() { return captures_; }
  // For argument lists of functions that may call each other.
  RegisterStack& stack() { return stack_; }

  // Returns the machine that an argument addresses.
  //
  // returns  INVALID  it is not the one that runs on this thread
  static Result<Vm*> of(const Call& call, std::size_t argument);

  // Called by functions that may call themselves through an argument.
  //
  // returns  EXHAUSTED  the stack of the thread has no room for another call (STACK)
  static Status check_room();
  // Calls a function with more arguments, which the machine that runs on this thread counts: the function may be one that does so
  // itself.
  static Result<Value> call_with(const Host& host, gantry_object* function, const gantry_env* env,
                                 std::span<const gantry_value> args,
                                 std::span<const std::int64_t> numbers);

 private:
  struct Callee {
    // for functions of this plugin; else NULL
    const Builtin* builtin = nullptr;
    // packed and vm_tir
    ObjectRef function;
  };
  class Entered;

  // Returns a result to the caller of the machine, or to a function that it calls.
  Result<Value> returned(Result<Value> result, const gantry_env& env) const;
  Result<Value> enter(std::uint32_t function, const gantry_env& env,
                      std::span<const gantry_value> args);
  Result<Value> call(std::uint32_t function, const gantry_env& env,
                     std::span<const gantry_value> args);
  // Each runs a function of the executable whose arguments are in the first registers.
  Result<Value> run_bytecode(std::uint32_t function, const gantry_env& env, Frame& frame);
  Result<Value> run_compiled(std::uint32_t function, const gantry_env& env, Frame& frame);
  void read_arguments(const Instruction& call, Frame& frame, gantry_value* out);
  // returns  CANCELLED  before a call or a jump
  Status check_count(std::uint32_t function, std::size_t count) const;
  Result<ObjectRef> resolve(std::string_view name, const Builtin*& builtin) const;
  Result<std::vector<Value>> make_functions(const std::vector<Callee>& callees) const;
  // Returns the env on the first device, where CPU code runs kernels.
  gantry_env env_of(const CallStreams& streams) const { return streams.on(devices_.front()); }

  const Host host_;
  const std::shared_ptr<const Loaded> code_;
  std::vector<gantry_device_id> devices_;
  // by function
  std::vector<Callee> callees_;
  // the values of functions as arguments, and the constants; compiled code receives the addresses
  std::vector<Value> functions_;
  const SharedConstants* constants_ = nullptr;
  Captures captures_;
  RegisterStack stack_;
  StackRoom room_;
  std::uint32_t depth_ = 0;
};

}  // namespace gantry::relax
