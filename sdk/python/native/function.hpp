// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "api.hpp"

namespace gantry::python {

// gantry.Function: a function of a module. Its class is one of the C API of Python, because calls by
// the protocol "vectorcall" need no tuple of arguments.
//
// object   [in]   GANTRY_FUNCTION
nanobind::object new_function(const RuntimeRef& runtime, OwnedObject object, std::string_view name);

// Returns the object of a gantry.Function, borrowed; NULL for other objects.
gantry_object* function_in(nanobind::handle object);

// Adds the class to the module.
void bind_function(nanobind::module_& module);

}  // namespace gantry::python
