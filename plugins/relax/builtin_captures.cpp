// SPDX-License-Identifier: Apache-2.0
//
// Functions for CUDA graphs.
#include "vm.hpp"

#include <algorithm>

namespace gantry::relax {
namespace {

Result<gantry_object*> function_at(const Call& call, std::size_t i) {
  if (call.args[i].kind < GANTRY_OBJECT) return call.wrong(i, "a function");
  return call.args[i].object;
}

Result<Value> get_cached_alloc(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(Vm* const vm, Vm::of(call, 0));
  GANTRY_TRY(gantry_object* const function, function_at(call, 1));
  GANTRY_TRY(const std::int64_t entry, call.integer(2));
  return vm->captures().allocation(*vm, call.env, function, entry);
}

// The shape is the function's last argument, and part of the entry's key.
Result<Value> run_or_capture(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(4, 5));
  GANTRY_TRY(Vm* const vm, Vm::of(call, 0));
  GANTRY_TRY(gantry_object* const function, function_at(call, 1));
  GANTRY_TRY(gantry_object* const tuple, call.object(2, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, host.items(tuple));
  GANTRY_TRY(const std::int64_t entry, call.integer(3));
  std::span<const std::int64_t> shape;
  if (call.args.size() == 5) {
    GANTRY_TRY(shape, call.shape(4));
  }
  const auto last = call.args.subspan(4);
  // The function may call this one, in which case there are many lists.
  GANTRY_CHECK(vm->stack().reserve(items.size() + last.size()));
  const ArgumentList args(vm->stack(), items.size() + last.size());
  const auto after = std::ranges::copy(items, args.data()).out;
  std::ranges::copy(last, after);
  return vm->captures().run(*vm, call.env, function, args.values(), {entry, shape});
}

constexpr Builtin capture_rows[] = {
    {"vm.builtin.cuda_graph.get_cached_alloc", "get_cached_alloc(vm, function, entry)",
     get_cached_alloc},
    {"vm.builtin.cuda_graph.run_or_capture", "run_or_capture(vm, function, tuple, entry, shape)",
     run_or_capture},
};

}  // namespace

std::span<const Builtin> capture_builtins() { return capture_rows; }

}  // namespace gantry::relax
