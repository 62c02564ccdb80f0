// SPDX-License-Identifier: Apache-2.0
#include "core/pack/object_file.hpp"

#include <gantry/result.hpp>

namespace gantry {
namespace {

// Returns a file name in the assembler's quotes. Special characters are written as octal escapes.
std::string quoted_path(std::string_view path) {
  std::string text = "\"";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-' || c == '/';
    if (plain) {
      text.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text.push_back('\\');
    for (const int shift : {6, 3, 0}) text.push_back(static_cast<char>('0' + (byte >> shift & 7)));
  }
  return text + "\"";
}

}  // namespace

std::string container_assembly(std::string_view file, std::uint64_t size) {
  constexpr std::uint64_t largest_small_data = std::uint64_t{1} << 30;
  const std::string_view plain = "\t.section .rodata, \"a\", %progbits\n";
  // The assembler of clang 14 does not support the flag "l"; up to 2 GiB the library links without
  // it.
  const std::string_view large =
      "#if defined(__x86_64__) && !defined(__clang__)\n"
      "\t.section .lrodata, \"al\", %progbits\n"
      "#else\n"
      "\t.section .rodata, \"a\", %progbits\n"
      "#endif\n";
  return concat(size > largest_small_data ? large : plain, "\t.globl ", container_symbol, "\n",
                "\t.type ", container_symbol, ", %object\n", "\t.balign 128\n", container_symbol,
                ":\n", "\t.incbin ", quoted_path(file), "\n", "\t.size ", container_symbol,
                ", . - ", container_symbol, "\n", "\t.section .note.GNU-stack, \"\", %progbits\n");
}

}  // namespace gantry
