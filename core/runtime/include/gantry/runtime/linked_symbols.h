// SPDX-License-Identifier: Apache-2.0
//
// gantry/runtime/linked_symbols.h - between libgantry and the archive libgantry_system_library.a,
// which programs with a system library contain; see gantry/system_library.hpp.
#ifndef GANTRY_RUNTIME_LINKED_SYMBOLS_H
#define GANTRY_RUNTIME_LINKED_SYMBOLS_H

#include <gantry/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

// Of the compiled code that has registered a symbol.
enum { GANTRY_DIALECT_PACKED = 0, GANTRY_DIALECT_FFI = 1 };

typedef struct gantry_linked_symbol {
  // valid as long as the program
  const char* name;
  void* address;
  // GANTRY_DIALECT_*
  uint32_t dialect;
} gantry_linked_symbol;

// The symbols that constructors of one program or shared library have registered, in their order.
typedef struct gantry_linked_symbols {
  const gantry_linked_symbol* symbols;
  uint64_t count;
  // identifies the program or shared library
  const void* image;
} gantry_linked_symbols;

// Returns the address of a function that compiled code of a dialect calls by this name:
// "TVMBackendAllocWorkspace". NULL: gantry has no such function.
//
// thread   any
GANTRY_EXPORT void* gantry_host_function(const char* name, uint32_t dialect);

#ifdef __cplusplus
}
#endif

#endif  // GANTRY_RUNTIME_LINKED_SYMBOLS_H
