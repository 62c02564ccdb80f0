// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/manifest/manifest.hpp"

#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>

#include <sstream>

namespace gantry {
namespace {

// An entry of `globals` with `count` names that begin alike.
std::string globals_of(int count) {
  std::string names = "n0";
  for (int i = 1; i < count; ++i) names += concat(", n", i);
  return concat("'f{", names, "}'");
}

using test::ManifestBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ManifestBuilder fake() { return ManifestBuilder().key("fake"); }

TEST(Manifest, ReadsTheRequiredKeys) {
  const Result<Manifest> manifest = read_manifest(fake().text(), "/p/fake.yaml");

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->id, "test.fake");
  EXPECT_EQ(manifest->version.text, "1.0.0");
  EXPECT_EQ(manifest->library_path, "/p/libfake.so");
  EXPECT_EQ(manifest->abi.max_minor, 0u);
  ASSERT_EQ(manifest->keys.size(), 1u);
  EXPECT_EQ(manifest->keys[0].key, "fake");
  EXPECT_TRUE(manifest->enabled);
  EXPECT_FALSE(manifest->required);
  EXPECT_EQ(manifest->priority, 0);
  EXPECT_EQ(manifest->probe, Probe::automatic);
  EXPECT_EQ(manifest->probe_timeout_ms, 5000);
  EXPECT_THAT(manifest->warnings, IsEmpty());
  EXPECT_EQ(manifest->title(), "test.fake 1.0.0");
}

TEST(Manifest, ReadsEveryField) {
  const std::string text = R"(
schema: "1.0"
schema_min: "1.0"
id: acme.npu
version: "2.3.1"
display_name: ACME NPU
vendor: ACME Silicon
license: Apache-2.0
homepage: https://example.invalid
support: https://support.example.invalid/npu
library: /opt/acme/lib/libacme_gantry.so
sha256: 5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c
self_contained: true
abi: {major: 1, min_minor: 0, max_minor: 3}
keys: [{key: acme.npu, aliases: [acme.old], payload: [str, bytes]}]
targets: {arch: [x86_64, aarch64], os: [linux], libc: ["glibc>=2.28"], isa: x86-64-v2}
devices: [{name: acme_npu, kind: npu, dlpack: ext}, {name: gpu0, kind: gpu, dlpack: 2}]
globals: [acme.run, acme.tools.*, "acme.{load, nn.*, save}"]
requires:
  files: [/opt/acme/firmware]
  device_nodes: [/dev/acme0]
  libraries: [{soname: libacme.so.1, min_version: "7.1", symbols: [acme_open, ACME_7.1]}]
enabled: false
required: true
priority: -5
probe: always
probe_timeout_ms: 30000
env_allow: [ACME_CACHE]
config: {cache_mb: 512}
config_schema:
  cache_mb: {type: int, default: 256, min: 0, max: 65536, doc: size of the cache}
  mode: {type: enum, enum: [lazy, eager], default: lazy}
  token: {type: string, secret: true}
annotations: {anything: [goes, {here: 1}]}
x-acme-sku: edge
)";
  const Result<Manifest> read = read_manifest(text, "/p/acme.yaml");

  ASSERT_TRUE(read.ok()) << read.error().message;
  const Manifest& m = *read;
  EXPECT_EQ(m.title(), "ACME NPU (acme.npu 2.3.1)");
  EXPECT_EQ(m.file, "/p/acme.yaml");
  EXPECT_EQ(m.vendor, "ACME Silicon");
  EXPECT_EQ(m.license, "Apache-2.0");
  EXPECT_EQ(m.homepage, "https://example.invalid");
  EXPECT_EQ(m.support, "https://support.example.invalid/npu");
  EXPECT_EQ(m.sha256, "5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c5f0c");
  EXPECT_THAT(m.globals,
              ElementsAre("acme.run", "acme.tools.*", "acme.load", "acme.nn.*", "acme.save"));
  EXPECT_EQ(m.library_path, "/opt/acme/lib/libacme_gantry.so");
  EXPECT_TRUE(m.self_contained);
  EXPECT_THAT(m.keys[0].aliases, ElementsAre("acme.old"));
  ASSERT_TRUE(m.keys[0].payload.has_value());
  EXPECT_EQ(m.keys[0].payload->text(), "str bytes");
  EXPECT_THAT(m.targets.arch, ElementsAre("x86_64", "aarch64"));
  EXPECT_EQ(m.targets.isa, "x86-64-v2");
  EXPECT_EQ(m.devices[0].kind, "npu");
  EXPECT_EQ(m.devices[0].dlpack, 0);
  EXPECT_EQ(m.devices[1].dlpack, 2);
  EXPECT_THAT(m.needs.device_nodes, ElementsAre("/dev/acme0"));
  EXPECT_THAT(m.needs.files, ElementsAre("/opt/acme/firmware"));
  EXPECT_EQ(m.needs.libraries[0].min_version, "7.1");
  EXPECT_THAT(m.needs.libraries[0].symbols, ElementsAre("acme_open", "ACME_7.1"));
  EXPECT_FALSE(m.enabled);
  EXPECT_TRUE(m.required);
  EXPECT_EQ(m.priority, -5);
  EXPECT_EQ(m.probe, Probe::always);
  EXPECT_EQ(m.probe_timeout_ms, 30000);
  EXPECT_THAT(m.env_allow, ElementsAre("ACME_CACHE"));
  ASSERT_EQ(m.config.size(), 1u);
  EXPECT_EQ(m.config[0].source, "/p/acme.yaml");
  EXPECT_EQ(m.config[0].values[0].text, "512");
  ASSERT_EQ(m.config_schema.size(), 3u);
  EXPECT_EQ(std::get<std::int64_t>(*m.config_schema[0].fallback), 256);
  EXPECT_EQ(m.config_schema[0].doc, "size of the cache");
  EXPECT_THAT(m.config_schema[1].choices, ElementsAre("lazy", "eager"));
  EXPECT_TRUE(m.config_schema[2].secret);
}

TEST(Manifest, GivesGpusALongerProbeTimeout) {
  const Result<Manifest> manifest =
      read_manifest(fake().set("devices", "[{name: g, kind: gpu}]").text(), "/p/a.yaml");

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->probe_timeout_ms, 30000);
}

TEST(Manifest, FindsTheKeyOfAnAlias) {
  const Manifest manifest =
      read_manifest(ManifestBuilder().set("keys", "[{key: a, aliases: [b]}, {key: c}]").text(),
                    "/p/a.yaml")
          .value();

  ASSERT_NE(manifest.key_for("b"), nullptr);
  EXPECT_EQ(manifest.key_for("b")->key, "a");
  EXPECT_EQ(manifest.key_for("c")->key, "c");
  EXPECT_EQ(manifest.key_for("d"), nullptr);
}

struct BadManifest {
  std::string name;
  ManifestBuilder manifest;
  std::string reason;
  // without the file name
  std::string message;
};

class InvalidManifest : public ::testing::TestWithParam<BadManifest> {};

TEST_P(InvalidManifest, IsRejectedWithLocationAndReason) {
  const BadManifest& bad = GetParam();

  const Result<Manifest> manifest = read_manifest(bad.manifest.text(), "/p/a.yaml");

  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().code, Code::malformed);
  EXPECT_EQ(manifest.error().message, "/p/a.yaml:" + bad.message);
  EXPECT_EQ(manifest.error().reason, bad.reason);
}

INSTANTIATE_TEST_SUITE_P(
    Fields, InvalidManifest,
    ::testing::Values(
        BadManifest{"NoSchema", fake().without("schema"), "YAML_MISSING_KEY",
                    "1:1: schema: required key is missing"},
        BadManifest{
            "SchemaWithoutQuotes", fake().set("schema", "1.0"), "YAML_TYPE",
            "1:9: schema: expected text in quotes, found \"1.0\": write it in quotes, \"1.0\""},
        BadManifest{"SchemaIsAWord", fake().schema("one"), "YAML_TYPE",
                    "1:9: schema: expected major.minor as in \"1.0\", found text \"one\""},
        BadManifest{
            "NewerSchema", fake().schema("1.2").line("sparkle: 1"), "SCHEMA_VERSION",
            "1:9: schema: manifest requires schema 1.2, this core reads 1.0: update the core"},
        BadManifest{
            "NewerMajor", fake().schema("2.0"), "SCHEMA_VERSION",
            "1:9: schema: manifest requires schema 2.0, this core reads 1.0: update the core"},
        BadManifest{
            "OlderMajor", fake().schema("0.9"), "SCHEMA_VERSION",
            "1:9: schema: manifest requires schema 0.9, this core reads 1.0: update the plugin"},
        BadManifest{
            "NewerMinimum", fake().schema("1.3").set("schema_min", "\"1.1\""), "SCHEMA_VERSION",
            "7:13: schema_min: manifest requires schema 1.1, this core reads 1.0: update the core"},
        BadManifest{
            "NewerMajorWithAMinimum", fake().schema("2.0").set("schema_min", "\"1.0\""),
            "SCHEMA_VERSION",
            "1:9: schema: manifest requires schema 2.0, this core reads 1.0: update the core"},
        BadManifest{
            "OlderMajorWithAMinimum", fake().schema("0.9").set("schema_min", "\"1.0\""),
            "SCHEMA_VERSION",
            "1:9: schema: manifest requires schema 0.9, this core reads 1.0: update the plugin"},
        BadManifest{
            "MinimumOfAnotherMajor", fake().set("schema_min", "\"2.0\""), "SCHEMA_VERSION",
            "7:13: schema_min: manifest requires schema 2.0, this core reads 1.0: update the core"},
        BadManifest{"MinimumWithoutQuotes", fake().schema("1.4").set("schema_min", "1.0"),
                    "YAML_TYPE",
                    "7:13: schema_min: expected text in quotes, found \"1.0\": write it in quotes, "
                    "\"1.0\""},
        BadManifest{"MinimumIsAWord", fake().set("schema_min", "\"one\""), "YAML_TYPE",
                    "7:13: schema_min: expected major.minor as in \"1.0\", found text \"one\""},
        BadManifest{"UnknownKey", fake().line("libary: x"), "YAML_UNKNOWN_KEY",
                    "7:1: libary: unknown key, did you mean \"library\""},
        BadManifest{"KeySignature", fake().line("signature: libfake.so.sig"), "YAML_UNKNOWN_KEY",
                    "7:1: signature: unknown key, known keys are abi, annotations, config, "
                    "config_schema, devices, display_name, enabled, env_allow, globals, homepage, "
                    "id, keys, library, license, priority, probe, probe_timeout_ms, required, "
                    "requires, schema, schema_min, self_contained, sha256, support, target_kinds, "
                    "targets, vendor or version"},
        BadManifest{
            "KeyVendorIdsOfADevice", fake().set("devices", "[{name: a, vendor_ids: [\"0x1e57\"]}]"),
            "YAML_UNKNOWN_KEY",
            "7:21: devices[0].vendor_ids: unknown key, known keys are dlpack, kind or name"},
        BadManifest{"KeyPciIdsOfADevice",
                    fake().set("devices", "[{name: a, pci_ids: [\"1e57:0001\"]}]"),
                    "YAML_UNKNOWN_KEY",
                    "7:21: devices[0].pci_ids: unknown key, known keys are dlpack, kind or name"},
        BadManifest{
            "MinVersionOfALibraryIsNoNumber",
            fake().line("requires: {libraries: [{soname: liba.so.1, min_version: \"v1\"}]}"),
            "YAML_TYPE",
            "7:57: requires.libraries[0].min_version: expected numbers and dots, as 535.104, "
            "found text \"v1\""},
        BadManifest{
            "MinVersionOfALibraryEndsWithADot",
            fake().line("requires: {libraries: [{soname: liba.so.1, min_version: \"1.\"}]}"),
            "YAML_TYPE",
            "7:57: requires.libraries[0].min_version: expected numbers and dots, as 535.104, "
            "found text \"1.\""},
        BadManifest{
            "SymbolOfALibraryHasASpace",
            fake().line("requires: {libraries: [{soname: liba.so.1, symbols: [\"a b\"]}]}"),
            "YAML_TYPE",
            "7:54: requires.libraries[0].symbols[0]: expected the name of a function or of a "
            "version, as GLIBC_2.34, found text \"a b\""},
        BadManifest{"KeyDriverOfRequires",
                    fake().line("requires: {driver: {name: acme, min: \"7.1\"}}"),
                    "YAML_UNKNOWN_KEY",
                    "7:12: requires.driver: unknown key, known keys are device_nodes, files or "
                    "libraries"},
        BadManifest{"KeyUnitOfAnOption", fake().line("config_schema: {a: {type: int, unit: MiB}}"),
                    "YAML_UNKNOWN_KEY",
                    "7:32: config_schema.a.unit: unknown key, known keys are default, doc, enum, "
                    "max, min, secret or type"},
        BadManifest{"KeyLiveOfAnOption", fake().line("config_schema: {a: {type: int, live: true}}"),
                    "YAML_UNKNOWN_KEY",
                    "7:32: config_schema.a.live: unknown key, known keys are default, doc, enum, "
                    "max, min, secret or type"},
        BadManifest{"IdWithoutVendor", fake().id("cuda"), "YAML_TYPE",
                    "2:5: id: expected vendor.name in lower-case letters, digits, '.' and '-', at "
                    "most 64 bytes, "
                    "found \"cuda\""},
        BadManifest{"IdInUpperCase", fake().id("Acme.npu"), "YAML_TYPE",
                    "2:5: id: expected vendor.name in lower-case letters, digits, '.' and '-', at "
                    "most 64 bytes, "
                    "found \"Acme.npu\""},
        BadManifest{
            "VersionWithoutQuotes", fake().set("version", "1.10"), "YAML_TYPE",
            "3:10: version: expected text in quotes, found \"1.10\": write it in quotes, \"1.10\""},
        BadManifest{"VersionOfTwoNumbers", fake().version("1.10"), "YAML_TYPE",
                    "3:10: version: expected major.minor.patch as in \"1.4.0\" or \"2.0.0-rc.1\", "
                    "found text "
                    "\"1.10\""},
        BadManifest{"Sha256TooShort", fake().line("sha256: abc"), "YAML_TYPE",
                    "7:9: sha256: expected 64 lower-case hexadecimal digits, found \"abc\""},
        BadManifest{"AbiUpsideDown", fake().abi("{major: 1, min_minor: 3, max_minor: 2}"),
                    "MANIFEST_VALUE", "5:42: abi.max_minor: max_minor is 2, min_minor is 3"},
        BadManifest{"AbiWithoutMajor", fake().abi("{min_minor: 0, max_minor: 0}"),
                    "YAML_MISSING_KEY", "5:6: abi.major: required key is missing"},
        BadManifest{"NothingOffered", ManifestBuilder(), "MANIFEST_VALUE",
                    "1:1: keys: plugin offers no type key, device or global"},
        BadManifest{"KeyTwice", fake().key("fake"), "MANIFEST_VALUE",
                    "6:27: keys[1].key: type key \"fake\" is declared twice"},
        BadManifest{"AliasIsAKey",
                    ManifestBuilder().set("keys", "[{key: a}, {key: b, aliases: [a]}]"),
                    "MANIFEST_VALUE", "6:37: keys[1].aliases[0]: type key \"a\" is declared twice"},
        BadManifest{"AliasTwice", ManifestBuilder().set("keys", "[{key: a, aliases: [b, c, b]}]"),
                    "MANIFEST_VALUE", "6:33: keys[0].aliases[2]: type key \"b\" is declared twice"},
        BadManifest{"EmptyAlias", ManifestBuilder().set("keys", "[{key: a, aliases: [b, '']}]"),
                    "YAML_TYPE", "6:30: keys[0].aliases[1]: expected a type key, found text \"\""},
        BadManifest{
            "PayloadWord", ManifestBuilder().set("keys", "[{key: a, payload: [str, strng]}]"),
            "MANIFEST_VALUE",
            "6:32: keys[0].payload[1]: payload field 2 \"strng\": \"strng\" is not a type; "
            "known: u8 u16 u32 u64 i8 i16 i32 i64 u16be u32be u64be i16be i32be i64be dtype dev "
            "str bytes cstr format ndarray funcinfo rest \"text\" vec<T> map<K,V> sized<T> {T, U} "
            "label*T align(N); with other lengths: bytes(u16) bytes(rows*cols) sized(u32-4)<T>"},
        BadManifest{"PayloadProduct",
                    ManifestBuilder().set("keys", "[{key: a, payload: [\"n:u8\", \"n*m*u8\"]}]"),
                    "MANIFEST_VALUE",
                    "6:35: keys[0].payload[1]: payload field 2 \"n*m*u8\": no unsigned number "
                    "before it has "
                    "the label \"m\""},
        BadManifest{"PayloadLength",
                    ManifestBuilder().set("keys", "[{key: a, payload: [str(u12)]}]"),
                    "MANIFEST_VALUE",
                    "6:27: keys[0].payload[0]: payload field 1 \"str(u12)\": no unsigned number "
                    "before it has the label \"u12\""},
        BadManifest{"PayloadAfterRest",
                    ManifestBuilder().set("keys", "[{key: a, payload: [str, rest, u8]}]"),
                    "MANIFEST_VALUE",
                    "6:38: keys[0].payload[2]: payload field 3 \"u8\": nothing can follow rest"},
        BadManifest{"EmptyKey", ManifestBuilder().set("keys", "[{key: ''}]"), "YAML_TYPE",
                    "6:14: keys[0].key: expected a type key, found text \"\""},
        BadManifest{
            "DeviceName", fake().device("Acme-NPU"), "YAML_TYPE",
            "7:18: devices[0].name: expected a device name, [a-z][a-z0-9_]*, found \"Acme-NPU\""},
        BadManifest{"DeviceTwice", fake().device("a").device("a"), "MANIFEST_VALUE",
                    "7:29: devices[1].name: device \"a\" is declared twice"},
        BadManifest{"GlobalOfAllNames", fake().set("globals", "[\"*\"]"), "YAML_TYPE",
                    "7:11: globals[0]: expected the name of a function, its beginning and *, or "
                    "{names, that, begin, alike}, found text \"*\""},
        BadManifest{"GlobalWithAStarInside", fake().set("globals", "[\"vm.*.x\"]"), "YAML_TYPE",
                    "7:11: globals[0]: expected the name of a function, its beginning and *, or "
                    "{names, that, begin, alike}, found text \"vm.*.x\""},
        BadManifest{"MoreThan1024Globals",
                    fake().set("globals", "[" + globals_of(256) + ", " + globals_of(256) + ", " +
                                              globals_of(256) + ", " + globals_of(256) + ", f]"),
                    "MANIFEST_VALUE",
                    "7:10: globals: more than 1024 names; a beginning and * stands for many"},
        BadManifest{"GlobalsOfMoreThan16KiB",
                    fake().set("globals", "['" + std::string(16385, 'f') + "']"), "YAML_RANGE",
                    "7:11: globals[0]: 16385 bytes, limit is 16384"},
        BadManifest{"DlpackNumber", fake().set("devices", "[{name: a, dlpack: 64}]"), "YAML_TYPE",
                    "7:29: devices[0].dlpack: expected DLPack's device number, 1 to 63, or ext, "
                    "found \"64\""},
        BadManifest{
            "RelativeNode", fake().line("requires: {device_nodes: [/dev/null, dev/acme0]}"),
            "YAML_TYPE",
            "7:38: requires.device_nodes[1]: expected an absolute path, found \"dev/acme0\""},
        BadManifest{"RelativeFile", fake().line("requires: {files: [firmware]}"), "YAML_TYPE",
                    "7:20: requires.files[0]: expected an absolute path, found \"firmware\""},
        BadManifest{
            "SonameWithFolder",
            fake().line("requires: {libraries: [{soname: a.so}, {soname: lib/a.so}]}"), "YAML_TYPE",
            "7:49: requires.libraries[1].soname: expected a soname without a directory, found "
            "\"lib/a.so\""},
        BadManifest{
            "EmptySoname", fake().line("requires: {libraries: [{soname: ''}]}"), "YAML_TYPE",
            "7:33: requires.libraries[0].soname: expected a soname without a directory, found "
            "text \"\""},
        BadManifest{"PriorityOutOfRange", fake().line("priority: 1001"), "YAML_RANGE",
                    "7:11: priority: expected integer -1000 to 1000, found 1001"},
        BadManifest{"ProbeTimeoutOutOfRange", fake().line("probe_timeout_ms: 99"), "YAML_RANGE",
                    "7:19: probe_timeout_ms: expected integer 100 to 120000, found 99"},
        BadManifest{"EnvironmentName", fake().line("env_allow: [HOME, A-B]"), "YAML_TYPE",
                    "7:19: env_allow[1]: expected the name of an environment variable, found "
                    "\"A-B\""},
        BadManifest{"EnvironmentNameOfADigit", fake().line("env_allow: [\"1A\"]"), "YAML_TYPE",
                    "7:13: env_allow[0]: expected the name of an environment variable, found text "
                    "\"1A\""},
        BadManifest{"ConfigWithAList", fake().line("config: {a: [1]}"), "YAML_TYPE",
                    "7:13: config.a: expected a single value, found a list"},
        BadManifest{"OptionWithoutType", fake().line("config_schema: {a: {default: 1}}"),
                    "YAML_MISSING_KEY", "7:20: config_schema.a.type: required key is missing"},
        BadManifest{"OptionDefaultOfAnotherType",
                    fake().line("config_schema: {a: {type: int, default: x}}"), "MANIFEST_VALUE",
                    "7:41: config_schema.a.default: expected int, found \"x\""},
        BadManifest{"OptionRangeUpsideDown",
                    fake().line("config_schema: {a: {type: int, min: 2, max: 1}}"),
                    "MANIFEST_VALUE", "7:45: config_schema.a.max: max is less than min"},
        BadManifest{"OptionRangeOfText", fake().line("config_schema: {a: {type: string, max: 1}}"),
                    "MANIFEST_VALUE",
                    "7:40: config_schema.a.max: only int and float may have a range"},
        BadManifest{"EnumWithoutValues", fake().line("config_schema: {a: {type: enum}}"),
                    "MANIFEST_VALUE",
                    "7:20: config_schema.a.enum: type enum requires a list of values"},
        BadManifest{"ValuesWithoutEnum", fake().line("config_schema: {a: {type: int, enum: [b]}}"),
                    "MANIFEST_VALUE",
                    "7:38: config_schema.a.enum: only type enum may have a list of values"}),
    [](const auto& test) { return test.param.name; });

// The cells of each row of the table below a line.
std::vector<std::vector<std::string>> table_below(std::string_view line) {
  const std::string page = test::file_text(test::golden("../../../sdk/MANIFEST.md"));
  std::istringstream lines(page.substr(page.find(line) + line.size()));
  std::vector<std::vector<std::string>> rows;
  std::string row;
  std::getline(lines, row);
  std::getline(lines, row);
  for (std::getline(lines, row); row.starts_with("| "); std::getline(lines, row)) {
    std::vector<std::string> cells;
    for (std::size_t at = 2; at < row.size();) {
      const std::size_t end = row.find(" |", at);
      cells.push_back(row.substr(at, end - at));
      at = end + 3;
    }
    rows.push_back(cells);
  }
  return rows;
}

// The texts between backticks.
std::vector<std::string> codes_in(const std::string& cell) {
  std::vector<std::string> codes;
  for (std::size_t at = cell.find('`'); at != cell.npos;) {
    const std::size_t end = cell.find('`', at + 1);
    codes.push_back(cell.substr(at + 1, end - at - 1));
    at = cell.find('`', end + 1);
  }
  return codes;
}

TEST(ManifestPage, HasFieldsAndLengthsThatCanBeParsed) {
  std::size_t count = 0;
  for (const std::string_view table :
       {"| field | bytes | example |", "| length | is | example |"}) {
    for (const auto& row : table_below(table)) {
      ASSERT_EQ(row.size(), 3u);
      for (std::string example : codes_in(row[2])) {
        if (example.ends_with("<T>")) example.replace(example.size() - 2, 1, "bytes");
        const auto layout = parse_payload_layout(
            std::vector<std::string>{"rows:u8", "cols:u8", "layers:u8", "size:u8", example});
        EXPECT_TRUE(layout.ok()) << layout.error().message;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 20u);
}

TEST(ManifestPage, HasPayloadsThatAManifestCanDeclare) {
  const auto rows = table_below("| a format with | `payload` |");
  EXPECT_GT(rows.size(), 5u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 2u);
    const Result<Manifest> manifest =
        read_manifest(ManifestBuilder()
                          .set("keys", concat("[{key: a, payload: ", codes_in(row[1]).at(0), "}]"))
                          .text(),
                      "/p/a.yaml");
    EXPECT_TRUE(manifest.ok()) << manifest.error().message;
  }
}

TEST(Manifest, DistinguishesAnEmptyPayloadFromAnUndeclaredOne) {
  const Result<Manifest> manifest = read_manifest(
      ManifestBuilder().set("keys", "[{key: a, payload: []}, {key: b}]").text(), "/p/a.yaml");

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  ASSERT_TRUE(manifest->keys[0].payload.has_value());
  EXPECT_TRUE(manifest->keys[0].payload->fields().empty());
  EXPECT_FALSE(manifest->keys[1].payload.has_value());
}

TEST(Manifest, WarnsAboutUnknownKeysOfANewerSchemaThatAllowsThisReader) {
  const Result<Manifest> manifest = read_manifest(
      fake().schema("1.4").set("schema_min", "\"1.0\"").line("sparkle: 1").text(), "/p/a.yaml");

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_THAT(manifest->warnings, ElementsAre(HasSubstr("/p/a.yaml:8:1: sparkle: unknown key")));
}

TEST(ResolveLibrary, AcceptsAbsolutePathsAndPathsRelativeToTheManifest) {
  EXPECT_EQ(resolve_library("libx.so", "/p/x").value(), "/p/x/libx.so");
  EXPECT_EQ(resolve_library("./libx.so", "/p/x").value(), "/p/x/libx.so");
  EXPECT_EQ(resolve_library("sub/libx.so", "/p/x").value(), "/p/x/sub/libx.so");
  EXPECT_EQ(resolve_library("/opt/x.so", "/p/x").value(), "/opt/x.so");
}

TEST(ResolveLibrary, RejectsOtherPathsAndStatesTheRules) {
  const std::tuple<std::string, std::string, std::string> bad[] = {
      {"../x.so", "contains \"..\"", "/p/x.so"},
      {"/opt/../x.so", "contains \"..\"", "/x.so"},
      {"sub/", "is a directory", "/p/x/sub/"},
      {"", "is empty", "/p/x/"}};
  for (const auto& [written, why, resolved] : bad) {
    const Result<std::string> path = resolve_library(written, "/p/x");
    ASSERT_FALSE(path.ok()) << written;
    EXPECT_EQ(path.error().reason, "LIBRARY_PATH");
    EXPECT_EQ(path.error().message,
              concat("library \"", written, "\" ", why, ", resolves to ", resolved,
                     ", expected an absolute path or one relative to the "
                     "manifest's directory /p/x, without \"..\"; the "
                     "working directory and search paths are not used"));
  }
}

TEST(ResolveLibrary, ReportsTheLocationInTheManifest) {
  const Result<Manifest> manifest = read_manifest(fake().library("../x.so").text(), "/p/a.yaml");

  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().reason, "LIBRARY_PATH");
  EXPECT_THAT(manifest.error().message,
              HasSubstr("/p/a.yaml:4:10: library: library \"../x.so\" contains \"..\""));
}

TEST(OpenManifest, FollowsALinkedManifestToItsRealDirectory) {
  const test::TempDir dir;
  fake().write_to(dir / "real/a.yaml");
  std::filesystem::create_symlink(dir / "real/a.yaml", dir / "b.yaml");

  const Result<Manifest> manifest = open_manifest((dir / "b.yaml").string());

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  EXPECT_EQ(manifest->library_path,
            (std::filesystem::canonical(dir.path()) / "real/libfake.so").string());
}

TEST(PluginId, IsVendorDotNameInLowerCase) {
  for (const std::string_view id : {"a.b", "gantry.cuda", "acme-corp.npu-2", "a1.b2.c3"}) {
    EXPECT_EQ(check_plugin_id(id), "") << id;
  }
  for (const std::string_view id : {"", "a", ".a", "a.", "a..b", "a.B", "a_b.c", "a.b c", "-a.b"}) {
    EXPECT_NE(check_plugin_id(id), "") << id;
  }
  EXPECT_EQ(check_plugin_id("a." + std::string(62, 'b')), "");
  EXPECT_NE(check_plugin_id("a." + std::string(63, 'b')), "");
}

TEST(PluginId, HasNoNeighbourOfItsCharacters) {
  EXPECT_EQ(check_plugin_id("0a.z9"), "");
  for (const char c : std::string_view("/:`{")) {
    EXPECT_NE(check_plugin_id(concat("a.b", std::string(1, c), "d")), "") << c;
  }
}

TEST(DeviceName, IsALetterAndLettersDigitsOrUnderscores) {
  for (const std::string_view name : {"a", "z", "a0", "a9", "az_a"}) {
    EXPECT_TRUE(is_device_name(name)) << name;
  }
  for (const std::string_view name :
       {"", "A", "0a", "_a", "`a", "{a", "a/", "a:", "a`", "a{", "aB"}) {
    EXPECT_FALSE(is_device_name(name)) << name;
  }
}

TEST(Manifest, MayOfferOnlyDevicesOrOnlyGlobals) {
  EXPECT_TRUE(read_manifest(ManifestBuilder().device("npu").text(), "/p/a.yaml").ok());
  EXPECT_TRUE(read_manifest(ManifestBuilder().line("globals: [f]").text(), "/p/a.yaml").ok());
}

TEST(Manifest, AcceptsARangeOfOneValueOrWithOneEnd) {
  for (const std::string_view range : {"min: 5, max: 5", "min: 5", "max: -1"}) {
    const auto manifest = read_manifest(
        fake().line(concat("config_schema: {a: {type: int, ", range, "}}")).text(), "/p/a.yaml");
    EXPECT_TRUE(manifest.ok()) << manifest.error().message;
  }
}

TEST(Manifest, RejectsASchemaThatIsNotTwoNumbers) {
  for (const std::string_view schema : {"1", ".0", "1x0", "1.", "1.0x"}) {
    const auto manifest = read_manifest(fake().schema(schema).text(), "/p/a.yaml");

    ASSERT_FALSE(manifest.ok()) << schema;
    EXPECT_EQ(manifest.error().code, Code::malformed);
    EXPECT_EQ(manifest.error().reason, "YAML_TYPE");
    EXPECT_THAT(manifest.error().message, HasSubstr("expected major.minor as in \"1.0\""));
  }
}

TEST(Manifest, RejectsASchemaWithoutQuotesBeforeItsVersion) {
  const auto manifest = read_manifest(fake().set("schema", "2.0").text(), "/p/a.yaml");

  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.error().reason, "YAML_TYPE");
  EXPECT_THAT(manifest.error().message, HasSubstr("expected text in quotes, found \"2.0\""));
}

// The values of one field at either side of what it accepts, as written.
struct FieldValues {
  std::string name;
  std::string key;
  std::vector<std::string> good, bad;
};

class ManifestField : public ::testing::TestWithParam<FieldValues> {};

TEST_P(ManifestField, AcceptsExactlyItsValues) {
  const FieldValues& field = GetParam();
  for (const std::string& value : field.good) {
    const auto manifest = read_manifest(fake().set(field.key, value).text(), "/p/a.yaml");
    EXPECT_TRUE(manifest.ok()) << value << ": " << manifest.error().message;
  }
  for (const std::string& value : field.bad) {
    const auto manifest = read_manifest(fake().set(field.key, value).text(), "/p/a.yaml");
    ASSERT_FALSE(manifest.ok()) << value;
    EXPECT_EQ(manifest.error().code, Code::malformed);
    EXPECT_THAT(manifest.error().message, HasSubstr(concat(": ", field.key)));
  }
}

const std::string kDigits = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

INSTANTIATE_TEST_SUITE_P(
    Fields, ManifestField,
    ::testing::Values(
        FieldValues{
            "Sha256",
            "sha256",
            {"'" + kDigits + "f'", "'" + kDigits + "9'"},
            {"'" + kDigits + "'", "'" + kDigits + "ff'", "'" + kDigits + "/'", "'" + kDigits + ":'",
             "'" + kDigits + "`'", "'" + kDigits + "g'", "'" + kDigits + "F'"}},
        FieldValues{
            "Dlpack",
            "devices",
            {"[{name: npu, dlpack: 1}]", "[{name: npu, dlpack: 63}]", "[{name: npu, dlpack: ext}]"},
            {"[{name: npu, dlpack: 0}]", "[{name: npu, dlpack: 64}]", "[{name: npu, dlpack: x}]"}},
        FieldValues{"EnvAllow",
                    "env_allow",
                    {"[_, A, Z, a, z, A0, A9, _Z, aZ, Az]"},
                    {"['']", "['0A']", "['9A']", "['A/']", "['A:']", "['A@']", "['A[']", "['A`']",
                     "['A{']"}},
        FieldValues{
            "Globals",
            "globals",
            {"[f]", "['f*']", "[" + std::string(256, 'f') + "]", "['f{a}']", "['{a, b*}']",
             "[" + globals_of(256) + "]"},
            {"['']", "['*']", "['*f']", "['f*g']", "['f**']", "[" + std::string(257, 'f') + "]",
             "['f{}']", "['f{a,}']", "['f{a']", "['f{a}b']", "['f{a}{b}']", "['f{{a}}']", "['f}']",
             "['f{a b}']", "['f*{a}']", "['{*}']", "['a,b']",
             "['" + std::string(256, 'f') + "{a}']", "[" + globals_of(257) + "]"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry
