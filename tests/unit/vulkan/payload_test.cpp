// SPDX-License-Identifier: Apache-2.0
#include "plugins/vulkan/payload.hpp"

#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/vulkan/spirv.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <random>

namespace gantry::vulkan::test {
namespace {

using gantry::test::payload_blob;
using gantry::test::read_whole;
using ::testing::ElementsAre;

TEST(Payloads, AreReadInEveryForm) {
  const std::vector<std::pair<Form, std::vector<std::int32_t>>> forms = {
      {Form::bare, {0, 1, 2, 3, 4, -1}}, {Form::tags, {4, 5, -1}}, {Form::sized, {4, 5, -1}}};
  for (const auto& [form, generations] : forms) {
    const std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, form);
    for (const std::int32_t generation : generations) {
      const auto payload = read_whole(payload_blob(bytes, generation), read_payload);

      ASSERT_TRUE(payload.ok()) << payload.error().message << " in generation " << generation;
      EXPECT_EQ(payload->kept.bytes.size(), bytes.size());
      ASSERT_EQ(payload->shaders.size(), 1u);
      EXPECT_EQ(payload->shaders[0].kernel, "add");
      EXPECT_EQ(payload->shaders[0].flags, 0u);
      EXPECT_EQ(payload->shaders[0].words.data(), bytes.data() + payload->shaders[0].words_at);
      EXPECT_EQ(payload->shaders[0].words.size(), 4 * add_kernel().words.size());
      EXPECT_EQ(payload->table.kernels()[0].argument_tags.has_value(), form != Form::bare);
    }
  }
}

TEST(Payloads, AreWrittenAsTheyWereRead) {
  KernelSpec first = add_kernel();
  first.name = "second in the order of names";
  first.flags = 1;
  const std::pair<Form, std::int32_t> forms[] = {
      {Form::bare, 3}, {Form::tags, 4}, {Form::sized, 5}};
  for (const auto& [form, generation] : forms) {
    const std::vector<std::uint8_t> bytes = payload_bytes({first, add_kernel()}, form);
    std::vector<std::uint8_t> longer = bytes;
    longer.push_back(0x55);
    const auto payload = read_whole(payload_blob(longer, generation, false), read_payload);
    gantry::test::MemorySink sink;

    ASSERT_TRUE(write_payload(payload.value(), Sink(*sink.raw())).ok());

    EXPECT_EQ(sink.bytes, bytes);
  }
}

TEST(Payloads, ReportTheirSize) {
  std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, Form::bare);
  const std::size_t size = bytes.size();
  bytes.insert(bytes.end(), 100, 0xff);

  const auto open = read_whole(payload_blob(bytes, 3, false), read_payload);
  const auto exact = read_whole(payload_blob(bytes, 3, true), read_payload);

  ASSERT_TRUE(open.ok()) << open.error().message;
  EXPECT_EQ(open->kept.bytes.size(), size);
  ASSERT_FALSE(exact.ok());
  EXPECT_EQ(exact.error().code, Code::malformed);
  EXPECT_EQ(exact.error().offset, size);
  EXPECT_EQ(exact.error().reason, "BLOB_TRAILING");
  EXPECT_EQ(exact.error().message, "payload has 100 bytes after its last field, expected none");
}

TEST(Payloads, AreRejectedAtEveryTruncation) {
  for (const Form form : {Form::bare, Form::sized}) {
    const std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, form);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::vector<std::uint8_t> cut(bytes.begin(),
                                          bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const auto payload =
          read_whole(payload_blob(cut, form == Form::bare ? 3 : 5, false), read_payload);
      ASSERT_FALSE(payload.ok()) << size;
      EXPECT_EQ(payload.error().code, Code::malformed) << size;
    }
  }
}

TEST(Payloads, OfAnotherFormatAreUnsupported) {
  std::vector<std::uint8_t> bytes = payload_bytes({add_kernel()}, Form::bare);
  bytes[8] = 'm';

  const auto payload = read_whole(payload_blob(bytes, 3), read_payload);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::unsupported);
  EXPECT_EQ(payload.error().reason, "BLOB_FORMAT");
  EXPECT_EQ(payload.error().message, "payload format is \"mulkan\", known is \"vulkan\"");
}

TEST(Payloads, WithUnknownFlagsAreUnsupported) {
  KernelSpec kernel = add_kernel();
  kernel.flags = 3;
  const std::vector<std::uint8_t> bytes = payload_bytes({kernel}, Form::bare);
  const std::size_t flags_at = bytes.size() - 4 * kernel.words.size() - 12;

  const auto payload = read_whole(payload_blob(bytes, 3), read_payload);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::unsupported);
  EXPECT_EQ(payload.error().reason, "SHADER_FLAG");
  EXPECT_EQ(payload.error().message, concat("shader of kernel \"add\": flags are 0x3 at ",
                                            Hex{flags_at}, ", known is bit 0"));
}

struct BadPayload {
  std::string name;
  std::function<std::vector<std::uint8_t>()> make;
  // Offset of the wrong field, from the end of the payload.
  std::size_t from_end;
  std::string message;
};
void PrintTo(const BadPayload& bad, std::ostream* out) { *out << bad.name; }

class PayloadsRefuse : public ::testing::TestWithParam<BadPayload> {};

TEST_P(PayloadsRefuse, AtTheWrongField) {
  const BadPayload& bad = GetParam();
  const std::vector<std::uint8_t> bytes = bad.make();

  const auto payload = read_whole(payload_blob(bytes, 3), read_payload);

  ASSERT_FALSE(payload.ok());
  EXPECT_EQ(payload.error().code, Code::malformed);
  EXPECT_EQ(payload.error().reason, "SHADER");
  EXPECT_EQ(payload.error().offset, bytes.size() - bad.from_end);
  EXPECT_EQ(payload.error().message, bad.message);
}

const std::size_t shader_bytes = 4 * add_kernel().words.size();
// Bytes of a record: name, flags and count, words.
const std::size_t record_bytes = 8 + 3 + 12 + shader_bytes;

INSTANTIATE_TEST_SUITE_P(
    All, PayloadsRefuse,
    ::testing::Values(
        BadPayload{"NoMagic",
                   [] {
                     KernelSpec kernel = add_kernel();
                     kernel.words[0] = 7;
                     return payload_bytes({kernel}, Form::bare);
                   },
                   12 + shader_bytes,
                   "shader of kernel \"add\": no SPIR-V magic 12 or 20 bytes after the name"},
        BadPayload{"ShaderTwice",
                   [] {
                     KernelSpec other = add_kernel();
                     other.name = "sub";
                     auto bytes = payload_bytes({add_kernel(), other}, Form::bare);
                     // The name of the second shader.
                     const auto at = bytes.end() - static_cast<std::ptrdiff_t>(12 + shader_bytes);
                     std::copy_n("add", 3, at - 3);
                     return bytes;
                   },
                   8 + 2 * record_bytes, "shader of kernel \"add\" appears twice"},
        BadPayload{"KernelWithoutShader",
                   [] {
                     auto bytes = payload_bytes({add_kernel()}, Form::bare);
                     *(bytes.end() - static_cast<std::ptrdiff_t>(12 + shader_bytes + 1)) = 'x';
                     return bytes;
                   },
                   8 + record_bytes, "kernel \"add\" has no shader"}),
    [](const auto& test) { return test.param.name; });

TEST(Payloads, SurviveAnyChangedByte) {
  std::mt19937 random(1);
  for (const Form form : {Form::bare, Form::tags, Form::sized}) {
    const std::vector<std::uint8_t> good = payload_bytes({add_kernel()}, form);
    for (int round = 0; round < 4000; ++round) {
      std::vector<std::uint8_t> bytes = good;
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
      const auto payload = read_whole(
          payload_blob(bytes, static_cast<std::int32_t>(random() % 7) - 1, false), read_payload);
      if (!payload.ok()) continue;
      for (const KernelInfo& info : payload->table.kernels()) {
        (void)make_kernel(info, *payload->shader_of(info.name));
      }
    }
  }
}

TEST(Kernels, CombineRecordAndShader) {
  const KernelSpec spec = add_kernel();

  const auto kernel = make_kernel(info_of(spec), shader_of(spec));

  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->buffer_count, 2u);
  EXPECT_EQ(kernel->scalar_bytes, 12u);
  EXPECT_EQ(kernel->call.argument_count(), 6u);
}

// Up to v0.7 scalars are 4 bytes apart.
TEST(Kernels, UseTheShadersScalarOffsets) {
  KernelSpec spec = add_kernel();
  Spirv shader;
  shader.head("add").buffer(40, 0).scalars({0, 4, 8}, false).end();
  spec.words = shader.words();
  spec.parameters = {handle_type, int32_type, int32_type, int64_type};

  const auto kernel = make_kernel(info_of(spec), shader_of(spec));

  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_THAT(kernel->shader.scalar_offsets, ElementsAre(0, 4, 8));
  EXPECT_EQ(kernel->scalar_bytes, 16u);
}

TEST(Kernels, HaveRoomForScalarsInAnyOrder) {
  KernelSpec spec = add_kernel();
  Spirv shader;
  shader.head("add").buffer(40, 0).scalars({8, 4, 0}, false).end();
  spec.words = shader.words();
  spec.parameters = {handle_type, int32_type, int32_type, int32_type};

  const auto kernel = make_kernel(info_of(spec), shader_of(spec));

  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(kernel->scalar_bytes, 12u);
}

struct BadKernel {
  std::string name;
  std::function<void(KernelSpec&)> change;
  std::string message;
  std::string reason = "SHADER";
  Code code = Code::malformed;
};
void PrintTo(const BadKernel& bad, std::ostream* out) { *out << bad.name; }

class KernelsRefuse : public ::testing::TestWithParam<BadKernel> {};

TEST_P(KernelsRefuse, AMismatchOfRecordAndShader) {
  const BadKernel& bad = GetParam();
  KernelSpec spec = add_kernel();
  bad.change(spec);

  const auto kernel = make_kernel(info_of(spec), shader_of(spec));

  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, bad.code);
  EXPECT_EQ(kernel.error().reason, bad.reason);
  EXPECT_EQ(kernel.error().offset, bad.code == Code::malformed ? 1000 : no_offset);
  EXPECT_EQ(kernel.error().message, bad.message);
}

void shader_with_scalars(KernelSpec& spec, std::initializer_list<std::uint32_t> offsets,
                         bool uniform, std::uint32_t binding = 0) {
  Spirv shader;
  shader.head("add").buffer(40, 0).buffer(41, 1).scalars(offsets, uniform, binding).end();
  spec.words = shader.words();
}

INSTANTIATE_TEST_SUITE_P(
    All, KernelsRefuse,
    ::testing::Values(
        BadKernel{"BufferTooFew",
                  [](KernelSpec& s) {
                    s.parameters = {handle_type, int32_type, float32_type};
                  },
                  "shader of kernel \"add\": binds a buffer at 1, the kernel has 1"},
        BadKernel{"ScalarTooMany", [](KernelSpec& s) { s.parameters.push_back(int32_type); },
                  "shader of kernel \"add\": has 2 scalars, the kernel has 3"},
        BadKernel{
            "FlagWithoutUniform", [](KernelSpec& s) { s.flags = 1; },
            "shader of kernel \"add\": reads its scalars from push constants, its flags state "
            "a uniform buffer"},
        BadKernel{"UniformWithoutFlag",
                  [](KernelSpec& s) {
                    shader_with_scalars(s, {0, 8}, true, 2);
                  },
                  "shader of kernel \"add\": reads its scalars from a uniform buffer, its flags "
                  "state push constants"},
        BadKernel{"UniformElsewhere",
                  [](KernelSpec& s) {
                    shader_with_scalars(s, {0, 8}, true, 5);
                    s.flags = 1;
                  },
                  "shader of kernel \"add\": binds its scalars at 5, expected 2"},
        BadKernel{
            "ScalarFarAway",
            [](KernelSpec& s) {
              shader_with_scalars(s, {0, 16380}, false);
            },
            "shader of kernel \"add\": scalar 1 is at 16380, range is 0 to 16376 in steps of 4"},
        BadKernel{"ScalarAskew",
                  [](KernelSpec& s) {
                    shader_with_scalars(s, {2, 8}, false);
                  },
                  "shader of kernel \"add\": scalar 0 is at 2, range is 0 to 16376 in steps of 4"},
        BadKernel{"Cooperative",
                  [](KernelSpec& s) { s.tags.push_back("tirx.use_cooperative_launch"); },
                  "kernel \"add\" requires a cooperative launch, which vulkan devices do not have",
                  "LAUNCH_TAG", Code::unsupported},
        BadKernel{"DynamicSharedMemory",
                  [](KernelSpec& s) { s.tags.push_back("tir.use_dyn_shared_memory"); },
                  "kernel \"add\" requires dynamic shared memory, which vulkan devices do not have",
                  "LAUNCH_TAG", Code::unsupported}),
    [](const auto& test) { return test.param.name; });

struct Golden {
  std::string file;
  std::int32_t generation;
  std::size_t kernels;
};
void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.file; }

class GoldenPayloads : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenPayloads, HaveKernelsThatMatchTheirShaders) {
  const std::vector<std::uint8_t> bytes = golden_payload(GetParam().file);

  const auto payload = read_whole(payload_blob(bytes, GetParam().generation, false), read_payload);

  ASSERT_TRUE(payload.ok()) << payload.error().message;
  EXPECT_EQ(payload->table.size(), GetParam().kernels);
  EXPECT_EQ(payload->shaders.size(), GetParam().kernels);
  for (const KernelInfo& info : payload->table.kernels()) {
    const auto kernel = make_kernel(info, *payload->shader_of(info.name));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->shader.entry_point, info.name);
    EXPECT_EQ(kernel->shader.storage_bindings.size(), kernel->buffer_count);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPayloads,
                         ::testing::Values(Golden{"tvm-0.12/axpy2_vulkan.so", 3, 1},
                                           Golden{"tvm-0.12/digits_mlp_vulkan.so", 3, 7},
                                           Golden{"tvm-0.12/resnet20_vulkan.so", 3, 27},
                                           Golden{"tvm-0.25/axpy2_vulkan.so", 5, 1}),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

}  // namespace
}  // namespace gantry::vulkan::test
