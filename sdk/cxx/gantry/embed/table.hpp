// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed/table.hpp - calls of the table of gantry/embed.h.
#pragma once

#include <gantry/embed.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <string_view>

// The classes have names of their own for the linker, so that a program may be linked with a library
// that has other classes of these names.
namespace gantry {
inline namespace embed_api {

// The functions of libgantry.
inline const gantry_embed& embed_table() {
  static const gantry_embed& table = *gantry_embed_query_v1();
  return table;
}

namespace embed_detail {
// Calls a function of a table.
//
// name     [in]   for messages: "load_file"
// call     [in]   gantry_code(gantry_status*)
template <class Call>
Status checked(std::string_view name, Call&& call) {
  StatusBuffer status;
  const gantry_code code = status.call(std::forward<Call>(call));
  if (code == GANTRY_OK) return {};
  return status.error(code, name);
}

// The same for functions that return an object, and for those that return a value.
//
// call     [in]   gantry_code(gantry_object** made, gantry_status*)
template <class Call>
Result<ObjectRef> made_object(std::string_view name, Call&& call) {
  gantry_object* made = nullptr;
  GANTRY_CHECK(checked(name, [&](gantry_status* status) { return call(&made, status); }));
  return ObjectRef::adopt(made);
}
// call     [in]   gantry_code(gantry_value* made, gantry_status*)
template <class Call>
Result<Value> made_value(std::string_view name, Call&& call) {
  gantry_value made{};
  GANTRY_CHECK(checked(name, [&](gantry_status* status) { return call(&made, status); }));
  return Value::adopt(made);
}
inline Result<void*> native_of(gantry_object* object, std::int32_t kind) {
  void* handle = nullptr;
  GANTRY_CHECK(checked("native_get", [&](gantry_status* status) {
    return embed_table().native_get(object, kind, &handle, status);
  }));
  return handle;
}
}  // namespace embed_detail

}  // namespace embed_api
}  // namespace gantry
