// SPDX-License-Identifier: Apache-2.0
//
// Which calling convention an artifact's host code was compiled for.
#pragma once

#include "core/elf/elf_file.hpp"

#include <string_view>

namespace gantry {

enum class HostDialect {
  // TVMValue and type codes: TVM up to 0.20
  packed,
  // TVMFFIAny: TVM 0.21 on
  ffi,
};

struct DialectFound {
  HostDialect dialect = HostDialect::packed;
  // "TVM 0.22 or newer"; for messages
  std::string_view writer;
  // that tells; empty for packed, which needs no sign of its own
  std::string_view symbol;
};

// source   spec: artifact-format 0 and 3 (symbol names of each generation)
DialectFound dialect_of(const ElfFile& elf);

}  // namespace gantry
