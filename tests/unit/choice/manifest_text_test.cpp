// SPDX-License-Identifier: Apache-2.0
//
// Manifests that are no valid YAML of the subset, and values of another type, for every key.
#include "core/base/reason.hpp"
#include "core/plugins/choice/steps.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "core/plugins/manifest/manifest_fields.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>

namespace gantry {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string valid_text() { return test::ManifestBuilder().key("fake").text(); }

struct UnreadableManifest {
  std::string name;
  // the whole file
  std::string text;
  std::uint16_t number;
  // part of the message
  std::string message;
};

class UnreadableManifestFile : public ::testing::TestWithParam<UnreadableManifest> {};

// yaml-cpp reports most of these as "bad file" at the first character, or accepts them.
TEST_P(UnreadableManifestFile, IsACandidateWithItsReason) {
  const test::TempDir dir;
  const std::string file = (dir / "x.yaml").string();
  test::write_file(file, GetParam().text);
  PluginLocations locations;
  locations.host.clear();
  locations.directories = {dir.path().string()};

  SearchResult found = search_plugins(locations);
  const Discovery result = discover(found, {});

  ASSERT_EQ(result.candidates.size(), 1u);
  const Candidate& candidate = result.candidates[0];
  EXPECT_EQ(candidate.reason.number, GetParam().number) << candidate.text;
  EXPECT_THAT(candidate.text, StartsWith(file));
  EXPECT_THAT(candidate.text, HasSubstr(GetParam().message));
  EXPECT_THAT(candidate.text, Not(HasSubstr("bad file")));
}

using namespace std::string_literals;

std::string alias_bomb() {
  std::string text = "annotations:\n  a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    text += concat("  a", i, ": &a", i, " [");
    for (int j = 0; j < 8; ++j) text += concat(j == 0 ? "" : ", ", "*a", i - 1);
    text += "]\n";
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    All, UnreadableManifestFile,
    ::testing::Values(
        UnreadableManifest{"OneMebibyte", valid_text() + "# " + std::string(1 << 20, 'x') + "\n",
                           152, "more than 64.0 KiB (65536 bytes)"},
        UnreadableManifest{"NotUtf8", valid_text() + "vendor: caf\xe9\n", 153,
                           ":7:12: byte 0xe9 is not UTF-8"},
        UnreadableManifest{"Nul", valid_text() + "vendor: a\0b\n"s, 154,
                           ":7:10: control character 0x0"},
        UnreadableManifest{"Tab", valid_text() + "annotations:\n\ta: 1\n", 155,
                           ":8:1: tab in the indentation, expected spaces"},
        UnreadableManifest{
            "NineHundredDeep",
            valid_text() + "annotations: " + std::string(900, '[') + std::string(900, ']') + "\n",
            156, ":7:29: nesting depth 17, limit is 16"},
        UnreadableManifest{"AliasBomb", valid_text() + alias_bomb(), 157,
                           ":8:7: annotations.a0: anchor is not supported, repeat the value"},
        UnreadableManifest{"MergeKey", valid_text() + "annotations: {<<: {a: 1}}\n", 157,
                           ": annotations: merge key is not supported, repeat the keys"},
        UnreadableManifest{"Tag", valid_text() + "priority: !!int 3\n", 158,
                           ":7:11: priority: tag is not supported, the key has a fixed type"},
        UnreadableManifest{"TwoDocuments", valid_text() + "---\n" + valid_text(), 159,
                           ":7:1: second document, expected one"}),
    [](const auto& test) { return test.param.name; });

// The second line of each text repeats a key of the first.
struct Repeated {
  std::string name;
  std::string text;
  // after the file's name
  std::string message;
};

class RepeatedKey : public ::testing::TestWithParam<Repeated> {};

TEST_P(RepeatedKey, IsReportedWithBothLines) {
  const auto manifest = read_manifest(valid_text() + GetParam().text, "/p/a.yaml");

  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code, Code::malformed);
  EXPECT_EQ(reason_of(manifest.error()), reason::yaml_duplicate_key);
  EXPECT_EQ(manifest.error().message, "/p/a.yaml:" + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    AtEachLevel, RepeatedKey,
    ::testing::Values(
        Repeated{"Manifest", "vendor: a\nvendor: b\n",
                 "8:1: vendor: key \"vendor\" is repeated, first in line 7"},
        Repeated{"Record", "targets: {isa: x86-64-v1,\n  isa: x86-64-v1}\n",
                 "8:3: targets.isa: key \"isa\" is repeated, first in line 7"},
        Repeated{"ListItem", "devices: [{kind: gpu,\n  kind: gpu}]\n",
                 "8:3: devices[0].kind: key \"kind\" is repeated, first in line 7"},
        Repeated{"ListItemOfARecord", "requires: {libraries: [{soname: a.so,\n  soname: a.so}]}\n",
                 "8:3: requires.libraries[0].soname: key \"soname\" is repeated, first in line 7"},
        Repeated{"Map", "config: {a: 1,\n  a: 1}\n",
                 "8:3: config.a: key \"a\" is repeated, first in line 7"},
        Repeated{"RecordOfAMap", "config_schema: {a: {type: int,\n  type: int}}\n",
                 "8:3: config_schema.a.type: key \"type\" is repeated, first in line 7"},
        Repeated{"Annotations", "annotations: {a: {b: [{c: 1,\n  c: 1}]}}\n",
                 "8:3: annotations.a.b[0].c: key \"c\" is repeated, first in line 7"},
        Repeated{"KeyOfTools", "x-acme: {a: 1,\n  a: 1}\n",
                 "8:3: x-acme.a: key \"a\" is repeated, first in line 7"}),
    [](const auto& test) { return test.param.name; });

// Values that a key of the type does not accept.
std::vector<std::string> wrong_values(YamlType type) {
  switch (type) {
    case YamlType::text:
      return {"010", "NO", "1.10", "true", "[a]", "{a: b}"};
    case YamlType::quoted_text:
      return {"1.10", "word", "[a]", "{a: b}"};
    case YamlType::integer:
      return {"010", "NO", "x", "1.5", "'1'", "[1]", "{a: 1}"};
    case YamlType::number:
      return {"NO", "x", "'1'", "[1]", "{a: 1}"};
    case YamlType::boolean:
      return {"NO", "yes", "1", "'true'", "[true]", "{a: true}"};
    case YamlType::choice:
    case YamlType::scalar:
      return {"[a]", "{a: b}"};
    case YamlType::list:
      return {"x", "010", "{a: b}"};
    case YamlType::record:
    case YamlType::map:
      return {"x", "010", "[a]"};
    case YamlType::any:
      break;
  }
  return {};
}

// Tries wrong values for one key, and for all keys below it.
class WrongTypes {
 public:
  void try_fields(std::span<const YamlField> fields, const std::string& path,
                  const std::string& before, const std::string& after) {
    for (const YamlField& field : fields) {
      const std::string here = yaml_path(path, field.name);
      const std::string start = concat(before, field.name, ": ");
      try_values(field.type, here, start, after);
      switch (field.type) {
        case YamlType::list:
          try_items(field, yaml_path(here, 0), start + "[", "]" + after);
          break;
        case YamlType::map:
          try_items(field, yaml_path(here, "k"), start + "{k: ", "}" + after);
          break;
        case YamlType::record:
          try_fields(field.fields, here, start + "{", "}" + after);
          break;
        default:
          break;
      }
    }
  }
  int count() const { return count_; }

 private:
  void try_items(const YamlField& field, const std::string& path, const std::string& before,
                 const std::string& after) {
    try_values(field.items, path, before, after);
    if (field.items == YamlType::record) try_fields(field.fields, path, before + "{", "}" + after);
  }

  void try_values(YamlType type, const std::string& path, const std::string& before,
                  const std::string& after) {
    for (const std::string& value : wrong_values(type)) {
      const std::string line = before + value + after;
      SCOPED_TRACE(line);
      const std::string first = path == "schema" ? "# schema\n" : "schema: \"1.0\"\n";

      const auto manifest = read_manifest(first + line + "\n", "/p/a.yaml");

      ++count_;
      ASSERT_FALSE(manifest.ok());
      EXPECT_EQ(manifest.error().code, Code::malformed);
      EXPECT_EQ(reason_of(manifest.error()).number, 160);
      EXPECT_THAT(manifest.error().message,
                  StartsWith(concat("/p/a.yaml:2:", before.size() + 1, ": ", path, ": expected ")));
      const bool is_single = value[0] != '[' && value[0] != '{';
      EXPECT_THAT(manifest.error().message,
                  HasSubstr(!is_single ? value[0] == '[' ? ", found a list" : ", found a map"
                            : value[0] == '\'' ? ", found text \""
                                               : concat(", found \"", value, "\"")));
      if (is_single && (type == YamlType::text || type == YamlType::quoted_text)) {
        EXPECT_THAT(manifest.error().message,
                    EndsWith(concat(": write it in quotes, \"", value, "\"")));
      }
    }
  }

  int count_ = 0;
};

TEST(ManifestTypes, OfEveryKeyAreCheckedWithLocationAndHint) {
  WrongTypes types;

  types.try_fields(manifest_fields(), "", "", "");

  EXPECT_GT(types.count(), 250);
}

}  // namespace
}  // namespace gantry
