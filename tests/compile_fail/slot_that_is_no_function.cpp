// SPDX-License-Identifier: Apache-2.0
//
// A symbol table fills pointers to functions only.
// error: error: static assertion failed
#include <gantry/library.hpp>

gantry::Status bind(const gantry::Library& library) {
#ifdef BREAK
  int* slot = nullptr;
#else
  int (*slot)(int) = nullptr;
#endif
  return library.bind({gantry::required("cuInit", slot)});
}
