// SPDX-License-Identifier: Apache-2.0
//
// Failed calls as exceptions of Python.
#pragma once

#include <gantry/embed.h>
#include <gantry/abi_boundary.hpp>

#include <string_view>

#include "api.hpp"

namespace gantry::python {

// Receives the details of a call that fails: status.check(table.run(model, &run, status.out())).
class CallStatus {
 public:
  // Returns a status for one call.
  gantry_status* out();

  // Returns the text of the last call, which failed.
  //
  // lifetime until the next call
  std::string_view text();

  // Throws gantry.Error with the details of the last call if its code is not OK.
  //
  // thread   holds the GIL
  void check(gantry_code code);

 private:
  BasicStatusBuffer<16384, ReleaseWithoutGil> buffer_;
};

// Throws gantry.Error for an argument of this package's functions.
//
// thread   holds the GIL
[[noreturn]] void refuse(std::string_view reason, std::string_view text);

}  // namespace gantry::python
