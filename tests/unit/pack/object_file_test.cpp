// SPDX-License-Identifier: Apache-2.0
#include "core/pack/object_file.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::HasSubstr;

TEST(ObjectFile, IncludesTheBytesUnderASymbol) {
  EXPECT_EQ(container_assembly("/tmp/container.bin", 100),
            "\t.section .rodata, \"a\", %progbits\n"
            "\t.globl __tvm_dev_mblob\n"
            "\t.type __tvm_dev_mblob, %object\n"
            "\t.balign 128\n"
            "__tvm_dev_mblob:\n"
            "\t.incbin \"/tmp/container.bin\"\n"
            "\t.size __tvm_dev_mblob, . - __tvm_dev_mblob\n"
            "\t.section .note.GNU-stack, \"\", %progbits\n");
}

TEST(ObjectFile, PutsMoreThanAGibibyteIntoTheLargeDataSection) {
  constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

  EXPECT_THAT(container_assembly("c", gibibyte + 1), HasSubstr(".section .lrodata, \"al\""));
  EXPECT_THAT(container_assembly("c", gibibyte), Not(HasSubstr(".lrodata")));
}

TEST(ObjectFile, EscapesSpecialCharactersInPaths) {
  EXPECT_THAT(container_assembly("a \"b\\\xc3", 1),
              HasSubstr(".incbin \"a\\040\\042b\\134\\303\"\n"));
}

TEST(ObjectFile, EscapesNoPlainCharacters) {
  EXPECT_THAT(container_assembly("azAZ09._-/", 1), HasSubstr(".incbin \"azAZ09._-/\"\n"));
  EXPECT_THAT(container_assembly("`{@[:", 1), HasSubstr(".incbin \"\\140\\173\\100\\133\\072\"\n"));
}

}  // namespace
}  // namespace gantry
