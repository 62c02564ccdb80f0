// SPDX-License-Identifier: Apache-2.0
//
// Artifacts that are loaded from memory and from a reader of the program.
#include "tests/unit/embed/embedded.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace gantry {
namespace {

using test::done;
using test::embed;
using test::expect_error;
using ::testing::HasSubstr;

// An artifact that is decrypted while it is read.
struct Decrypted {
  std::vector<std::uint8_t> encrypted;
  // the offset of the read that fails
  std::uint64_t fails_at = UINT64_MAX;
  std::vector<std::uint64_t> offsets{};

  explicit Decrypted(std::string_view file) : encrypted(test::read_file(test::golden(file))) {
    for (std::uint8_t& byte : encrypted) byte ^= 0x5a;
  }
  gantry_reader reader() {
    return {sizeof(gantry_reader), 0, encrypted.size(), this,
            [](void* self, std::uint64_t offset, void* to, std::uint64_t size,
               gantry_status* status) -> gantry_code {
              return static_cast<Decrypted*>(self)->read(offset, to, size, status);
            }};
  }
  gantry_code read(std::uint64_t offset, void* to, std::uint64_t size, gantry_status* status) {
    if (offset == fails_at)
      return gantry_fail(status, GANTRY_UNAVAILABLE, "KEY_MISSING", "the key is missing");
    offsets.push_back(offset);
    EXPECT_LE(size, 1u << 20);
    std::transform(encrypted.begin() + static_cast<std::ptrdiff_t>(offset),
                   encrypted.begin() + static_cast<std::ptrdiff_t>(offset + size),
                   static_cast<std::uint8_t*>(to),
                   [](std::uint8_t byte) { return static_cast<std::uint8_t>(byte ^ 0x5a); });
    return GANTRY_OK;
  }
};

class EmbedLoadMemory : public test::Embedded {
 protected:
  Result<ObjectRef> load_memory(std::span<const std::uint8_t> bytes, std::string_view name,
                                const gantry_load_options* options = nullptr) const {
    gantry_object* made = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().load_memory(runtime.get(), bytes.data(), bytes.size(), bytes_of(name), options,
                                 &made, status);
    }));
    return ObjectRef::adopt(made);
  }
  Result<ObjectRef> load_reader(const gantry_reader& reader, std::string_view name) const {
    gantry_object* made = nullptr;
    GANTRY_CHECK(done([&](gantry_status* status) {
      return embed().load_reader(runtime.get(), &reader, bytes_of(name), nullptr, &made, status);
    }));
    return ObjectRef::adopt(made);
  }
};

TEST_F(EmbedLoadMemory, LoadsBytesThatMayBeFreed) {
  std::vector<std::uint8_t> bytes = test::read_file(test::golden("tvm-0.12/digits_mlp_llvm.so"));

  const auto module = load_memory(bytes, "digits.so");

  ASSERT_TRUE(module.ok()) << module.error().message;
  std::ranges::fill(bytes, std::uint8_t{0});
  EXPECT_TRUE(test::new_model(*module).ok());
}

TEST_F(EmbedLoadMemory, NamesTheArtifactInErrors) {
  const std::vector<std::uint8_t> bytes(100, 'x');
  const auto named = load_memory(bytes, "secret.so"), unnamed = load_memory(bytes, "");

  ASSERT_FALSE(named.ok());
  EXPECT_THAT(named.error().message.text(), HasSubstr("secret.so"));
  EXPECT_THAT(unnamed.error().message.text(), HasSubstr("artifact in memory"));
}

TEST_F(EmbedLoadMemory, RefusesNoBytes) {
  EXPECT_EQ(load_memory({}, "empty.so").error().code, Code::malformed);
  expect_error(done([&](gantry_status* status) {
                 gantry_object* made = nullptr;
                 return embed().load_memory(runtime.get(), nullptr, 8, {}, nullptr, &made, status);
               }),
               Code::invalid, "ARGUMENT_KIND", "load_memory: data is NULL");
}

TEST_F(EmbedLoadMemory, RefusesANameWithANul) {
  const std::vector<std::uint8_t> bytes(8);
  EXPECT_EQ(load_memory(bytes, {"a\0b", 3}).error().reason, "ARGUMENT");
}

TEST_F(EmbedLoadMemory, RefusesUnknownFlags) {
  const gantry_load_options options{sizeof options, 8, nullptr, 0, 0};
  const std::vector<std::uint8_t> bytes(8);
  EXPECT_EQ(load_memory(bytes, "x", &options).error().reason, "FLAGS");
}

TEST_F(EmbedLoadMemory, DecryptsWhileItReads) {
  Decrypted file("tvm-0.12/resnet20_llvm.so");

  const auto module = load_reader(file.reader(), "resnet.so");

  ASSERT_TRUE(module.ok()) << module.error().message;
  EXPECT_TRUE(test::new_model(*module).ok());
  for (std::size_t i = 0; i < file.offsets.size(); ++i) EXPECT_EQ(file.offsets[i], i << 20);
}

TEST_F(EmbedLoadMemory, ReturnsTheErrorOfTheReader) {
  Decrypted file("tvm-0.12/digits_mlp_llvm.so");
  file.fails_at = 0;

  const auto module = load_reader(file.reader(), "digits.so");

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::unavailable);
  EXPECT_EQ(module.error().reason, "KEY_MISSING");
  EXPECT_EQ(module.error().message,
            concat("the key is missing\n  while reading ", file.encrypted.size(),
                   " bytes at offset 0\n  while loading digits.so"));
}

TEST_F(EmbedLoadMemory, RefusesASizeThatNoMachineHas) {
  Decrypted file("tvm-0.12/axpy2_llvm.so");
  gantry_reader reader = file.reader();
  reader.size = UINT64_MAX;

  const auto module = load_reader(reader, "large.so");

  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().code, Code::exhausted);
  EXPECT_TRUE(file.offsets.empty());
}

TEST_F(EmbedLoadMemory, RefusesReadersThatAreIncomplete) {
  Decrypted file("tvm-0.12/axpy2_llvm.so");
  gantry_reader reader = file.reader();
  reader.read = nullptr;
  EXPECT_EQ(load_reader(reader, "x").error().message, "load_reader: read is NULL");
  reader = file.reader();
  reader.flags = 1;
  EXPECT_EQ(load_reader(reader, "x").error().reason, "FLAGS");
  reader = file.reader();
  reader.size = 0;
  EXPECT_EQ(load_reader(reader, "x").error().code, Code::malformed);
}

}  // namespace
}  // namespace gantry
