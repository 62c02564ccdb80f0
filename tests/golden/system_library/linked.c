// SPDX-License-Identifier: Apache-2.0
//
// The CPU code of graph_linked in a system library with a prefix: TVM's registration, which
// includes the prefix. The container is an object that `gantry pack` has written.
//
// source   apache/tvm src/target/func_registry_generator.cc
#include "../graph_linked/linked.c"

int TVMBackendRegisterSystemLibSymbol(const char* name, void* symbol);

__attribute__((constructor)) static void register_linked(void) {
  TVMBackendRegisterSystemLibSymbol("linked_multiply_add", __extension__(void*) multiply_add);
  TVMBackendRegisterSystemLibSymbol("linked__lookup_linked_param",
                                    __extension__(void*) _lookup_linked_param);
}
