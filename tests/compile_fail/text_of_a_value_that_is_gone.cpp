// SPDX-License-Identifier: Apache-2.0
//
// A short string lies inside its value: a view of a temporary would dangle.
// error: error: use of deleted function .*value_text\(const gantry_value&&\)
#include <gantry/handle.hpp>

gantry_value next_argument();

bool is_name() {
#ifdef BREAK
  return gantry::value_text(next_argument()).has_value();
#else
  const gantry_value argument = next_argument();
  return gantry::value_text(argument).has_value();
#endif
}
