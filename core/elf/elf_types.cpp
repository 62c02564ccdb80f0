// SPDX-License-Identifier: Apache-2.0
#include "core/elf/elf_types.hpp"

#include <gantry/result.hpp>

namespace gantry {

std::string name_of(ElfMachine machine) {
  switch (machine) {
    case ElfMachine::i386:
      return "i386";
    case ElfMachine::ppc64:
      return "ppc64";
    case ElfMachine::s390:
      return "s390x";
    case ElfMachine::arm:
      return "arm";
    case ElfMachine::x86_64:
      return "x86-64";
    case ElfMachine::hexagon:
      return "hexagon";
    case ElfMachine::aarch64:
      return "aarch64";
    case ElfMachine::cuda:
      return "cuda";
    case ElfMachine::amdgpu:
      return "amdgpu";
    case ElfMachine::riscv:
      return "riscv";
    case ElfMachine::loongarch:
      return "loongarch";
  }
  return concat("machine ", static_cast<std::uint16_t>(machine));
}

ElfMachine host_machine() {
#if defined(__x86_64__)
  return ElfMachine::x86_64;
#elif defined(__aarch64__)
  return ElfMachine::aarch64;
#else
#error "unsupported machine: add it to ElfMachine"
#endif
}

}  // namespace gantry
