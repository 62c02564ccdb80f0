// SPDX-License-Identifier: Apache-2.0
//
// The plugin binaries of earlier releases, tests/abi/binaries, in today's core.
#include "core/base/digest/digest.hpp"

#include <gantry/note.h>
#include <gantry/embed.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"
#include "tests/support/words.hpp"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using test::TempDir;
using test::Words;
using ::testing::IsEmpty;
using ::testing::Not;

const fs::path kBinaries = fs::path(GANTRY_SOURCE_DIR) / "tests/abi/binaries";

std::vector<std::string> sets() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kBinaries)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The files of a set with their digests, and those of its list.
using Digests = std::map<std::string, std::string>;
Digests files_of(const fs::path& set) {
  Digests digests;
  for (const auto& entry : fs::recursive_directory_iterator(set)) {
    if (!entry.is_regular_file() || entry.path().filename() == "SHA256SUMS") continue;
    digests[fs::relative(entry.path(), set).string()] =
        hex_text(sha256(test::read_file(entry.path())));
  }
  return digests;
}
Digests list_of(const fs::path& set) {
  const auto bytes = test::read_file(set / "SHA256SUMS");
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  Digests digests;
  for (std::string digest, file; in >> digest >> file;) digests[file] = digest;
  return digests;
}

// A library whose only module has the payload.
std::string artifact(const TempDir& dir, const Words& payload, std::string_view type_key) {
  Words body;
  body.u64(2).str(type_key).bytes(payload.bytes());
  body.str("_import_tree").u64s({0, 0}).u64s({});
  const Words container = Words().u64(body.size()).bytes(body.bytes());
  test::write_file(dir / "model.so",
                   test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
  return (dir / "model.so").string();
}

class OldBinaries : public ::testing::TestWithParam<std::string> {
 protected:
  fs::path set() const { return kBinaries / GetParam(); }
};

class OldBinariesInThisCore : public OldBinaries {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "the binaries are for x86-64";
#endif
    if (GANTRY_SANITIZER != GANTRY_SANITIZER_NONE) {
      GTEST_SKIP() << "the binaries are built without the sanitizer of this program";
    }
  }
  Runtime runtime(const char* plugin) const {
    RuntimeOptions options;
    options.plugin_paths = {(set() / plugin).string()};
    options.only_these_plugins = true;
    options.threads = 1;
    return Runtime::create(options).value();
  }
};

TEST_P(OldBinaries, HaveTheDigestsOfTheirList) {
  const Digests files = files_of(set());

  EXPECT_EQ(files, list_of(set()));
  EXPECT_EQ(files.size(), 6u);
}

TEST_P(OldBinariesInThisCore, TemplatesLoadAPayloadAndRun) {
  for (const char* plugin : {"c", "cxx"}) {
    const TempDir dir;
    Runtime runtime = this->runtime(plugin);

    const auto module = runtime.load(artifact(dir, Words().str("hello"), "example.null"));

    ASSERT_TRUE(module.ok()) << plugin << ": " << module.error().message;
    const auto note = module->function("note").value()();
    ASSERT_TRUE(note.ok()) << plugin << ": " << note.error().message;
    EXPECT_EQ(note->text().value(), "hello") << plugin;
    const auto echo = module->function("echo").value()(7);
    ASSERT_TRUE(echo.ok()) << plugin << ": " << echo.error().message;
    EXPECT_EQ(echo->integer().value(), 7) << plugin;
    EXPECT_FALSE(module->function("absent").ok()) << plugin;
  }
}

TEST_P(OldBinariesInThisCore, TemplatesRefuseADamagedPayload) {
  for (const char* plugin : {"c", "cxx"}) {
    const TempDir dir;
    Runtime runtime = this->runtime(plugin);

    const auto module = runtime.load(artifact(dir, Words().u64(99).text("hello"), "example.null"));

    ASSERT_FALSE(module.ok()) << plugin;
    EXPECT_EQ(module.error().code, Code::malformed) << plugin << ": " << module.error().message;
  }
}

// c = a + 2 b: memory, copies in both directions, a kernel.
TEST_P(OldBinariesInThisCore, TheExampleRunsAKernelOnItsDevice) {
  const TempDir dir;
  Runtime runtime = this->runtime("abacus");
  Words payload;
  payload.str("beads").u64(1).str("axpy2").str("").u64(4);
  for (int i = 0; i < 3; ++i) payload.u8(3).u8(64).u8(1).u8(0);
  payload.u8(0).u8(32).u8(1).u8(0);
  payload.u64(2).str("blockIdx.x").str("threadIdx.x");
  payload.str("kernel axpy2\n  below 3\n  get 0\n  get 1\n  const 2\n  mul\n  add\n  put 2\n");
  constexpr std::int64_t shape[] = {100};
  constexpr gantry_dtype float32{2, 32, 1};
  const auto on_device = [&](float first) {
    Tensor host = runtime.tensor(shape, float32).value();
    for (float& element : host.elements<float>()) element = first++;
    Tensor there = runtime.tensor(shape, float32, "abacus:0").value();
    const Status copied = runtime.copy(host, there);
    EXPECT_TRUE(copied.ok()) << copied.error().message;
    return there;
  };

  const auto module = runtime.load(artifact(dir, payload, "example.abacus"));

  ASSERT_TRUE(module.ok()) << module.error().message;
  const Tensor a = on_device(1), b = on_device(1000), c = on_device(0);
  const auto called = module->function("axpy2").value()(a, b, c, 100, 2, 64);
  ASSERT_TRUE(called.ok()) << called.error().message;
  Tensor found = runtime.tensor(shape, float32).value();
  const Status copied = runtime.copy(c, found);
  ASSERT_TRUE(copied.ok()) << copied.error().message;
  for (std::size_t i = 0; i < 100; ++i) {
    const float n = static_cast<float>(i);
    ASSERT_EQ(found.elements<float>()[i], (1 + n) + 2 * (1000 + n)) << i;
  }
}

std::string name_of_set(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Sets, OldBinaries, ::testing::ValuesIn(sets()), name_of_set);
INSTANTIATE_TEST_SUITE_P(Sets, OldBinariesInThisCore, ::testing::ValuesIn(sets()), name_of_set);

TEST(OldBinariesDirectory, HasASet) { EXPECT_THAT(sets(), Not(IsEmpty())); }

}  // namespace
}  // namespace gantry
