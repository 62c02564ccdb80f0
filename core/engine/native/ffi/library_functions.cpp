// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/ffi/library_functions.hpp"

#include "core/engine/native/ffi/ffi_functions.hpp"
#include "core/engine/tensor/map.hpp"
#include "core/engine/tensor/object.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/call.hpp>

#include <string>
#include <vector>

namespace gantry::ffi {
namespace {

// What the function of one look-up has.
struct Bound {
  // of the runtime, which may keep this function
  std::weak_ptr<GlobalFunctions> globals;
  Result<Value> (*run)(const Bound& bound, const Call& call);
  std::string_view usage;
  // of name_at()
  std::vector<std::string> names = {};
};

gantry_code call_bound(void* self, const gantry_env* env, const gantry_value* args,
                       std::int32_t count, gantry_value* result, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const auto& bound = *static_cast<const Bound*>(self);
    GANTRY_TRY(Value made,
               bound.run(bound, {bound.usage, env, {args, static_cast<std::size_t>(count)}}));
    *result = made.take();
    return {};
  });
}
void destroy_bound(void* self) { delete static_cast<Bound*>(self); }
constexpr gantry_function_table bound_table{sizeof(gantry_function_table), 0, destroy_bound,
                                            call_bound};

Result<std::shared_ptr<GlobalFunctions>> globals_of(const Bound& bound, const Call& call) {
  auto globals = bound.globals.lock();
  if (globals == nullptr) return call.refuse("the runtime of this function has ended");
  return globals;
}

Result<Ref<FunctionObject>> new_bound(std::unique_ptr<Bound> bound) {
  GANTRY_TRY(Ref<FunctionObject> made, new_function({bound.get(), &bound_table}, {}, 0));
  bound.release();
  return made;
}

// name_at(i): the number of names for a negative i, else a name.
Result<Value> name_at(const Bound& bound, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::int64_t i, call.integer(0));
  if (i < 0) return Value::adopt(int_value(static_cast<std::int64_t>(bound.names.size())));
  if (static_cast<std::uint64_t>(i) >= bound.names.size())
    return call.refuse(call.title(0), " is ", i, ", there are ", bound.names.size(), " names");
  return new_text(GANTRY_STRING, bound.names[static_cast<std::size_t>(i)]);
}

Result<Value> list_names(const Bound& bound, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  GANTRY_TRY(const auto globals, globals_of(bound, call));
  auto functor =
      std::make_unique<Bound>(Bound{bound.globals, name_at, "name_at(i)", globals->names()});
  GANTRY_TRY(Ref<FunctionObject> made, new_bound(std::move(functor)));
  gantry_value value{};
  value.kind = GANTRY_FUNCTION;
  value.object = &made.take()->header;
  return Value::adopt(value);
}

Result<Value> remove_global(const Bound& bound, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  GANTRY_TRY(const auto globals, globals_of(bound, call));
  return Value::adopt(bool_value(globals->remove(name)));
}

Result<Value> array_contains(const Bound&, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(gantry_object* const list, call.object(0, GANTRY_ARRAY));
  GANTRY_TRY(const auto items, items_of(*list));
  // A text by address is one of the array's texts.
  Value owned;
  gantry_value sought = call.args[1];
  if (sought.kind == GANTRY_CSTRING || sought.kind == GANTRY_BYTES_REF) {
    const auto kind = sought.kind == GANTRY_CSTRING ? GANTRY_STRING : GANTRY_BYTES;
    GANTRY_TRY(owned, new_text(kind, value_text(sought).value_or("")));
    sought = owned.get();
  }
  for (const gantry_value& item : items) {
    if (same_key(item, sought)) return Value::adopt(bool_value(true));
  }
  return Value::adopt(bool_value(false));
}

struct BoundFunction {
  std::string_view name, usage;
  Result<Value> (*run)(const Bound& bound, const Call& call);
};
constexpr BoundFunction bound_functions[] = {
    {"ffi.FunctionListGlobalNamesFunctor", "FunctionListGlobalNamesFunctor()", list_names},
    {"ffi.FunctionRemoveGlobal", "FunctionRemoveGlobal(name)", remove_global},
    {"ffi.ArrayContains", "ArrayContains(array, value)", array_contains},
};

}  // namespace

Result<Ref<FunctionObject>> bound_library_function(
    std::string_view name, const std::shared_ptr<GlobalFunctions>& globals) {
  for (const BoundFunction& each : bound_functions) {
    if (each.name == name)
      return new_bound(std::make_unique<Bound>(Bound{globals, each.run, each.usage}));
  }
  return Ref<FunctionObject>();
}

}  // namespace gantry::ffi
