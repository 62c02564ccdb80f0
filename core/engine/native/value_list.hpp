// SPDX-License-Identifier: Apache-2.0
//
// Lists of values that compiled code addresses by index: the registers, constants and functions of a
// Relax virtual machine whose functions are compiled. How an item becomes an argument depends on the
// dialect: packed/packed_lists.hpp, ffi/ffi_functions.hpp.
#pragma once

#include "core/engine/tensor/object.hpp"

#include <gantry/value.h>

#include <utility>

namespace gantry {

// list     [in]   the first of its gantry_value; each owns its object
inline gantry_value& list_item(void* list, int index) {
  return static_cast<gantry_value*>(list)[index];
}

inline void set_list_item(void* list, int index, Value value) {
  // The destructor of the old value may use the list again.
  const Value old = Value::adopt(std::exchange(list_item(list, index), value.take()));
}

// TVMBackendAnyListResetItem, in both dialects: list[index] = none.
inline int reset_list_item(void* list, int index) {
  set_list_item(list, index, {});
  return 0;
}

}  // namespace gantry
