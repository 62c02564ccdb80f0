// SPDX-License-Identifier: Apache-2.0
//
// Two system libraries as TVM's C code generator writes them, with prefix and without: their
// constructors register what they define, and they call the runtime by name.
//
// source   apache/tvm src/target/source/codegen_c_host.cc, src/target/func_registry_generator.cc
#include <stddef.h>
#include <stdint.h>

typedef union {
  int64_t i;
  void* p;
} value;

int TVMBackendRegisterSystemLibSymbol(const char* name, void* symbol);
int TVMBackendGetFuncFromEnv(void* context, const char* name, void** function);
int TVMFuncCall(void* function, value* args, int* codes, int count, value* result, int* code);
void* TVMBackendAllocWorkspace(int type, int index, uint64_t bytes, int code, int bits);
int TVMBackendFreeWorkspace(int type, int index, void* data);
void TVMAPISetLastError(const char* text);

enum { code_int = 0, cpu = 1 };

void* my___tvm_module_ctx = NULL;

// Doubles its argument in scratch memory.
static int32_t twice(value* args, int* codes, int count, value* result, int* result_code, void* r) {
  (void)codes, (void)r;
  if (count != 1) {
    TVMAPISetLastError("twice has one argument");
    return -1;
  }
  int64_t* const scratch = TVMBackendAllocWorkspace(cpu, 0, sizeof *scratch, code_int, 64);
  if (scratch == NULL) return -1;
  *scratch = args[0].i * 2;
  result->i = *scratch;
  *result_code = code_int;
  return TVMBackendFreeWorkspace(cpu, 0, scratch);
}

// Calls a function that the embedder adds.
static int32_t ask(value* args, int* codes, int count, value* result, int* result_code, void* r) {
  (void)args, (void)codes, (void)count, (void)r;
  static void* answer = NULL;
  if (answer == NULL && TVMBackendGetFuncFromEnv(my___tvm_module_ctx, "answer", &answer) != 0) {
    return -1;
  }
  value none[1];
  int none_codes[1];
  return TVMFuncCall(answer, none, none_codes, 0, result, result_code);
}

__attribute__((constructor)) static void start_up(void) {
  TVMBackendRegisterSystemLibSymbol("twice", __extension__(void*) twice);
  TVMBackendRegisterSystemLibSymbol("my_ask", __extension__(void*) ask);
  TVMBackendRegisterSystemLibSymbol("my___tvm_module_ctx", &my___tvm_module_ctx);
}
