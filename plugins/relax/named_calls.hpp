// SPDX-License-Identifier: Apache-2.0
//
// Functions that executables call by a name which is known only at the call: those of the program, and
// those of a table beside them.
#pragma once

#include <gantry/call.hpp>
#include <gantry/handle.hpp>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace gantry::relax {

// The functions that `vm.builtin.register_py_func` has added, in one runtime.
//
// thread   any
class CalledByName {
 public:
  explicit CalledByName(Host host) : host_(host) {}
  const Host& host() const { return host_; }

  // Adds a function, or replaces the one of this name. The table keeps it, and with it what it belongs
  // to, until clear().
  void add(std::string_view name, ObjectRef function);
  void clear();
  // Returns a function of the table, else one that the program or a plugin provides; empty: there is
  // none.
  Result<ObjectRef> find(std::string_view name) const;
  // The same without the table.
  Result<ObjectRef> find_global(std::string_view name) const;

 private:
  const Host host_;
  mutable std::mutex mutex_;
  std::map<std::string, ObjectRef, std::less<>> functions_;
};

// A row as Builtin is, for functions with that state.
struct NamedCallFunction {
  // "vm.builtin.call_py_func"
  std::string_view name;
  // "call_py_func((name, args))"
  std::string_view usage;
  Result<Value> (*run)(CalledByName& functions, const Call& call);
};

// source   apache/tvm src/runtime/vm/builtin.cc
std::span<const NamedCallFunction> named_call_functions();

}  // namespace gantry::relax
