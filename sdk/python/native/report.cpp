// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

namespace nb = nanobind;

namespace gantry::python {

nb::object report_of(const RuntimeRef& runtime, gantry_object* object, std::string_view what) {
  return tree_of(runtime, [&](gantry_value* tree, gantry_status* status) {
    return embed().report(object, bytes_of(what), tree, status);
  });
}

}  // namespace gantry::python
