// SPDX-License-Identifier: Apache-2.0
#include "core/format/data_format.hpp"

namespace gantry {

std::string_view data_format_of(std::string_view data) {
  struct Magic {
    std::string_view bytes;
    std::string_view name;
  };
  constexpr Magic magics[] = {{"\x7f"
                               "ELF",
                               "ELF"},
                              {"\x50\xed\x55\xba", "fatbin"},
                              {"\x03\x02\x23\x07", "SPIR-V"},
                              {"BC\xc0\xde", "LLVM bitcode"},
                              {"MTLB", "metallib"},
                              {"PK\x03\x04", "ZIP"},
                              {"!<arch>\n", "archive"},
                              {"xclbin2", "xclbin"}};
  for (const Magic& magic : magics) {
    if (data.starts_with(magic.bytes)) return magic.name;
  }
  // PTX is text: comments, followed by these two directives.
  const std::string_view head = data.substr(0, 4096);
  if (head.find(".version") != head.npos && head.find(".target") != head.npos) return "PTX";
  return {};
}

}  // namespace gantry
