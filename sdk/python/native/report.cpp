// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "arguments.hpp"
#include "call_status.hpp"

namespace nb = nanobind;

namespace gantry::python {

nb::object report_of(const RuntimeRef& runtime, gantry_object* object, std::string_view what) {
  gantry_value tree{};
  CallStatus status;
  gantry_code code = GANTRY_OK;
  {
    const nb::gil_scoped_release released;
    code = embed().report(object, bytes_of(what), &tree, status.out());
  }
  status.check(code);
  return object_of(runtime, OwnedValue::adopt(tree), ResultForm::arrays);
}

}  // namespace gantry::python
