// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/packed/packed_call.hpp"

#include "core/engine/module/module_graph.hpp"
#include "core/engine/native/cpu_code_boundary.hpp"
#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/packed/packed_values.hpp"

#include <gantry/abi_boundary.hpp>

#include <memory>

namespace gantry {
namespace {

// Max number of arguments of a call whose argument list is on the stack; compiled functions rarely
// have more.
constexpr std::int32_t kFewArguments = 16;

// Converts a result that is null or a number. Returns false for other results and leaves *result
// unchanged.
bool take_plain(PackedValue value, int code, gantry_value* result) {
  if (code == kPackedNull) return true;
  if (code != kPackedInt && code != kPackedFloat) return false;
  result->kind = code == kPackedInt ? GANTRY_INT : GANTRY_FLOAT;
  result->i = value.i;
  return true;
}

// Runs one call and returns the result of the CPU code: 0, or -1 after fail_here().
inline int run_code(CpuThread& thread, const CpuFunction& function, const gantry_env& env,
                    PackedValue* values, int* codes, std::int32_t count, PackedValue* result,
                    int* result_code) {
  CpuScope scope(thread, function.owner, env);
  return scope.returned(function.code(values, codes, count, result, result_code, nullptr));
}

// Calls with an argument list that to_plain_packed() does not convert. Not inlined, because a larger
// stack frame makes every call slower.
[[gnu::noinline]] gantry_code call_with_any(const CpuFunction& function, const gantry_env& env,
                                            const gantry_value* args, std::int32_t count,
                                            gantry_value* result, gantry_status* status) {
  if (count < 0)
    return to_status(invalid("a call has ", count, " arguments, minimum is 0"), status);
  PackedArguments packed(count);
  if (auto filled = packed.fill(*function.owner.node, args); !filled.ok())
    return to_status(in_function(std::move(filled).error(), function), status);
  PackedValue value{};
  int code = kPackedNull;
  const int returned =
      run_code(here(), function, env, packed.values(), packed.codes(), count, &value, &code);
  return finish_packed_call(function, returned, value, code, result, status);
}

// Calls with arguments in the code's layout, but with the runtime's device numbers.
[[gnu::noinline]] gantry_code call_translated(const CpuFunction& function, const gantry_env& env,
                                              const PackedValue* values, const int* codes,
                                              std::int32_t count, gantry_value* result,
                                              gantry_status* status) {
  GantryArguments args(count);
  if (auto filled = args.fill(nullptr, values, codes); !filled.ok())
    return to_status(filled.error(), status);
  return call_with_any(function, env, args.values(), count, result, status);
}

// Calls with arguments that need no conversion.
inline gantry_code call_plain(CpuThread& thread, const CpuFunction& function, const gantry_env& env,
                              PackedValue* values, int* codes, std::int32_t count,
                              gantry_value* result, gantry_status* status) {
  PackedValue value{};
  int code = kPackedNull;
  const int returned = run_code(thread, function, env, values, codes, count, &value, &code);
  if (returned == 0 && take_plain(value, code, result)) [[likely]]
    return GANTRY_OK;
  return finish_packed_call(function, returned, value, code, result, status);
}

gantry_code call_entry(void* self, const gantry_env* env, const gantry_value* args,
                       std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& function = *static_cast<CpuFunction*>(self);
    const KeptUntilHere kept;
    PackedValue values[kFewArguments];
    int codes[kFewArguments];
    const bool few =
        count >= 0 && count <= kFewArguments && !translates_devices(*function.owner.node);
    if (!few || !to_plain_packed(args, count, values, codes)) [[unlikely]]
      return call_with_any(function, *env, args, count, result, status);
    return call_plain(kept.thread(), function, *env, values, codes, count, result, status);
  });
}

// Converts a result for CPU code. An object is retained by the thread until its next call or until
// its outermost call of CPU code has returned.
Status return_result(CpuThread& thread, Value value, PackedValue* result, int* code) {
  thread.kept = std::move(value);
  const gantry_value& kept = thread.kept.get();
  // The bytes of a text are NUL-terminated in every form.
  if (gantry_value_bytes(&kept, &thread.kept_bytes)) {
    if (!gantry_value_is_canonical(&kept)) {
      return bug("a function called by CPU code returns a text that is not canonical: ",
                 kept.small_size, " bytes of kind ", kept.kind)
          .with_reason("VALUE_FORM");
    }
    const bool is_string = kept.kind == GANTRY_STRING || kept.kind == GANTRY_SMALL_STRING;
    if (is_string) {
      result->s = thread.kept_bytes.data;
    } else {
      result->p = &thread.kept_bytes;
    }
    *code = is_string ? kPackedString : kPackedBytes;
    return {};
  }
  const PackedItem item = to_borrowed(thread.call->owner.node, kept);
  *result = item.value;
  *code = item.code;
  return {};
}

Status call_out(FunctionObject& function, const PackedValue* args, const int* codes, int count,
                PackedValue* result, int* result_code) {
  CpuThread& thread = here();
  if (count < 0) return invalid("a call has ", count, " arguments, minimum is 0");
  GantryArguments values(count);
  GANTRY_CHECK(values.fill(thread.call->owner.node, args, codes));

  const gantry_env env = env_of_callee(thread, function.device_type);
  GANTRY_TRY(Value owned, call(function, &env, {values.values(), static_cast<std::size_t>(count)}));
  return return_result(thread, std::move(owned), result, result_code);
}

}  // namespace

const gantry_function_table* host_function_table() {
  static constexpr gantry_function_table table{
      sizeof(gantry_function_table), 0, [](void* self) { delete static_cast<CpuFunction*>(self); },
      call_entry};
  return &table;
}

gantry_code call_packed(void* self, const gantry_env* env, void* values, int* codes,
                        std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> gantry_code {
    const auto& function = *static_cast<CpuFunction*>(self);
    auto* const words = static_cast<PackedValue*>(values);
    const KeptUntilHere kept;
    if (translates_devices(*function.owner.node)) [[unlikely]]
      return call_translated(function, *env, words, codes, count, result, status);
    return call_plain(kept.thread(), function, *env, words, codes, count, result, status);
  });
}

const CpuFunction* host_function(const FunctionObject& function) {
  const gantry_function& target = unrecorded(function);
  return target.table == host_function_table() ? static_cast<const CpuFunction*>(target.self)
                                               : nullptr;
}

bool to_plain_packed(const gantry_value* args, std::int32_t count, PackedValue* values,
                     int* codes) {
  // One byte for each kind, in one integer, so that a look-up does not access memory.
  constexpr std::uint64_t kOther = 0xff;
  constexpr std::uint64_t codes_of_kinds =
      kOther << 8 * GANTRY_NONE | std::uint64_t{kPackedInt} << 8 * GANTRY_INT |
      std::uint64_t{kPackedInt} << 8 * GANTRY_BOOL |
      std::uint64_t{kPackedFloat} << 8 * GANTRY_FLOAT |
      std::uint64_t{kPackedHandle} << 8 * GANTRY_POINTER |
      std::uint64_t{kPackedDtype} << 8 * GANTRY_DTYPE | kOther << 8 * GANTRY_DEVICE |
      std::uint64_t{kPackedTensor} << 8 * GANTRY_TENSOR_REF;
  for (std::int32_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::uint32_t>(args[i].kind);
    if (kind >= sizeof codes_of_kinds) return false;
    const int code = static_cast<int>(codes_of_kinds >> 8 * kind & 0xff);
    if (code == kOther || (code == kPackedTensor && args[i].p == nullptr)) return false;
    values[i].i = args[i].i;
    codes[i] = code;
  }
  return true;
}

// Not inlined, because a larger stack frame makes every call slower.
[[gnu::noinline]] gantry_code finish_packed_call(const CpuFunction& function, int returned,
                                                 PackedValue value, int result_code,
                                                 gantry_value* result, gantry_status* status) {
  if (returned != 0) return to_status(in_function(take_cause(here()), function), status);
  auto owned = result_from_host(*function.owner.node, value, result_code);
  if (!owned.ok()) return to_status(in_function(std::move(owned).error(), function), status);
  *result = owned->take();
  return GANTRY_OK;
}

int call_from_cpu_code(void* function, PackedValue* args, int* codes, int count,
                       PackedValue* result, int* result_code) {
  return cpu_code_boundary([&]() -> Status {
    if (function == nullptr || static_cast<gantry_object*>(function)->kind != GANTRY_FUNCTION) {
      return invalid("TVMFuncCall receives a handle that is not a function");
    }
    return call_out(*static_cast<FunctionObject*>(function), args, codes, count, result,
                    result_code);
  });
}

}  // namespace gantry
