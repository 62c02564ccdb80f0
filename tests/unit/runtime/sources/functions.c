// SPDX-License-Identifier: Apache-2.0
//
// Functions that a library exports: arguments and results of every kind that compiled code takes.
#include "cpu_code.h"

// Returns an integer and a float, added.
FUNCTION(sum) {
  UNUSED;
  if (count != 2) RAISE("TypeError", "Expected 2 arguments");
  if (KIND(0) != INT) RAISE("TypeError", "Mismatched type on argument #0, expected int");
  const double second = KIND(1) == FLOAT ? args[1].f : (double)args[1].i;
  RETURN_FLOAT((double)args[0].i + second);
}

// Returns its integer, negated.
FUNCTION(negative) {
  UNUSED;
  RETURN_INT(-args[0].i);
}

FUNCTION(nothing) {
  UNUSED;
  return 0;
}

FUNCTION(text_size) {
  UNUSED;
  const char* text = TEXT_IN(0);
  if (!text) RAISE("TypeError", "Mismatched type on argument #0, expected str");
  RETURN_INT((int64_t)strlen(text));
}

// y = factor * x, for float32 tensors.
FUNCTION(scale) {
  UNUSED;
  Tensor *x = TENSOR_IN(0), *y = TENSOR_IN(2);
  if (!x || !y) RAISE("TypeError", "Mismatched type on argument #0, expected Tensor");
  if (x->ndim != 2 || x->code != 2 || x->bits != 32 || x->lanes != 1)
    RAISE("TypeError", "Mismatched x.dtype or x.ndim");
  if (x->device_type != 1 || x->byte_offset != 0) RAISE("ValueError", "Mismatched x.device");
  if (x->strides && (x->strides[1] != 1 || x->strides[0] != x->shape[1]))
    RAISE("ValueError", "Mismatched x.strides");
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i)
    ((float*)y->data)[i] = (float)args[1].f * ((float*)x->data)[i];
  return 0;
}

// Calls a function by its name with the other arguments and returns its result.
FUNCTION(call_by_name) {
  UNUSED;
  void* function = 0;
  if (RUNTIME(TVMBackendGetFuncFromEnv)(CONTEXT, TEXT_IN(0), &function)) return -1;
  return CALL_WITH_REST(function);
}

// Calls a function by its name and returns the size of its text.
FUNCTION(size_of_result) {
  UNUSED;
  void* function = 0;
  if (RUNTIME(TVMBackendGetFuncFromEnv)(CONTEXT, TEXT_IN(0), &function)) return -1;
  if (CALL_WITH_REST(function)) return -1;
  const char* text = RESULT_TEXT();
  const int64_t size = text ? (int64_t)strlen(text) : -1;
  RELEASE_RESULT();
  RETURN_INT(size);
}

// What detectors do with their scores: the order of the first `count` boxes of each image, and the two
// best boxes with their numbers.
FUNCTION(best_boxes) {
  UNUSED;
  void *argsort = 0, *topk = 0;
  if (RUNTIME(TVMBackendGetFuncFromEnv)(CONTEXT, "tvm.contrib.sort.argsort_nms", &argsort) ||
      RUNTIME(TVMBackendGetFuncFromEnv)(CONTEXT, "tvm.contrib.sort.topk", &topk))
    return -1;
  List list;
  for (int i = 0; i < 3; ++i) set_tensor(&list, i, TENSOR_IN(i));
  set_int(&list, 3, 1);
  set_bool(&list, 4, 0);
  if (call_function(&list, argsort, 5)) return -1;
  set_tensor(&list, 0, TENSOR_IN(0));
  set_tensor(&list, 1, TENSOR_IN(3));
  set_tensor(&list, 2, TENSOR_IN(4));
  set_int(&list, 3, 2);
  set_int(&list, 4, -1);
  set_text(&list, 5, "both");
  set_bool(&list, 6, 0);
  return call_function(&list, topk, 7);
}

FUNCTION(use_workspace) {
  UNUSED;
  void* data = RUNTIME(TVMBackendAllocWorkspace)(1, 0, (uint64_t)args[0].i, 2, 32);
  if (!data) return -1;
  memset(data, 1, (size_t)args[0].i);
  return RUNTIME(TVMBackendFreeWorkspace)(1, 0, data);
}

// The entry of the file.
#if TVM_MINOR <= 21
FUNCTION(entry) {
#else
FUNCTION(main) {
#endif
  UNUSED;
  RETURN_INT(TVM_MINOR);
}
