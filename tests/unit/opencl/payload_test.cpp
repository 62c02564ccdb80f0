// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/payload.hpp"

#include "payloads.hpp"
#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::opencl::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Bytes = std::vector<std::uint8_t>;

Result<Payload> read(const Bytes& bytes, std::int32_t generation = 3, bool exact = true,
                     std::uint64_t* consumed = nullptr) {
  return gantry::test::read_whole(gantry::test::payload_blob(bytes, generation, exact),
                                  read_payload, consumed);
}

void expect_refusal(const Result<Payload>& payload, Code code, std::uint64_t offset,
                    std::string_view reason, std::string_view message) {
  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, code);
  EXPECT_EQ(payload.error().offset, offset);
  EXPECT_EQ(payload.error().reason, reason);
  EXPECT_EQ(payload.error().message, message);
}

TEST(OpenclPayload, AssignsEachKernelItsProgram) {
  const Bytes bytes = both_kernels();

  const auto payload = read(bytes);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  EXPECT_EQ(payload->format, "cl");
  ASSERT_EQ(payload->programs.size(), 2u);
  EXPECT_EQ(payload->programs[payload->program_of[*payload->table.index_of("axpy")]].code,
            "\n" + std::string(axpy_body));
  EXPECT_EQ(payload->programs[payload->program_of[*payload->table.index_of("fill")]].code,
            "\n" + std::string(fill_body));
  EXPECT_EQ(payload->table.index_of("none"), std::nullopt);
}

std::string stated_device(std::string_view device, std::string_view binary) {
  std::string code(clbin_mark);
  const std::uint64_t size = device.size();
  code.append(reinterpret_cast<const char*>(&size), sizeof size).append(device).append(binary);
  return code;
}

TEST(OpenclPayload, ReadsTheDeviceOfABinary) {
  const Bytes bytes = payload_bytes("clbin", {fill}, stated_device("a GPU", "code"));

  const auto payload = read(bytes);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  ASSERT_EQ(payload->programs.size(), 1u);
  EXPECT_EQ(payload->programs[0].made_for, "a GPU");
  EXPECT_EQ(payload->programs[0].code, "code");
  const Bytes plain = payload_bytes("clbin", {fill}, "code");
  EXPECT_EQ(read(plain)->programs[0].made_for, "");
  EXPECT_EQ(read(plain)->programs[0].code, "code");
}

TEST(OpenclPayload, RefusesABinaryWithoutItsDeviceOrCode) {
  const std::string whole = stated_device("a GPU", "");
  const Bytes bytes = payload_bytes("clbin", {fill}, whole);
  const Bytes cut = payload_bytes("clbin", {fill}, whole.substr(0, whole.size() - 1));

  expect_refusal(read(bytes), Code::malformed, bytes.size(), "KERNEL_CODE",
                 "binary for \"a GPU\" is empty");
  expect_refusal(read(cut), Code::malformed, cut.size() - 4 - 8, "BLOB_TRUNCATED",
                 "device of the binary: length is 5 bytes, room for 4 bytes");
}

TEST(OpenclPayload, BuildsTextWithoutMarkersAsOneProgram) {
  const std::string text =
      std::string(axpy_body) + "// see // Function: fill\n" + std::string(fill_body);
  const Bytes bytes = payload_bytes("cl", {axpy, fill}, text);

  const auto payload = read(bytes, 1);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  ASSERT_EQ(payload->programs.size(), 1u);
  EXPECT_EQ(payload->programs[0].code, text) << "a marker begins a line";
  EXPECT_THAT(payload->program_of, ElementsAre(0, 0));
}

TEST(OpenclPayload, IgnoresTextBeforeTheFirstMarker) {
  const Bytes bytes =
      payload_bytes("cl", {fill}, "#pragma all\n// Function: fill\r\n" + std::string(fill_body));

  const auto payload = read(bytes);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  ASSERT_EQ(payload->programs.size(), 1u);
  EXPECT_EQ(payload->programs[0].code, "\n" + std::string(fill_body));
}

TEST(OpenclPayload, RejectsAKernelWithoutCode) {
  const Bytes bytes = payload_bytes("cl", {axpy, fill}, marked("axpy", axpy_body));

  expect_refusal(read(bytes), Code::malformed, bytes.size() - 8 - marked("axpy", axpy_body).size(),
                 "KERNEL_CODE", "kernel \"fill\" has no code; there is code for: \"axpy\"");
}

TEST(OpenclPayload, ReadsABinaryAsOneProgram) {
  for (const std::string_view format : {"clbin", "xclbin", "awsxclbin", "aocx"}) {
    const Bytes bytes = payload_bytes(format, {axpy, fill}, "// Function: x\n");

    const auto payload = read(bytes);

    ASSERT_TRUE(payload.ok()) << payload.error().message;
    ASSERT_EQ(payload->programs.size(), 1u);
    EXPECT_EQ(payload->programs[0].form, CodeForm::binary);
    EXPECT_EQ(payload->programs[0].code, "// Function: x\n");
  }
}

TEST(OpenclPayload, RejectsAnUnknownFormat) {
  expect_refusal(read(payload_bytes("ptx", {axpy}, "code")), Code::unsupported, no_offset,
                 "BLOB_FORMAT",
                 "opencl payload has format \"ptx\", known are cl, clbin, xclbin, awsxclbin and "
                 "aocx");
}

TEST(OpenclPayload, ReadsSpirv) {
  for (const std::size_t count : {1u, 2u}) {
    std::vector<KernelRecord> kernels = {axpy};
    std::vector<ShaderRecord> shaders = {{"axpy", {0x07230203, 1, 2}}};
    if (count == 2) {
      kernels.push_back(fill);
      shaders.push_back({"fill", {0x07230203}});
    }
    const Bytes bytes = spirv_bytes(kernels, shaders);

    const auto payload = read(bytes);

    ASSERT_TRUE(payload.ok()) << payload.error().message;
    EXPECT_EQ(payload->format, std::nullopt);
    ASSERT_EQ(payload->programs.size(), count);
    EXPECT_EQ(payload->programs[0].form, CodeForm::spirv);
    EXPECT_EQ(payload->programs[0].code.size(), 12u);
  }
}

TEST(OpenclPayload, RejectsWordsWithoutTheSpirvMagic) {
  const Bytes bytes = spirv_bytes({fill}, {{"fill", {0x03022307, 7}}});

  expect_refusal(read(bytes), Code::malformed, bytes.size() - 8, "SHADER",
                 "shader \"fill\" begins with 0x3022307, SPIR-V with 0x7230203");
}

TEST(OpenclPayload, RejectsADuplicateShader) {
  const ShaderRecord shader{"fill", {0x07230203}};
  const Bytes bytes = spirv_bytes({fill}, {shader, shader});

  const auto payload = read(bytes);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().message, "shader \"fill\" appears twice");
  EXPECT_EQ(payload.error().reason, "KERNEL_CODE");
}

TEST(OpenclPayload, RejectsAKernelWithoutAShader) {
  const auto payload = read(spirv_bytes({axpy, fill}, {{"fill", {0x07230203}}}));

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().message, "kernel \"axpy\" has no code; there is code for: \"fill\"");
}

TEST(OpenclPayload, ReadsArgumentTags) {
  const Bytes bytes = payload_bytes("cl", {axpy}, axpy_body, true);

  for (const std::int32_t generation : {4, 5, -1}) {
    const auto payload = read(bytes, generation);

    ASSERT_TRUE(payload.ok()) << payload.error().message;
    ASSERT_EQ(payload->programs.size(), 1u);
    EXPECT_EQ(payload->programs[0].code, axpy_body);
  }
  EXPECT_FALSE(read(bytes, 3).ok());
  EXPECT_TRUE(read(payload_bytes("cl", {axpy}, axpy_body), 4).ok()) << "either occurs in G4";
}

TEST(OpenclPayload, RejectsUnsupportedLaunchTags) {
  KernelRecord kernel = fill;
  kernel.tags = {"blockIdx.x", "tir.use_dyn_shared_memory"};

  expect_refusal(
      read(payload_bytes("cl", {kernel}, fill_body)), Code::unsupported, no_offset, "LAUNCH_TAG",
      "kernel \"fill\" requires dynamic shared memory, which opencl devices do not have");
}

TEST(OpenclPayload, ReportsItsSizeAndRejectsTrailingBytes) {
  Bytes bytes = both_kernels();
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 9, 0x55);
  std::uint64_t consumed = 0;

  EXPECT_TRUE(read(bytes, 3, false, &consumed).ok());
  EXPECT_EQ(consumed, size);

  expect_refusal(read(bytes), Code::malformed, size, "BLOB_TRAILING",
                 "payload has 9 bytes after its last field, expected none");
}

TEST(OpenclPayload, RejectsEveryTruncation) {
  for (const Bytes& whole : {both_kernels(), spirv_bytes({axpy}, {{"axpy", {0x07230203, 5, 6}}})}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(read(cut).ok()) << "accepted the first " << size << " bytes";
      EXPECT_FALSE(read(cut, 3, false).ok()) << size;
    }
  }
}

// Each part has a value that no default gives: a name again, shaders in another order than their
// kernels, flags.
TEST(OpenclPayload, WritesTheBytesThatItRead) {
  const Bytes payloads[] = {
      both_kernels(), payload_bytes("aocx", {axpy}, {"\0\1", 2}),
      payload_bytes("cl", {fill}, "before\n// Function: fill \r\n" + std::string(fill_body)),
      spirv_bytes({axpy, fill}, {{"fill", {0x07230203, 5, 6}, 9}, {"axpy", {0x07230203}, 8}})};
  for (const Bytes& bytes : payloads) {
    Bytes longer = bytes;
    longer.push_back(0x55);
    gantry::test::MemorySink sink;

    ASSERT_TRUE(write_payload(read(longer, 3, false).value(), Sink(*sink.raw())).ok());

    EXPECT_EQ(sink.bytes, bytes);
  }
  const Bytes tagged = payload_bytes("cl", {axpy}, axpy_body, true);
  gantry::test::MemorySink sink;
  ASSERT_TRUE(write_payload(read(tagged, 4).value(), Sink(*sink.raw())).ok());
  EXPECT_EQ(sink.bytes, tagged);
}

}  // namespace
}  // namespace gantry::opencl::test
