// SPDX-License-Identifier: Apache-2.0
#include "interpreter.hpp"

#include <nanobind/nanobind.h>

#include <atomic>

namespace nb = nanobind;

namespace gantry::python {
namespace {

constinit std::atomic<bool> runs{false};

}  // namespace

bool interpreter_runs() noexcept { return runs.load(std::memory_order_acquire); }

void watch_interpreter() {
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { runs.store(false, std::memory_order_release); }));
  runs.store(true, std::memory_order_release);
}

}  // namespace gantry::python
