// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_types.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <iterator>

namespace gantry {
namespace {

struct MachineName {
  std::uint16_t machine;
  std::string_view name;
};

// source   https://www.sco.com/developers/gabi/latest/ch4.eheader.html, <elf.h>
constexpr MachineName machine_names[] = {
    {2, "sparc"},  {3, "i386"},     {8, "mips"},      {20, "ppc"},
    {21, "ppc64"}, {22, "s390x"},   {40, "arm"},      {43, "sparc64"},
    {50, "ia64"},  {62, "x86-64"},  {164, "hexagon"}, {183, "aarch64"},
    {190, "cuda"}, {224, "amdgpu"}, {243, "riscv"},   {258, "loongarch"}};

}  // namespace

std::string name_of(ElfMachine machine) {
  const auto number = static_cast<std::uint16_t>(machine);
  const auto* const found = std::ranges::find(machine_names, number, &MachineName::machine);
  return found != std::end(machine_names) ? std::string(found->name) : concat("machine ", number);
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
