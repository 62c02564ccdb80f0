// SPDX-License-Identifier: Apache-2.0
//
// The library of a Relax executable: kernels, and functions that the compiler translated to host
// code. tests/unit/runtime/relax_artifact_test.cpp has the same program as bytecode.
#include "cpu_code.h"

// heap[1] = bytes of float32[heap[0], 4]; heap[2] = its elements.
FUNCTION(sizes) {
  UNUSED;
  Tensor* heap = TENSOR_IN(0);
  if (!heap) RAISE("TypeError", "sizes: expected Tensor");
  int64_t* numbers = heap->data;
  numbers[1] = numbers[0] * 16;
  numbers[2] = numbers[0] * 4;
  return 0;
}

// y = x + w, for x and y float32[n, 4] and w float32[4].
FUNCTION(add) {
  UNUSED;
  Tensor *x = TENSOR_IN(0), *w = TENSOR_IN(1), *y = TENSOR_IN(2);
  if (!x || !w || !y) RAISE("TypeError", "add: expected Tensor");
  if (w->shape[0] != 4) RAISE("ValueError", "Mismatched w.shape[0], expected 4");
  const int64_t size = x->shape[0] * 4;
  float* sums = RUNTIME(TVMBackendAllocWorkspace)(1, 0, (uint64_t)size * 4, 2, 32);
  if (!sums) return -1;
  for (int64_t i = 0; i < size; ++i) sums[i] = ((float*)x->data)[i] + ((float*)w->data)[i % 4];
  memcpy(y->data, sums, (size_t)size * 4);
  return RUNTIME(TVMBackendFreeWorkspace)(1, 0, sums);
}

FUNCTION(half) {
  UNUSED;
  RETURN_FLOAT(0.5);
}

// Fills x with 100 * rows + columns.
FUNCTION(fill) {
  UNUSED;
  Tensor* x = TENSOR_IN(0);
  if (!x || count != 3 || KIND(1) != INT || KIND(2) != INT)
    RAISE("TypeError", "fill: expected int");
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i)
    ((float*)x->data)[i] = (float)(100 * args[1].i + args[2].i);
  return 0;
}

#define INT_ARG(i, number) set_int(&list, i, number)
#define VM_ARG(i) set_handle(&list, i, vm)
#define ITEM(i, items, index) \
  if (set_item(&list, i, items, index)) return -1
#define CALL(name, count)                                                                    \
  do {                                                                                       \
    static void* function;                                                                   \
    if (!function && RUNTIME(TVMBackendGetFuncFromEnv)(CONTEXT, name, &function)) return -1; \
    if (call_function(&list, function, count)) return -1;                                    \
  } while (0)
#define KERNEL(name, count) \
  if (call_kernel(&list, NAME(name), count)) return -1
#define MOVE(count, index) \
  if (move_result(&list, count, regs, index)) return -1
#define COMPILED(name)                                                               \
  static int run_##name(void* vm, void* regs, void* consts, void* functions);        \
  FUNCTION(__vmtir__##name) {                                                        \
    UNUSED;                                                                          \
    if (count != 4 || KIND(0) != HANDLE) RAISE("TypeError", "Expected 4 arguments"); \
    return run_##name(args[0].p, args[1].p, args[2].p, args[3].p);                   \
  }                                                                                  \
  static int run_##name(void* vm, void* regs, void* consts, void* functions)

// Constants: 0 float32, 1 uint8, 2 "global", 3 the context of errors, 4 w.
COMPILED(main) {
  List list;
  (void)functions;
  ITEM(0, regs, 0);
  INT_ARG(1, 2);
  ITEM(2, consts, 0);
  ITEM(3, consts, 3);
  CALL("vm.builtin.check_tensor_info", 4);
  VM_ARG(0);
  INT_ARG(1, 3);
  CALL("vm.builtin.alloc_shape_heap", 2);
  MOVE(2, 2);
  ITEM(0, regs, 0);
  ITEM(1, regs, 2);
  INT_ARG(2, 2);
  INT_ARG(3, 1);
  INT_ARG(4, 0);
  INT_ARG(5, 0);
  INT_ARG(6, 4);
  ITEM(7, consts, 3);
  CALL("vm.builtin.match_shape", 8);
  ITEM(0, regs, 2);
  KERNEL(sizes, 1);
  ITEM(0, regs, 2);
  INT_ARG(1, 1);
  INT_ARG(2, 1);
  INT_ARG(3, 1);
  CALL("vm.builtin.make_shape", 4);
  MOVE(4, 3);
  VM_ARG(0);
  ITEM(1, regs, 3);
  INT_ARG(2, -1);
  ITEM(3, consts, 1);
  ITEM(4, consts, 2);
  CALL("vm.builtin.alloc_storage", 5);
  MOVE(5, 4);
  ITEM(0, regs, 2);
  INT_ARG(1, 2);
  INT_ARG(2, 1);
  INT_ARG(3, 0);
  INT_ARG(4, 0);
  INT_ARG(5, 4);
  CALL("vm.builtin.make_shape", 6);
  MOVE(6, 5);
  ITEM(0, regs, 4);
  INT_ARG(1, 0);
  ITEM(2, regs, 5);
  ITEM(3, consts, 0);
  CALL("vm.builtin.alloc_tensor", 4);
  MOVE(4, 6);
  if (TVMBackendAnyListResetItem(regs, 4)) return -1;
  ITEM(0, regs, 0);
  ITEM(1, consts, 4);
  ITEM(2, regs, 6);
  KERNEL(add, 3);
  ITEM(0, regs, 2);
  INT_ARG(1, 1);
  INT_ARG(2, 1);
  INT_ARG(3, 2);
  CALL("vm.builtin.make_shape", 4);
  MOVE(4, 7);
  ITEM(0, regs, 6);
  ITEM(1, regs, 7);
  CALL("vm.builtin.reshape", 2);
  MOVE(2, 8);
  KERNEL(half, 0);
  MOVE(0, 9);
  ITEM(0, regs, 6);
  ITEM(1, regs, 8);
  ITEM(2, regs, 9);
  ITEM(3, consts, 3);
  CALL("vm.builtin.make_tuple", 4);
  MOVE(4, 1);
  return 0;
}

// Calls function 0 through a closure.
COMPILED(again) {
  List list;
  (void)consts;
  VM_ARG(0);
  ITEM(1, functions, 0);
  ITEM(2, regs, 0);
  CALL("vm.builtin.invoke_closure", 3);
  MOVE(3, 1);
  return 0;
}

// Looks up a function that no runtime has.
COMPILED(lost) {
  List list;
  (void)vm, (void)regs, (void)consts, (void)functions;
  CALL("vm.builtin.lost", 0);
  return 0;
}
