// SPDX-License-Identifier: Apache-2.0
#include "plugins/relax/listing.hpp"

#include "plugins/relax/loaded.hpp"
#include "tests/support/files.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/support/relax_code_in.hpp"
#include "tests/unit/relax/golden.hpp"

#include <gmock/gmock.h>

#include <zlib.h>

#include <filesystem>

namespace gantry::relax::test {
namespace {

using gantry::test::relax_constant;
using gantry::test::relax_function;
using gantry::test::relax_immediate;
using gantry::test::relax_register;
using gantry::test::relax_vm;
using gantry::test::relax_void;
using gantry::test::RelaxAssembler;

struct Listed {
  RelaxCode code;
  Program program;
};

Listed listed(const gantry_blob& blob) {
  RelaxCode code = gantry::test::relax_code_in(blob).value();
  Program program = decode(code).value();
  return {std::move(code), std::move(program)};
}

std::string text_of_gz(const std::filesystem::path& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char part[4096];
  for (int size; (size = gzread(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  gzclose(file);
  return text;
}

TEST(Listing, IsThatOfTvm) {
  int count = 0;
  for (const GoldenExecutable& golden : golden_executables()) {
    const auto path = gantry::test::golden("relax/" + golden.name + ".text.gz");
    if (!std::filesystem::exists(path)) continue;
    ++count;
    const Listed code = listed(golden.blob());

    EXPECT_EQ(listing(code.program), text_of_gz(path)) << golden.name;
  }
  EXPECT_EQ(count, 2);
}

// TVM's texts contain no jumps and no function arguments.
TEST(Listing, HasEachKindOfInstructionAndArgument) {
  RelaxAssembler assembler;
  const auto f = assembler.packed("f");
  assembler.function("main", {"x"}, 2);
  assembler.text("constant");
  assembler.call(1, f, {relax_register(0), relax_immediate(-5), relax_constant(0)});
  assembler.branch(1, 3);
  assembler.call(0, f, {relax_register(relax_vm), relax_register(relax_void), relax_function(1)});
  assembler.jump(-3);
  assembler.jump(1);
  assembler.call(relax_void, 2, {relax_immediate(1)});
  assembler.ret(relax_void);
  assembler.vm_tir("step", 1, 2);
  const auto payload = assembler.payload();

  const Listed code = listed(payload.blob());

  EXPECT_EQ(listing(code.program),
            "@f packed_func;\n"
            "\n"
            "@main:\n"
            "  call  f                in: %0, i-5, c[0] dst: %1\n"
            "  If    %1, 3\n"
            "  call  f                in: %vm, %void, f[main] dst: %0\n"
            "  goto  -3\n"
            "  goto  1\n"
            "  call  step             in: i1           dst: %void\n"
            "  ret   %void\n"
            "\n"
            "@step num_inputs=1 vm_tir_func;\n"
            "\n");
  EXPECT_EQ(listing(code.program, 2), "@step num_inputs=1 vm_tir_func;\n\n");
}

TEST(Listing, EscapesNames) {
  RelaxAssembler assembler;
  assembler.packed("a\n\x1b[31m\xff");
  const auto payload = assembler.payload();

  const Listed code = listed(payload.blob());

  EXPECT_EQ(listing(code.program), "@a\\x0a\\x1b[31m\\xff packed_func;\n\n");
}

TEST(Listing, TruncatesLongNames) {
  RelaxAssembler assembler;
  assembler.packed(std::string(128, 'a'));
  assembler.packed(std::string(129, 'b'));
  const auto payload = assembler.payload();

  const Listed code = listed(payload.blob());

  EXPECT_EQ(listing(code.program), "@" + std::string(128, 'a') + " packed_func;\n\n@" +
                                       std::string(128, 'b') + "... packed_func;\n\n");
}

}  // namespace
}  // namespace gantry::relax::test
