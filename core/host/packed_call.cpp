// SPDX-License-Identifier: Apache-2.0
#include "core/host/packed_call.hpp"

#include "core/host/packed_values.hpp"
#include "core/module/module_graph.hpp"

#include <gantry/quoted.hpp>
#include <gantry/wall.hpp>

#include <memory>
#include <new>

namespace gantry {
namespace {

// Why the call that just ended failed: the cause that it left, or that it left none.
Error take_cause(HostThread& thread, const HostFunction& function) {
  Error cause = invalid("it fails and says nothing: it was compiled without error texts")
                    .because("HOST_CODE");
  if (thread.failed) {
    thread.failed = false;
    cause = std::move(thread.error);
    if (cause.message.empty()) cause.message = "it fails with an empty text";
  }
  return cause.at("in host function ", quoted(function.name), " of ", function.place);
}

Result<OwnedValue> call_host(const HostFunction& function, const gantry_env& env,
                             const gantry_value* args, std::int32_t count) {
  if (count < 0) return invalid("a call has ", count, " arguments, least is 0");
  PackedArguments packed(count);
  if (auto filled = packed.fill(*function.node, args); !filled.ok()) {
    return std::move(filled).error().at("in host function ", quoted(function.name), " of ",
                                        function.place);
  }
  PackedValue result{};
  int result_code = kPackedNull;
  HostScope scope(function.services, function.node, env);
  if (function.code(packed.values(), packed.codes(), count, &result, &result_code, nullptr) != 0) {
    return take_cause(scope.thread(), function);
  }
  if (result_code == kPackedNull) return OwnedValue();
  auto owned = result_from_host(*function.node, result, result_code);
  if (!owned.ok())
    owned.error().at("in host function ", quoted(function.name), " of ", function.place);
  return owned;
}

gantry_code call_entry(void* self, const gantry_env* env, const gantry_value* args,
                       std::int32_t count, gantry_value* result, gantry_status* status) {
  return wall(status, [&]() -> Status {
    GANTRY_TRY(OwnedValue owned, call_host(*static_cast<HostFunction*>(self), *env, args, count));
    *result = owned.take();
    return {};
  });
}

// Hands a result to host code. What needs an owner is kept by the thread until its next call.
Status give_result(HostThread& thread, OwnedValue value, PackedValue* result, int* code) {
  thread.kept = std::move(value);
  const gantry_value& kept = thread.kept.get();
  result->i = kept.i;
  switch (kept.kind) {
    case GANTRY_NONE:
      *code = kPackedNull;
      break;
    case GANTRY_INT:
    case GANTRY_BOOL:
      *code = kPackedInt;
      break;
    case GANTRY_FLOAT:
      *code = kPackedFloat;
      break;
    case GANTRY_POINTER:
      *code = kPackedHandle;
      break;
    case GANTRY_DTYPE:
      *code = kPackedDtype;
      break;
    case GANTRY_DEVICE:
      if (thread.node) result->device.type = to_artifact(*thread.node, kept.device.type);
      *code = kPackedDevice;
      break;
    case GANTRY_SMALL_STRING:
    case GANTRY_SMALL_BYTES: {
      const bool text = kept.kind == GANTRY_SMALL_STRING;
      if (kept.small_size > 8)
        return bug("a small text has ", kept.small_size, " bytes, most is 8");
      GANTRY_TRY(Ref<TextObject> object,
                 new_text(text ? GANTRY_STRING : GANTRY_BYTES, {kept.small, kept.small_size}));
      return give_result(thread, OwnedValue(std::move(object)), result, code);
    }
    case GANTRY_STRING:
    case GANTRY_BYTES:
      gantry_value_bytes(&kept, &thread.kept_bytes);
      if (kept.kind == GANTRY_STRING) {
        result->s = thread.kept_bytes.data;
      } else {
        result->p = &thread.kept_bytes;
      }
      *code = kept.kind == GANTRY_STRING ? kPackedString : kPackedBytes;
      break;
    case GANTRY_FUNCTION:
      *code = kPackedFunction;
      break;
    case GANTRY_MODULE:
      *code = kPackedModule;
      break;
    default: {
      const std::string what = name_of_kind(kept.kind);
      thread.kept = {};
      return invalid("a function that host code calls returns ", what,
                     ", which does not cross to host code")
          .because("RESULT_KIND");
    }
  }
  return {};
}

Status call_out(FunctionObject& function, const PackedValue* args, const int* codes, int count,
                PackedValue* result, int* result_code) {
  HostThread& thread = here();
  if (count < 0) return invalid("a call has ", count, " arguments, least is 0");
  GantryArguments values(count);
  GANTRY_CHECK(values.fill(thread.node, args, codes));

  // A function of a device runs on the current device of that kind, in the call's stream where that is its device.
  gantry_env env = thread.env;
  if (function.device_type != 0) {
    env.device = {
        function.device_type,
        thread.index[static_cast<std::size_t>(function.device_type) & (kDeviceTypeCount - 1)]};
    const bool same =
        env.device.type == thread.env.device.type && env.device.index == thread.env.device.index;
    if (!same) env.stream = nullptr;
  }
  GANTRY_TRY(OwnedValue owned,
             call(function, &env, {values.values(), static_cast<std::size_t>(count)}));
  return give_result(thread, std::move(owned), result, result_code);
}

}  // namespace

const gantry_function_table* host_function_table() {
  static constexpr gantry_function_table table{
      sizeof(gantry_function_table), 0, [](void* self) { delete static_cast<HostFunction*>(self); },
      call_entry};
  return &table;
}

int call_from_host(void* function, PackedValue* args, int* codes, int count, PackedValue* result,
                   int* result_code) {
  try {
    if (function == nullptr || static_cast<gantry_object*>(function)->kind != GANTRY_FUNCTION) {
      return fail_here(invalid("TVMFuncCall is given a handle that is no function"));
    }
    auto called =
        call_out(*static_cast<FunctionObject*>(function), args, codes, count, result, result_code);
    return called.ok() ? 0 : fail_here(std::move(called).error());
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory"));
  } catch (const std::exception& thrown) {
    return fail_here(bug(thrown.what()));
  }
}

}  // namespace gantry
