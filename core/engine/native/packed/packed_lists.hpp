// SPDX-License-Identifier: Apache-2.0
//
// Lists of values in code of the packed dialect: the registers of a Relax virtual machine of TVM
// 0.16 to 0.20 whose functions are compiled. The code accesses a list, an array of gantry_value, with
// these functions only. Each may be called from any thread that runs CPU code.
//
// source   apache/tvm src/runtime/relax_vm/builtin.cc
#pragma once

#include "core/engine/native/packed/tvm_abi.hpp"

namespace gantry {

// TVMBackendAnyListSetPackedArg: args[arg] = list[index], borrowed until the item changes.
//
// returns  -1 for small bytes, which have no address that stays valid
int list_set_packed_arg(void* list, int index, PackedValue* args, int* codes, int arg);
// TVMBackendAnyListMoveFromPackedReturn: list[index] = args[result], a result of TVMFuncCall or of a
// function of the library.
//
// returns  -1 for a value that cannot be owned; the item is unchanged
int list_move_from_packed_return(void* list, int index, PackedValue* args, int* codes, int result);

}  // namespace gantry
