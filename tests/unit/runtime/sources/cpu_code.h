// SPDX-License-Identifier: Apache-2.0
//
// CPU code as compilers of TVM write it, for releases of which no artifact exists. Written from the
// layouts and symbols of each release.
//
//     TVM_MINOR       release, 16 to 24: v0.16 to v0.20 are the packed dialect, later ones the ffi
//                     dialect
//     WITH_VARIABLES  functions of the runtime are received in variables, as in files from LLVM;
//                     else imported, as in files from C
#pragma once

#include "tests/support/host_values.h"

#include <string.h>

#ifdef WITH_VARIABLES
#define FROM_RUNTIME(type, name, parameters) type(*__##name) parameters
#define RUNTIME(name) __##name
#else
#define FROM_RUNTIME(type, name, parameters) extern type name parameters
#define RUNTIME(name) name
#endif

FROM_RUNTIME(int, TVMBackendGetFuncFromEnv, (void*, const char*, void**));
FROM_RUNTIME(void*, TVMBackendAllocWorkspace, (int, int, uint64_t, int, int));
FROM_RUNTIME(int, TVMBackendFreeWorkspace, (int, int, void*));
extern int TVMBackendAnyListResetItem(void*, int);

#if TVM_MINOR <= 20

typedef PackedValue Value;
enum { INT = 0, FLOAT = 2, HANDLE = 3, NONE = 4, TENSOR_ADDRESS = 7, TEXT = 11, TENSOR = 13 };

FROM_RUNTIME(int, TVMFuncCall, (void*, Value*, int*, int, Value*, int*));
FROM_RUNTIME(void, TVMAPISetLastError, (const char*));
extern int TVMBackendAnyListSetPackedArg(void*, int, Value*, int*, int);
extern int TVMBackendAnyListMoveFromPackedReturn(void*, int, Value*, int*, int);
void* __tvm_module_ctx = 0;
#define CONTEXT __tvm_module_ctx

#define NAME(name) name
#define PARAMETERS \
  (Value * args, int* codes, int count, Value* result, int* result_code, void* resource)
#define UNUSED (void)args, (void)codes, (void)count, (void)result, (void)result_code, (void)resource
#define KIND(i) codes[i]
#define RETURN_INT(number) return result->i = (number), *result_code = INT, 0
#define RETURN_FLOAT(number) return result->f = (number), *result_code = FLOAT, 0
#define RAISE(kind, text) return RUNTIME(TVMAPISetLastError)(kind ": " text), -1

static inline Tensor* tensor_in(const Value* value, int code) {
  return code == HANDLE || code == NONE || code == TENSOR_ADDRESS || code == TENSOR ? value->p : 0;
}
#define TENSOR_IN(i) tensor_in(&args[i], codes[i])
#define TEXT_IN(i) (args[i].s)

// Calls a function with the arguments of the caller except the first.
#define CALL_WITH_REST(function) \
  RUNTIME(TVMFuncCall)(function, args + 1, codes + 1, count - 1, result, result_code)
#define RESULT_TEXT() (*result_code == TEXT ? result->s : 0)
// The runtime owns it.
#define RELEASE_RESULT() (void)0

// An argument list with its result behind the last argument.
typedef struct {
  Value values[16];
  int codes[16];
} List;
static inline void set_int(List* list, int i, int64_t number) {
  list->values[i].i = number;
  list->codes[i] = INT;
}
static inline void set_handle(List* list, int i, void* address) {
  list->values[i].p = address;
  list->codes[i] = HANDLE;
}
static inline void set_tensor(List* list, int i, Tensor* tensor) {
  list->values[i].p = tensor;
  list->codes[i] = TENSOR_ADDRESS;
}
static inline void set_text(List* list, int i, const char* text) {
  list->values[i].s = text;
  list->codes[i] = TEXT;
}
// Code of these releases has no other booleans.
static inline void set_bool(List* list, int i, int truth) { set_int(list, i, truth); }
static inline int set_item(List* list, int i, void* items, int index) {
  return TVMBackendAnyListSetPackedArg(items, index, list->values, list->codes, i);
}
static inline int move_result(List* list, int count, void* items, int index) {
  return TVMBackendAnyListMoveFromPackedReturn(items, index, list->values, list->codes, count);
}
static inline int call_function(List* list, void* function, int count) {
  return RUNTIME(TVMFuncCall)(function, list->values, list->codes, count, &list->values[count],
                              &list->codes[count]);
}
typedef int Kernel(Value*, int*, int, Value*, int*, void*);
static inline int call_kernel(List* list, Kernel* kernel, int count) {
  list->codes[count] = NONE;
  return kernel(list->values, list->codes, count, &list->values[count], &list->codes[count], 0);
}

#else

typedef FfiValue Value;
enum { NONE, INT, BOOL, FLOAT, HANDLE, TENSOR_ADDRESS = 7, RAW_TEXT = 8, SMALL_TEXT = 11 };

#if TVM_MINOR == 21
// in front of the content of an object, which has a reference count of 32 bits
enum { HEADER = 16, TEXT = 65, TENSOR = 72 };
#define NAME(name) name
#define CONTEXT __tvm_ffi_library_ctx
// the name of the file's entry
const char __tvm_main__[] = "entry";
#else
enum { HEADER = 24, TEXT = 65, TENSOR = 70 };
#define NAME(name) __tvm_ffi_##name
#define CONTEXT __tvm_ffi__library_ctx
#endif
void* CONTEXT = 0;

FROM_RUNTIME(int, TVMFFIFunctionCall, (void*, Value*, int32_t, Value*));
#if TVM_MINOR < 24
FROM_RUNTIME(void, TVMFFIErrorSetRaisedFromCStr, (const char*, const char*));
#define RAISE(kind, text) return RUNTIME(TVMFFIErrorSetRaisedFromCStr)(kind, text), -1
#else
// also files from LLVM import it
extern void TVMFFIErrorSetRaisedFromCStrParts(const char*, const char**, int32_t);
#define RAISE(kind, text) \
  return TVMFFIErrorSetRaisedFromCStrParts(kind, (const char*[]){text}, 1), -1
#endif
extern int TVMBackendAnyListSetPackedArg(void*, int, Value*, int);
extern int TVMBackendAnyListMoveFromPackedReturn(void*, int, Value*, int);

#define PARAMETERS (void* self, Value* args, int32_t count, Value* result)
#define UNUSED (void)self, (void)args, (void)count, (void)result
#define KIND(i) args[i].kind
#define RETURN_INT(number) return result->i = (number), result->kind = INT, 0
#define RETURN_FLOAT(number) return result->f = (number), result->kind = FLOAT, 0

static inline Tensor* tensor_in(const Value* value) {
  if (value->kind == TENSOR) return (Tensor*)((char*)value->p + HEADER);
  const int is_address = value->kind == NONE || value->kind == HANDLE ||
                         value->kind == TENSOR_ADDRESS || value->kind >= 64;
  return is_address ? value->p : 0;
}
#define TENSOR_IN(i) tensor_in(&args[i])
static inline const char* text_in(const Value* value) {
  if (value->kind == RAW_TEXT) return value->s;
#if TVM_MINOR > 21
  if (value->kind == SMALL_TEXT) return value->small;
#endif
  return value->kind == TEXT ? *(const char**)((char*)value->p + HEADER) : 0;
}
#define TEXT_IN(i) text_in(&args[i])

#define CALL_WITH_REST(function) RUNTIME(TVMFFIFunctionCall)(function, args + 1, count - 1, result)
#define RESULT_TEXT() text_in(result)
#define RELEASE_RESULT() release(result)
static inline void release(Value* value) {
  Value list[1] = {{0}};
  TVMBackendAnyListMoveFromPackedReturn(list, 0, value, 0);
  TVMBackendAnyListResetItem(list, 0);
}

typedef struct {
  Value values[16];
} List;
static inline void set_int(List* list, int i, int64_t number) {
  list->values[i] = (Value){.kind = INT, .i = number};
}
static inline void set_handle(List* list, int i, void* address) {
  list->values[i] = (Value){.kind = HANDLE, .p = address};
}
static inline void set_tensor(List* list, int i, Tensor* tensor) {
  list->values[i] = (Value){.kind = TENSOR_ADDRESS, .p = tensor};
}
static inline void set_text(List* list, int i, const char* text) {
  list->values[i] = (Value){.kind = RAW_TEXT, .s = text};
}
static inline void set_bool(List* list, int i, int truth) {
  list->values[i] = (Value){.kind = BOOL, .i = truth};
}
static inline int set_item(List* list, int i, void* items, int index) {
  return TVMBackendAnyListSetPackedArg(items, index, list->values, i);
}
static inline int move_result(List* list, int count, void* items, int index) {
  return TVMBackendAnyListMoveFromPackedReturn(items, index, list->values, count);
}
static inline int call_function(List* list, void* function, int count) {
  list->values[count] = (Value){0};
  return RUNTIME(TVMFFIFunctionCall)(function, list->values, count, &list->values[count]);
}
typedef int Kernel(void*, Value*, int32_t, Value*);
static inline int call_kernel(List* list, Kernel* kernel, int count) {
  list->values[count] = (Value){0};
  return kernel(0, list->values, count, &list->values[count]);
}

#endif

#define FUNCTION(name) int NAME(name) PARAMETERS
