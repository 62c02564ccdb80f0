// SPDX-License-Identifier: Apache-2.0
#include "core/pack/object_file.hpp"

#include <gantry/result.hpp>

namespace gantry {

std::string container_assembly(std::string_view file, std::uint64_t size) {
  constexpr std::uint64_t largest_small_data = std::uint64_t{1} << 30;
  const std::string_view plain = "\t.section .rodata, \"a\", %progbits\n";
  const std::string_view large =
      "#if defined(__x86_64__)\n"
      "\t.section .lrodata, \"al\", %progbits\n"
      "#else\n"
      "\t.section .rodata, \"a\", %progbits\n"
      "#endif\n";
  return concat(size > largest_small_data ? large : plain,                       //
                "\t.globl ", container_symbol, "\n",                             //
                "\t.type ", container_symbol, ", %object\n",                     //
                "\t.balign 128\n",                                               //
                container_symbol, ":\n",                                         //
                "\t.incbin \"", file, "\"\n",                                    //
                "\t.size ", container_symbol, ", . - ", container_symbol, "\n",  //
                "\t.section .note.GNU-stack, \"\", %progbits\n");
}

}  // namespace gantry
