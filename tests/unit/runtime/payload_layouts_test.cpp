// SPDX-License-Identifier: Apache-2.0
//
// The payload layouts that manifests declare, as used by inspect and load.
#include "core/engine/embed/objects.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/manifest_builder.hpp"
#include "tests/unit/formats/fixtures.hpp"
#include "tests/unit/runtime/digits.hpp"
#include "tests/unit/runtime/program_plugin.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::program_plugin;
using test::Words;
using ::testing::ElementsAre;

class DeclaredLayouts : public testing::Test {
 protected:
  DeclaredLayouts() { program_plugin() = {}; }

  RuntimeOptions options(std::string_view config = "") const {
    RuntimeOptions all;
    if (!config.empty()) {
      all.config_file = (dir_ / "runtime.yaml").string();
      test::write_file(all.config_file, config);
    }
    all.plugin_paths = {(dir_ / "plugins.d").string()};
    all.only_these_plugins = true;
    return all;
  }

  void add_manifest(std::string_view name, const ManifestBuilder& manifest) const {
    manifest.write_to(dir_ / "plugins.d" / concat(name, ".yaml"));
  }

  // A file without CPU code with the given number of entries, in which module 0 has no imports.
  std::string file(std::uint64_t modules, const Words& entries) const {
    std::vector<std::uint64_t> rows(modules + 1, 0);
    const Words container = test::layout_one(modules, entries, rows, {});
    const auto path = dir_ / "model.so";
    test::write_file(path, test::ElfBuilder().object("__tvm_dev_mblob", container.bytes()).build());
    return path.string();
  }

  // Returns what inspect reads: "acme.npu 11", or the error.
  std::vector<std::string> sizes(const std::string& path, std::string_view config = "") const {
    const auto runtime = Runtime::create(options(config));
    if (!runtime.ok()) return {runtime.error().message};
    const ElfFile elf = ElfFile::parse(MappedFile::open(path).value()).value();
    const auto container = read_container(elf, state_of(runtime->get())->layouts);
    if (!container.ok()) return {container.error().message};
    std::vector<std::string> all;
    for (const Entry& entry : container->entries) {
      all.push_back(concat(entry.type_key, " ", entry.payload.size(),
                           entry.boundary == Boundary::laid_out ? "" : " of unknown extent"));
    }
    return all;
  }

 private:
  test::TempDir dir_;
};

// Two keys and an alias. The layout of each determines the length of its payload.
const ManifestBuilder two_keys =
    ManifestBuilder()
        .id("acme.npu")
        .set("keys",
             "[{key: acme.npu, aliases: [acme.old], payload: [u32, str]}, "
             "{key: acme.dsp, payload: [\"n:u64\", \"n*u16\"]}, {key: acme.mark, payload: []}]");

// A product and padding, which count from the first byte of each payload.
const ManifestBuilder matrices = ManifestBuilder()
                                     .id("acme.npu")
                                     .set("keys",
                                          "[{key: acme.npu, payload: [\"rows:u16\", \"cols:u8\", "
                                          "\"rows*cols*u16\", align(8), str(u8)]}]");

Words payloads() {
  return Words()
      .str("acme.npu")
      .u32(7)
      .str("npu")
      .str("acme.mark")
      .str("acme.dsp")
      .u64(3)
      .u16(1)
      .u16(2)
      .u16(3)
      .str("acme.old")
      .u32(8)
      .str("older");
}

TEST_F(DeclaredLayouts, DelimitPayloadsOfTheirKeysAndAliases) {
  add_manifest("acme", two_keys);

  EXPECT_THAT(sizes(file(4, payloads())),
              ElementsAre("acme.npu 15", "acme.mark 0", "acme.dsp 14", "acme.old 17"));
}

TEST_F(DeclaredLayouts, DelimitPayloadsOfProductsAtAnyOffset) {
  add_manifest("acme", matrices);
  Words entries;
  for (const std::string_view text : {"", "a", "abc"}) {
    entries.str("acme.npu")
        .u16(2)
        .u8(1)
        .u16(7)
        .u16(8)
        .u8(0)
        .u8(static_cast<std::uint8_t>(text.size()))
        .text(text);
  }

  EXPECT_THAT(sizes(file(3, entries)), ElementsAre("acme.npu 9", "acme.npu 10", "acme.npu 12"));
}

// The layout of a payload does not depend on whether its plugin can be used on this host.
TEST_F(DeclaredLayouts, ApplyEvenIfThePluginCannotBeUsed) {
  ManifestBuilder elsewhere = two_keys;
  add_manifest("acme", elsewhere.line("targets: {arch: [sparc]}"));
  EXPECT_THAT(sizes(file(4, payloads())),
              ElementsAre("acme.npu 15", "acme.mark 0", "acme.dsp 14", "acme.old 17"));

  ManifestBuilder off = two_keys;
  add_manifest("acme", off.line("enabled: false"));
  EXPECT_THAT(sizes(file(4, payloads())),
              ElementsAre("acme.npu 15", "acme.mark 0", "acme.dsp 14", "acme.old 17"));
}

TEST_F(DeclaredLayouts, OfAUsablePluginTakePrecedence) {
  add_manifest("a", ManifestBuilder()
                        .id("acme.a")
                        .line("enabled: false")
                        .set("keys", "[{key: acme.npu, payload: [u64]}]"));
  add_manifest("b", ManifestBuilder().id("acme.b").set("keys", "[{key: acme.npu, payload: [u8]}]"));
  const Words one = Words().str("acme.npu").u8(1);

  EXPECT_THAT(sizes(file(1, one)), ElementsAre("acme.npu 1"));

  // Only its loader can determine the length.
  add_manifest("b", ManifestBuilder().id("acme.b").key("acme.npu"));
  EXPECT_THAT(sizes(file(1, one)), ElementsAre("acme.npu 1 of unknown extent"));

  // An override: b does not serve it.
  const Words eight = Words().str("acme.npu").u64(1);
  EXPECT_THAT(sizes(file(1, eight), "plugins: {overrides: {acme.npu: acme.c}}\n"),
              ElementsAre("acme.npu 8"));
}

// With a layout the loader receives exactly its payload.
TEST_F(DeclaredLayouts, DetermineTheBytesThatTheLoaderReceives) {
  add_manifest(
      "test",
      ManifestBuilder().id("test.declared").set("keys", "[{key: test.block, payload: [bytes]}]"));
  Runtime runtime = test::make_runtime(options());
  ASSERT_TRUE(runtime.add_plugin(test::query_program_plugin).ok());

  const auto model =
      runtime.load(file(2, Words().str("test.block").str("one").str("test.block").str("two")));

  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(program_plugin().loads, 2);
  EXPECT_TRUE(program_plugin().last_was_exact);
}

}  // namespace
}  // namespace gantry
