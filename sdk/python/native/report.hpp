// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "api.hpp"
#include "arguments.hpp"
#include "call_status.hpp"
#include "gil.hpp"

namespace gantry::python {

// Returns the value tree that a function of the C API makes, while other threads of Python run.
//
// make     [in]   gantry_code(gantry_value* tree, gantry_status*)
// throws   gantry.Error
template <class Make>
nanobind::object tree_of(const RuntimeRef& runtime, Make&& make) {
  gantry_value tree{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const GilReleased released;
    code = make(&tree, status.out());
  }
  status.check(code);
  return object_of(runtime, OwnedValue::adopt(tree), ResultForm::arrays);
}

// Returns a report of a runtime or module as dictionaries, tuples, texts and numbers.
//
// throws   gantry.Error, see gantry_embed::report
nanobind::object report_of(const RuntimeRef& runtime, gantry_object* object, std::string_view what);

}  // namespace gantry::python
