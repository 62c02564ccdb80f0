// SPDX-License-Identifier: Apache-2.0
//
// Calls a destroy function that comes from outside of the core. It must not throw; if it does, the process goes on.
//
//     call_destroy("a function", [&] { table->destroy(self); });
#pragma once

#include <gantry/abi_boundary.hpp>

#include <string_view>
#include <utility>

namespace gantry {

// Writes the warning about a destroy function that throws to standard error: objects outlive the runtime and its log.
//
// owner    [in]   whose function it is: "acme.Table", "a function"
void report_destroy(std::string_view owner, const Error& thrown) noexcept;

// Calls a destroy function. If it throws, the exception is reported, and what the function has not
// freed stays.
//
// owner    [in]   for the report
// destroy  [in]   void(), which calls the function
template <class Destroy>
void call_destroy(std::string_view owner, Destroy&& destroy) {
  const Status done = guard([&]() -> Status {
    std::forward<Destroy>(destroy)();
    return {};
  });
  if (!done.ok()) report_destroy(owner, done.error());
}

}  // namespace gantry
