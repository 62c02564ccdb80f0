// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_lists.hpp"

#include "core/engine/native/cpu_code_boundary.hpp"
#include "core/engine/native/packed/packed_values.hpp"
#include "core/engine/native/value_list.hpp"

namespace gantry {

int list_set_packed_arg(void* list, int index, PackedValue* args, int* codes, int arg) {
  return cpu_code_boundary([&]() -> Status {
    const gantry_value& item = list_item(list, index);
    if (item.kind == GANTRY_SMALL_STRING) {
      args[arg].s = item.small;
      codes[arg] = kPackedString;
      return {};
    }
    if (item.kind == GANTRY_SMALL_BYTES) {
      return invalid("register ", index,
                     " has bytes, which compiled code of TVM up to 0.20 cannot ",
                     "pass to a function")
          .with_reason("ARGUMENT_KIND");
    }
    const PackedItem borrowed = to_borrowed(here().call->owner.node, item);
    args[arg] = borrowed.value;
    codes[arg] = borrowed.code;
    return {};
  });
}

int list_move_from_packed_return(void* list, int index, PackedValue* args, int* codes, int result) {
  return cpu_code_boundary([&]() -> Status {
    CpuThread& thread = here();
    if (thread.call->owner.node == nullptr) {
      return bug(
          "TVMBackendAnyListMoveFromPackedReturn is called on a thread that no gantry call has "
          "entered");
    }
    GANTRY_TRY(Value value, item_from_host(*thread.call->owner.node, args[result], codes[result]));
    // A result of TVMFuncCall is no longer needed by the thread.
    if (holds_object(value.get()) && holds_object(thread.kept.get()) &&
        thread.kept.get().object == value.get().object) {
      thread.kept = {};
    }
    set_list_item(list, index, std::move(value));
    return {};
  });
}

}  // namespace gantry
