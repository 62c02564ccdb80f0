// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace gantry::test {

// Sets an environment variable for the duration of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace gantry::test
