// SPDX-License-Identifier: Apache-2.0
//
// The boundary between this runtime and compiled code that calls it, which cannot pass exceptions
// on.
#pragma once

#include "core/engine/native/context.hpp"

#include <exception>
#include <new>
#include <utility>

namespace gantry {

// Runs `body`, which returns a Status.
//
// returns  0, or -1 after fail_here()
template <class Body>
int cpu_code_boundary(const Body& body) {
  try {
    Status done = body();
    return done.ok() ? 0 : fail_here(std::move(done).error());
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory"));
  } catch (const std::exception& thrown) {
    return fail_here(bug(Message::lines(thrown.what())));
  }
}

}  // namespace gantry
