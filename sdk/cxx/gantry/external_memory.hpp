// SPDX-License-Identifier: Apache-2.0
//
// gantry/external_memory.hpp - checks of gantry_device_table.memory_import that are the same for all
// drivers, and the copy of a descriptor that a driver takes over.
#pragma once

#include <gantry/device.h>
#include <gantry/byte_count.hpp>
#include <gantry/descriptor.hpp>
#include <gantry/result.hpp>

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace gantry {

// returns  INVALID  the part is empty, or ends past 2^64 bytes (ARGUMENT_RANGE)
inline Status check_external_range(const gantry_external& what) {
  if (what.size != 0 && what.offset <= UINT64_MAX - what.size) return {};
  return invalid("external memory of ", ByteCount(what.size), " at offset ", what.offset,
                 ", expected at least 1 byte")
      .with_reason("ARGUMENT_RANGE");
}

// Copies the descriptor, which remains the caller's. A driver owns the copy that it has imported;
// release() it then.
//
// returns  INVALID    it is not open (ARGUMENT)
//          EXHAUSTED  the process has too many open files (MEMORY)
inline Result<Descriptor> copy_of_descriptor(const gantry_external& what) {
  const bool is_number = std::in_range<int>(what.fd);
  Descriptor copy(is_number ? ::fcntl(static_cast<int>(what.fd), F_DUPFD_CLOEXEC, 0) : -1);
  if (copy) return copy;
  if (is_number && errno == EMFILE) {
    return exhausted("descriptor ", what.fd, " of external memory cannot be copied: ",
                     std::generic_category().message(EMFILE))
        .with_reason("MEMORY");
  }
  return invalid("descriptor ", what.fd, " of external memory is not open").with_reason("ARGUMENT");
}

}  // namespace gantry
