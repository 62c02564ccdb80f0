// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/choice/declared_layouts.hpp"

#include "core/plugins/choice/steps.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using test::ManifestBuilder;
using test::TempDir;

class DeclaredLayouts : public testing::Test {
 protected:
  // keys     [in]   the manifest's list, as written
  void add(std::string_view name, std::string_view keys, std::string_view line = "") const {
    ManifestBuilder()
        .id(concat("test.", name))
        .set("keys", keys)
        .line(line)
        .write_to(dir_ / concat(name, ".yaml"));
  }

  // "u8", "u8 | str" for alternatives, "" for a key without a layout.
  std::string layout_of(std::string_view key, const std::vector<std::string>& served = {},
                        const ChoiceOptions& options = {}) const {
    PluginLocations locations;
    locations.directories = {dir_.path().string()};
    locations.exclusive = true;
    PayloadLayouts layouts = PayloadLayouts::built_in();
    SearchResult found = search_plugins(locations);
    add_declared_layouts(discover(found, options).candidates, served, layouts);
    std::string text;
    for (const PayloadLayout& one : layouts.alternatives(key))
      text += concat(text.empty() ? "" : " | ", one.text());
    return text;
  }

 private:
  TempDir dir_;
};

TEST_F(DeclaredLayouts, ApplyToKeysAndTheirAliases) {
  add("a", "[{key: one, aliases: [two, three], payload: [u8, str]}, {key: four}]");

  EXPECT_EQ(layout_of("one", {"one", "three", "two"}), "u8 str");
  EXPECT_EQ(layout_of("two", {"one", "three", "two"}), "u8 str");
  EXPECT_EQ(layout_of("three", {"one", "three", "two"}), "u8 str");
  EXPECT_EQ(layout_of("four"), "");
  EXPECT_EQ(layout_of("unknown"), "");
}

TEST_F(DeclaredLayouts, AreNotReadFromManifestsThatAreNotTrusted) {
  const TempDir etc;
  test::write_file(etc / "trust.yaml", std::string_view("policies: {program: require}\n"));
  ChoiceOptions options;
  options.trust = std::make_shared<const Trust>(
      Trust::open({.trust_file = (etc / "trust.yaml").string(), .lock_file = ""}).value());
  for (const char* line : {"", "enabled: false", "targets: {os: [plan9]}"}) {
    add("a", "[{key: one, payload: [u8]}]", line);

    EXPECT_EQ(layout_of("one", {}, options), "") << line;
    EXPECT_EQ(layout_of("one", {}), "u8") << line;
  }
}

TEST_F(DeclaredLayouts, DoNotReplaceBuiltInOnes) {
  const std::string cuda = PayloadLayouts::built_in().alternatives("cuda").front().text();
  add("a", "[{key: cuda, aliases: [acme.cuda], payload: [u8]}]");

  EXPECT_EQ(layout_of("cuda", {"acme.cuda", "cuda"}), cuda);
  EXPECT_EQ(layout_of("acme.cuda", {"acme.cuda", "cuda"}), cuda);
}

TEST_F(DeclaredLayouts, ApplyInOrderOfPrecedence) {
  add("a", "[{key: one, payload: [u8]}]");
  add("b", "[{key: one, payload: [u16]}, {key: two, payload: [u32]}]");
  add("c", "[{key: three, aliases: [one, two], payload: [u64]}]");

  EXPECT_EQ(layout_of("one", {"one", "three", "two"}), "u8");
  EXPECT_EQ(layout_of("two", {"one", "three", "two"}), "u32");
  EXPECT_EQ(layout_of("three", {"one", "three", "two"}), "u64");
}

TEST_F(DeclaredLayouts, OfUsablePluginsHavePrecedence) {
  add("a", "[{key: one, payload: [u8]}]", "enabled: false");
  add("b", "[{key: two, aliases: [one], payload: [u16]}]");

  EXPECT_EQ(layout_of("one", {"one", "two"}), "u16");
}

// The usable plugin's loader reads the payload, whose layout may differ from the other plugin's.
TEST_F(DeclaredLayouts, OfUnusablePluginsAreIgnoredIfAUsableOneServesTheKey) {
  add("a", "[{key: one, payload: [u8]}]", "enabled: false");
  add("b", "[{key: one}]");

  EXPECT_EQ(layout_of("one", {"one"}), "");
  // the key is overridden to an absent plugin
  EXPECT_EQ(layout_of("one", {}), "u8");
}

TEST_F(DeclaredLayouts, OfAnInvalidManifestDoNotExist) {
  add("a", "[{key: one, payload: [u8]}]", "prority: 1");
  add("b", "[{key: two, payload: [u16]}]");

  EXPECT_EQ(layout_of("one"), "");
  EXPECT_EQ(layout_of("two", {"two"}), "u16");
}

}  // namespace
}  // namespace gantry
