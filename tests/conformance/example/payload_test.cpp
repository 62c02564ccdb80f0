// SPDX-License-Identifier: Apache-2.0
//
// The payload of the example accelerator, without a device: errors with offsets and texts.
#include "sdk/example/payload.hpp"
#include "tests/support/generation.hpp"
#include "tests/support/words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace abacus {
namespace {

using gantry::Code;
using gantry::test::Words;

constexpr gantry_dtype handle{3, 64, 1}, int32{0, 32, 1}, int8{0, 8, 1};

struct Table {
  std::vector<gantry_dtype> parameters = {handle, handle, int32};
  std::vector<std::string> launch = {"blockIdx.x", "threadIdx.x"};
};

// One kernel "k" and a text.
Words payload_of(const std::string& text, const Table& table = {},
                 const std::string& format = "beads") {
  Words words;
  words.str(format).u64(1).str("k").str("").u64(table.parameters.size());
  for (const gantry_dtype type : table.parameters) {
    const std::uint8_t bytes[4] = {type.code, type.bits, static_cast<std::uint8_t>(type.lanes), 0};
    words.bytes(bytes);
  }
  words.u64(table.launch.size());
  for (const std::string& tag : table.launch) words.str(tag);
  return words.str(text);
}

gantry::Result<Payload> read(const Words& words, std::uint32_t flags = GANTRY_BLOB_EXACT) {
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.flags = flags;
  blob.data = words.bytes().data();
  blob.size = words.bytes().size();
  blob.argument_tags = gantry::test::argument_tags_of_generation(3);
  gantry::Blob loaded(blob);
  GANTRY_TRY(Payload payload, read_payload(loaded));
  GANTRY_CHECK(loaded.check_end(loaded.reader()));
  return payload;
}

TEST(AbacusPayload, ReturnsTheStepsOfItsKernels) {
  const auto payload = read(
      payload_of("kernel k # a comment\n  below 2\n\n  get 0\n  const -1.5\r\n  mul\n  put 1\n"));

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  ASSERT_EQ(payload->kernels.size(), 1u);
  const Kernel& kernel = payload->kernels[0];
  EXPECT_EQ(kernel.call.name(), "k");
  ASSERT_EQ(kernel.steps.size(), 5u);
  EXPECT_EQ(kernel.steps[0].word, Word::below);
  EXPECT_EQ(kernel.steps[0].parameter, 2u);
  EXPECT_EQ(kernel.steps[2].number, -1.5f);
  EXPECT_EQ(kernel.steps[4].word, Word::put);
}

TEST(AbacusPayload, IsRefusedAtEveryTruncation) {
  const Words whole = payload_of("kernel k\n  get 0\n  put 1\n");
  for (std::size_t size = 0; size < whole.bytes().size(); ++size) {
    const auto cut = read(Words().bytes(whole.bytes().first(size)));
    ASSERT_FALSE(cut.ok()) << size;
    EXPECT_EQ(cut.error().code, Code::malformed) << size << ": " << cut.error().message;
  }
}

struct Bad {
  const char* name;
  Words words;
  Code code;
  // offset in the text; -1: the error names no line
  std::int64_t line_at;
  const char* message;
};

class AbacusPayloadRefuses : public ::testing::TestWithParam<Bad> {};

TEST_P(AbacusPayloadRefuses, WhatItCannotRun) {
  const Bad& bad = GetParam();

  const auto payload = read(bad.words);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, bad.code);
  EXPECT_EQ(payload.error().message, bad.message);
  if (bad.line_at < 0) return;
  const std::uint64_t text_at = payload_of("").bytes().size();
  EXPECT_EQ(payload.error().offset, text_at + static_cast<std::uint64_t>(bad.line_at));
}

std::string deep(int count) {
  std::string text = "kernel k\n";
  for (int i = 0; i < count; ++i) text += "const 1\n";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Texts, AbacusPayloadRefuses,
    ::testing::Values(Bad{"Format", payload_of("", {}, "ptx"), Code::unsupported, -1,
                          "abacus: format is \"ptx\", expected \"beads\""},
                      Bad{"More", payload_of("kernel k\n").u64(0), Code::malformed, -1,
                          "payload has 8 bytes after its last field, expected none"},
                      Bad{"TwoDimensions",
                          payload_of("kernel k\n", {{handle}, {"blockIdx.x", "threadIdx.y"}}),
                          Code::unsupported, -1,
                          "kernel \"k\" is launched in 2 dimensions, abacus devices have one"},
                      Bad{"Type", payload_of("kernel k\n", {{int8}, {}}), Code::unsupported, -1,
                          "kernel \"k\": parameter 0 has type int8, kernels accept handle, int32, "
                          "int64, uint32, float32 and float64"},
                      Bad{"NoProgram", payload_of("# nothing\n"), Code::malformed, 0,
                          "abacus: kernel \"k\" has no program"},
                      Bad{"NoKernel", payload_of("kernel other\n"), Code::malformed, 0,
                          "abacus: program \"other\" is not a kernel of the table"},
                      Bad{"Twice", payload_of("kernel k\nkernel k\n"), Code::malformed, 9,
                          "abacus: program \"k\" occurs twice"},
                      Bad{"BeforeAny", payload_of("add\nkernel k\n"), Code::malformed, 0,
                          "abacus: \"add\" precedes the first kernel"},
                      Bad{"Word", payload_of("kernel k\n  jump 3\n"), Code::malformed, 9,
                          "abacus: word \"jump\" is unknown"},
                      Bad{"Words", payload_of("kernel k\n  get 0 1\n"), Code::malformed, 9,
                          "abacus: more than two words in a line"},
                      Bad{"Parameter", payload_of("kernel k\n  get 3\n"), Code::malformed, 9,
                          "abacus: parameter \"3\" does not exist, the kernel has 3"},
                      Bad{"NoParameter", payload_of("kernel k\n  get\n"), Code::malformed, 9,
                          "abacus: parameter \"\" does not exist, the kernel has 3"},
                      Bad{"NoBuffer", payload_of("kernel k\n  get 2\n"), Code::malformed, 9,
                          "abacus: parameter 2 is not a buffer"},
                      Bad{"NoNumber", payload_of("kernel k\n  below 0\n"), Code::malformed, 9,
                          "abacus: parameter 0 is not a number"},
                      Bad{"Constant", payload_of("kernel k\n  const one\n"), Code::malformed, 9,
                          "abacus: \"one\" is not a number"},
                      Bad{"TakesNothing", payload_of("kernel k\n  neg 1\n"), Code::malformed, 9,
                          "abacus: \"neg\" has an operand"},
                      Bad{"Underflow", payload_of("kernel k\n  get 0\n  add\n"), Code::malformed,
                          17, "abacus: \"add\" requires 2 numbers, the stack has 1"},
                      Bad{"Overflow", payload_of(deep(17)), Code::malformed, 9 + 16 * 8,
                          "abacus: the stack grows beyond 16 numbers"},
                      Bad{"Leftover", payload_of("kernel k\n  get 0\n"), Code::malformed, 9,
                          "abacus: program \"k\" leaves 1 numbers on its stack"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace abacus
