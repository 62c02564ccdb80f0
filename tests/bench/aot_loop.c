// SPDX-License-Identifier: Apache-2.0
//
// An ahead-of-time model without tensors, whose function makes the calls of a table. The benchmark
// fills the table with the operators of another model.
#include "tests/support/aot_model.h"

typedef struct {
  int (*call)(Value* args, int* codes, int count, Value* result, int* result_code, void* resource);
  Value* args;
  int* codes;
  int count;
} OperatorCall;

const OperatorCall* aot_loop_calls;
int64_t aot_loop_count;

static const Metadata metadata = {1, 0, 0, 0, 0, 0, 0, 0, 0, "tvmgen_loop"};

int get_c_metadata(Value* args, int* codes, int count, Value* result, int* result_code,
                   void* resource) {
  (void)args, (void)codes, (void)count, (void)resource;
  result->address = (void*)&metadata;
  *result_code = 3;
  return 0;
}

int tvmgen_loop___tvm_main__(Value* args, int* codes, int count, Value* result, int* result_code,
                             void* resource) {
  (void)args, (void)codes, (void)count, (void)result, (void)result_code, (void)resource;
  for (int64_t i = 0; i < aot_loop_count; ++i) {
    const OperatorCall* const each = aot_loop_calls + i;
    Value ignored;
    int code;
    const int failed = each->call(each->args, each->codes, each->count, &ignored, &code, 0);
    if (failed) return failed;
  }
  return 0;
}
