// SPDX-License-Identifier: Apache-2.0
//
// Which calling convention an artifact's host code was compiled for.
#pragma once

#include "core/elf/elf_file.hpp"

#include <string_view>

namespace gantry {

enum class HostDialect {
  packed,  // TVMValue and type codes: TVM up to 0.20
  ffi,     // TVMFFIAny: TVM 0.21 on
};

struct DialectFound {
  HostDialect dialect = HostDialect::packed;
  std::string_view writer;  // "TVM 0.22 or newer"; for messages
  std::string_view symbol;  // that tells; empty for packed, which needs no sign of its own
};

// source   spec: artifact-format 0 and 3 (symbol names of each generation)
DialectFound dialect_of(const ElfFile& elf);

}  // namespace gantry
