// SPDX-License-Identifier: Apache-2.0
//
// The archive libgantry_system_library.a: what objects of a system library import, hidden in the
// program or shared library that contains them.
//
//     registration   fills the table of gantry_system_symbols()
//     others         call the function of libgantry; those that differ between the dialects and have
//                    one name are of the ffi dialect of TVM 0.22 and later
//
// source   apache/tvm include/tvm/runtime/c_runtime_api.h, c_backend_api.h; apache/tvm-ffi
//          include/tvm/ffi/c_api.h, include/tvm/ffi/extra/c_env_api.h
#include <gantry/linked_symbols.h>

#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

static gantry_linked_symbol* symbols;
static uint64_t count, capacity;

// Called by constructors, which run one after the other.
static int add(const char* name, void* address, uint32_t dialect) {
  if (count == capacity) {
    const uint64_t larger = capacity == 0 ? 64 : capacity * 2;
    gantry_linked_symbol* const moved = realloc(symbols, larger * sizeof *symbols);
    if (moved == NULL) return -1;
    symbols = moved;
    capacity = larger;
  }
  const gantry_linked_symbol added = {name, address, dialect, 0};
  symbols[count++] = added;
  return 0;
}

HIDDEN gantry_linked_symbols gantry_system_symbols(void);
HIDDEN gantry_linked_symbols gantry_system_symbols(void) {
  const gantry_linked_symbols all = {symbols, count, &count};
  return all;
}

#define REGISTRATION(name, dialect)                   \
  HIDDEN int name(const char* symbol, void* address); \
  HIDDEN int name(const char* symbol, void* address) { return add(symbol, address, dialect); }

REGISTRATION(TVMBackendRegisterSystemLibSymbol, GANTRY_DIALECT_PACKED)
REGISTRATION(TVMFFIEnvModRegisterSystemLibSymbol, GANTRY_DIALECT_FFI)
// of development builds in August 2025
REGISTRATION(TVMFFIEnvRegisterSystemLibSymbol, GANTRY_DIALECT_FFI)

// Defines a function that calls the one of libgantry.
#define FORWARD(result, name, dialect, parameters, arguments)   \
  HIDDEN result name parameters;                                \
  HIDDEN result name parameters {                               \
    static void* known;                                         \
    void* function = __atomic_load_n(&known, __ATOMIC_RELAXED); \
    if (function == NULL) {                                     \
      function = gantry_host_function(#name, dialect);          \
      __atomic_store_n(&known, function, __ATOMIC_RELAXED);     \
    }                                                           \
    result(*call) parameters;                                   \
    *(void**)&call = function;                                  \
    return call arguments;                                      \
  }
#define FORWARD_VOID(name, dialect, parameters, arguments) \
  HIDDEN void name parameters;                             \
  HIDDEN void name parameters {                            \
    void(*call) parameters;                                \
    *(void**)&call = gantry_host_function(#name, dialect); \
    call arguments;                                        \
  }

FORWARD(int, TVMFuncCall, GANTRY_DIALECT_PACKED,
        (void* function_, void* args, int* codes, int n, void* out, int* code),
        (function_, args, codes, n, out, code))
FORWARD_VOID(TVMAPISetLastError, GANTRY_DIALECT_PACKED, (const char* text), (text))

FORWARD(int, TVMFFIFunctionCall, GANTRY_DIALECT_FFI,
        (void* function_, void* args, int32_t n, void* out), (function_, args, n, out))
FORWARD_VOID(TVMFFIErrorSetRaisedFromCStr, GANTRY_DIALECT_FFI, (const char* kind, const char* text),
             (kind, text))
FORWARD_VOID(TVMFFIErrorSetRaisedFromCStrParts, GANTRY_DIALECT_FFI,
             (const char* kind, const char** parts, int32_t n), (kind, parts, n))
FORWARD(int, TVMFFIEnvModLookupFromImports, GANTRY_DIALECT_FFI,
        (void* context, const char* name, void** out), (context, name, out))
FORWARD(int, TVMFFIHandleInitOnce, GANTRY_DIALECT_FFI, (void** slot, int (*init)(void**)),
        (slot, init))
FORWARD(void*, TVMFFIEnvGetStream, GANTRY_DIALECT_FFI, (int32_t type, int32_t index), (type, index))
FORWARD(int, TVMBackendAnyListSetPackedArg, GANTRY_DIALECT_FFI,
        (void* list, int index, void* args, int arg), (list, index, args, arg))
FORWARD(int, TVMBackendAnyListMoveFromPackedReturn, GANTRY_DIALECT_FFI,
        (void* list, int index, void* args, int out), (list, index, args, out))

FORWARD(int, TVMBackendAnyListResetItem, GANTRY_DIALECT_FFI, (void* list, int index), (list, index))
FORWARD(int, TVMBackendGetFuncFromEnv, GANTRY_DIALECT_PACKED,
        (void* context, const char* name, void** out), (context, name, out))
FORWARD(void*, TVMBackendAllocWorkspace, GANTRY_DIALECT_PACKED,
        (int type, int index, uint64_t bytes, int code, int bits), (type, index, bytes, code, bits))
FORWARD(int, TVMBackendFreeWorkspace, GANTRY_DIALECT_PACKED, (int type, int index, void* data),
        (type, index, data))
FORWARD(int, TVMBackendParallelLaunch, GANTRY_DIALECT_PACKED,
        (int (*task)(int, void*, void*), void* data, int n), (task, data, n))
FORWARD(int, TVMBackendParallelBarrier, GANTRY_DIALECT_PACKED, (int task, void* group),
        (task, group))
FORWARD(int, TVMBackendRunOnce, GANTRY_DIALECT_PACKED,
        (void** slot, int (*task)(void*), void* data, int bytes), (slot, task, data, bytes))
FORWARD(uint16_t, __gnu_f2h_ieee, GANTRY_DIALECT_PACKED, (float value), (value))
FORWARD(float, __gnu_h2f_ieee, GANTRY_DIALECT_PACKED, (uint16_t value), (value))
