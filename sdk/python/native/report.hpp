// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>

#include "api.hpp"

namespace gantry::python {

// Returns a report of a runtime or module as dictionaries, tuples, texts and numbers.
//
// throws   gantry.Error, see gantry_embed::report
nanobind::object report_of(const RuntimeRef& runtime, gantry_object* object, std::string_view what);

}  // namespace gantry::python
