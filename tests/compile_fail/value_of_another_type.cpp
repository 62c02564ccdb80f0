// SPDX-License-Identifier: Apache-2.0
//
// The value of a Result has the type that the Result says.
// error: error: cannot convert .*basic_string<char>.* to .*int
#include <gantry/result.hpp>

#include <string>

gantry::Result<std::string> parse();

bool use() {
#ifdef BREAK
  const int value = parse().value();
#else
  const std::string value = parse().value();
#endif
  return value == decltype(value)();
}
