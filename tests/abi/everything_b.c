// SPDX-License-Identifier: Apache-2.0
#include <gantry/gantry.h>

// True if a struct of `struct_size` bytes contains the member; a shorter struct does not.
int32_t reaches_find(uint32_t struct_size);
int32_t reaches_find(uint32_t struct_size) {
  gantry_host host = {0};
  host.struct_size = struct_size;
  return GANTRY_HAS(&host, find);
}
