// SPDX-License-Identifier: Apache-2.0
//
// Writes the container of every golden artifact again: with its payloads carried through, and with
// every payload that a plugin of this build serves written by the plugin's save_binary. The bytes
// must be those that TVM wrote.
#include "core/engine/module/module_graph.hpp"
#include "core/writing/carrying_stream.hpp"
#include "core/writing/saved_container.hpp"
#include "tests/support/built_runtime.hpp"
#include "tests/support/files.hpp"
#include "tests/unit/writing/bytes_of.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>

namespace gantry {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;

// Every shared library below tests/golden/data.
std::vector<std::string> golden_libraries() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(test::golden(""))) {
    if (entry.path().extension() != ".so") continue;
    files.push_back(fs::relative(entry.path(), test::golden("")).string());
  }
  std::ranges::sort(files);
  return files;
}

// Nothing if two containers are equal; else "byte 44 is 0x01, expected 0x02, size 99, expected 99".
std::optional<std::string> difference(std::span<const std::uint8_t> found,
                                      std::span<const std::uint8_t> expected) {
  const auto [at, other] = std::ranges::mismatch(found, expected);
  if (at == found.end() && other == expected.end()) return std::nullopt;
  const auto text = [](auto where, auto all) {
    return where == all.end() ? std::string("missing") : concat(Hex{*where});
  };
  return concat("byte ", at - found.begin(), " is ", text(at, found), ", expected ",
                text(other, expected), ", size ", found.size(), ", expected ", expected.size());
}

struct Read {
  std::shared_ptr<const MappedFile> mapped;
  std::optional<ElfFile> elf;
  Container container;

  explicit Read(const fs::path& path) {
    mapped = MappedFile::open(path).value();
    elf = ElfFile::parse(mapped).value();
    container = read_container(*elf, PayloadLayouts::built_in()).value();
  }
  bool has_container() const { return container.layout != ContainerLayout::none; }
  std::vector<ContainerModule> modules() const { return listed_modules(container, mapped).value(); }
  Result<Pieces> write(std::span<const ContainerModule> modules) const {
    return write_listed_container(modules, form_of(container).value());
  }
};

class RoundTrip : public ::testing::TestWithParam<std::string> {
 protected:
  RoundTrip() {
    options_ = test::built_plugins_only();
    options_.config_file = "/dev/null";
#ifdef GANTRY_FAKE_CUDA
    test::write_file(
        temp_ / "gantry.yaml",
        concat("backends: {gantry.cuda: {config: {library: ", GANTRY_FAKE_CUDA, "}}}\n"));
    options_.config_file = (temp_ / "gantry.yaml").string();
#endif
  }

  const test::TempDir temp_;
  RuntimeOptions options_;
};

TEST_P(RoundTrip, CarriedThroughGivesTheSameBytesWithoutACopyOfAPayload) {
  const Read read(test::golden(GetParam()));
  if (!read.has_container()) {
    EXPECT_EQ(form_of(read.container).error().message, "file has no container");
    return;
  }

  const Result<Pieces> written = read.write(read.modules());

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(difference(test::bytes_of(*written), read.container.bytes), std::nullopt);
  // keys, lengths and tree
  EXPECT_LT(written->memory_bytes(), 1024u);
}

// The exporter numbers the last import of a module first, so the imports in reverse order give its
// numbers again.
TEST_P(RoundTrip, NumberedAgainGivesTheSameBytes) {
  const Read read(test::golden(GetParam()));
  if (!read.has_container()) return;
  std::vector<ContainerModule> modules = read.modules();
  for (ContainerModule& module : modules) std::ranges::reverse(module.imports);

  const Result<Pieces> written = write_container(modules, form_of(read.container).value());

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(difference(test::bytes_of(*written), read.container.bytes), std::nullopt);
}

TEST_P(RoundTrip, SavedByThePluginsGivesTheSameBytes) {
  const fs::path path = test::golden(GetParam());
  const Read read(path);
  if (!read.has_container()) return;
  Runtime runtime = test::new_runtime(options_);
  const Result<Module> root = runtime.load(path.string(), {.allow_missing = true});
  ASSERT_TRUE(root.ok()) << root.error().message;
  std::vector<ContainerModule> modules = read.modules();
  for (ModuleNode* node : reachable(*reinterpret_cast<ModuleNode*>(root->get()))) {
    ContainerModule& module = modules[node->index];
    if (module.type_key.empty()) continue;
    module.write_payload = [node](Pieces& out) {
      CarryingStream stream(node->artifact->file, out);
      return save_payload(*node, stream, out.offset());
    };
  }

  const Result<Pieces> written = read.write(modules);

  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_EQ(difference(test::bytes_of(*written), read.container.bytes), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Every, RoundTrip, ::testing::ValuesIn(golden_libraries()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace_if(
                               name, [](unsigned char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(RoundTripComparison, FindsOneChangedByteOfOnePayload) {
  const Read read(test::golden("tvm-0.12/digits_mlp_opencl.so"));
  for (std::size_t e = 0; e < read.container.entries.size(); ++e) {
    const Entry& entry = read.container.entries[e];
    if (entry.is_library()) continue;
    std::vector<ContainerModule> modules = read.modules();
    modules[e].write_payload = [&entry](Pieces& out) -> Status {
      std::vector<std::uint8_t> changed(entry.payload.begin(), entry.payload.end());
      changed[changed.size() / 2] ^= 1;
      out.Write(changed.data(), changed.size());
      return {};
    };

    const auto found = difference(test::bytes_of(*read.write(modules)), read.container.bytes);

    ASSERT_TRUE(found.has_value()) << entry.type_key;
    EXPECT_THAT(*found, ::testing::StartsWith(
                            concat("byte ", entry.at + entry.payload.size() / 2, " is ")));
  }
}

}  // namespace
}  // namespace gantry
