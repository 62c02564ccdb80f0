// SPDX-License-Identifier: Apache-2.0
//
// CompileTarget kinds in manifests, and those of this project's plugins, compared with targets that TVM
// wrote.
#include "core/formats/target/target.hpp"
#include "core/plugins/manifest/manifest.hpp"
#include "tests/support/schema.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <set>

namespace gantry {
namespace {

using test::file_text;
using test::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view manifest_head = R"(schema: "1.0"
id: acme.npu
version: "1.0.0"
library: libacme.so
abi: {major: 1, min_minor: 0, max_minor: 0}
keys: [{key: acme.npu}]
devices: [{name: acme_npu, kind: npu, dlpack: 20}]
target_kinds:
)";

Result<Manifest> with_kinds(std::string_view kinds) {
  return read_manifest(concat(manifest_head, kinds), "/p/acme.yaml");
}

TEST(TargetKindsOfAManifest, HaveEveryField) {
  const auto manifest = with_kinds(R"(  - name: acme_npu
    device: acme_npu
    keys: [npu]
    type_key: acme.npu
    languages: [npu-c]
    options:
      cores: {type: int, default: 4, doc: "number of cores", attribute: multiprocessors}
      isa: {type: string, doc: "instruction set", attribute: compute_version, spelling: "v*"}
      fast: {type: bool, default: false, doc: "inexact"}
      mattr: {type: list, default: ["+a"], doc: "features"}
    tags:
      acme/edge: {cores: 2, isa: v21, fast: true, mattr: [x, z], model: edge}
  - name: host
)");

  ASSERT_TRUE(manifest.ok()) << manifest.error().message;
  ASSERT_EQ(manifest->target_kinds.size(), 2u);
  const TargetKind& kind = manifest->target_kinds[0];
  EXPECT_EQ(kind.name, "acme_npu");
  EXPECT_EQ(kind.device, "acme_npu");
  EXPECT_EQ(kind.device_type, 20);
  EXPECT_THAT(kind.keys, ElementsAre("npu"));
  EXPECT_EQ(kind.type_key, "acme.npu");
  EXPECT_THAT(kind.languages, ElementsAre("npu-c"));
  ASSERT_EQ(kind.options.size(), 4u);
  EXPECT_EQ(kind.options[0].doc, "number of cores");
  EXPECT_EQ(kind.options[0].attribute, "multiprocessors");
  EXPECT_EQ(kind.options[1].spelling, "v*");
  const TargetKind& host = manifest->target_kinds[1];
  EXPECT_EQ(host.device, "cpu");
  EXPECT_EQ(host.device_type, 1);

  TargetKinds kinds;
  kinds.add(kind, "acme.npu");
  EXPECT_EQ(target_json(*parse_target("acme_npu", kinds)),
            R"({"kind":"acme_npu","tag":"","keys":["npu"],"cores":4,"fast":false,"mattr":["+a"]})");
  EXPECT_EQ(target_json(*parse_target("acme/edge", kinds)),
            R"({"kind":"acme_npu","tag":"acme/edge","keys":["npu"],"cores":2,"fast":true,)"
            R"("isa":"v21","mattr":["x","z"],"model":"edge"})");
}

struct BadKinds {
  std::string text, reason, message;
};

TEST(TargetKindsOfAManifest, AreRefusedAtTheWrongValue) {
  for (const BadKinds& bad : {
           BadKinds{"  - {name: Npu}\n", "YAML_TYPE",
                    "9:12: target_kinds[0].name: expected the name of a target kind, "
                    "[a-z][a-z0-9_-]*, found \"Npu\""},
           BadKinds{"  - {name: a}\n  - {name: a}\n", "MANIFEST_VALUE",
                    "10:12: target_kinds[1].name: target kind \"a\" is declared twice"},
           BadKinds{"  - {name: a, device: gpu}\n", "MANIFEST_VALUE",
                    "9:23: target_kinds[0].device: device \"gpu\" is none of this manifest: "
                    "acme_npu; without a device the kind is for the CPU"},
           BadKinds{"  - {name: a, type_key: acme}\n", "MANIFEST_VALUE",
                    "9:25: target_kinds[0].type_key: type key \"acme\" is none of this manifest: "
                    "acme.npu"},
           BadKinds{"  - {name: a, languages: [c]}\n", "MANIFEST_VALUE",
                    "9:26: target_kinds[0].languages: languages require type_key, of the payloads "
                    "that are built"},
           BadKinds{"  - {name: a, options: {keys: {type: list, doc: x}}}\n", "MANIFEST_VALUE",
                    "9:25: target_kinds[0].options.keys: targets of every kind have \"keys\""},
           BadKinds{"  - {name: a, options: {model: {type: string, doc: x}}}\n", "MANIFEST_VALUE",
                    "9:25: target_kinds[0].options.model: targets of every kind have \"model\""},
           BadKinds{"  - {name: a, options: {-b: {type: string, doc: x}}}\n", "MANIFEST_VALUE",
                    "9:25: target_kinds[0].options.-b: \"-b\" is no name of an option, "
                    "[a-zA-Z][a-zA-Z0-9_.-]*"},
           BadKinds{"  - {name: a, options: {b: {type: string, doc: x, attribute: c}}}\n",
                    "MANIFEST_VALUE",
                    "9:62: target_kinds[0].options.b.attribute: attribute requires a device, which "
                    "the kind does not have"},
           BadKinds{"  - {name: a, device: acme_npu, options: {b: {type: list, doc: x, attribute: "
                    "c}}}\n",
                    "MANIFEST_VALUE",
                    "9:78: target_kinds[0].options.b.attribute: an attribute is a bool, an int or "
                    "a string, the option is a list"},
           BadKinds{"  - {name: a, device: acme_npu, options: {b: {type: int, doc: x, attribute: "
                    "c, spelling: \"v*\"}}}\n",
                    "MANIFEST_VALUE",
                    "9:90: target_kinds[0].options.b.spelling: spelling requires an attribute and "
                    "type string"},
           BadKinds{"  - {name: a, options: {b: {type: string, doc: x, spelling: v}}}\n",
                    "YAML_TYPE",
                    "9:61: target_kinds[0].options.b.spelling: expected a text with one *, found "
                    "\"v\""},
           BadKinds{"  - {name: a, options: {b: {type: int, doc: x, default: \"1\"}}}\n",
                    "MANIFEST_VALUE",
                    "9:57: target_kinds[0].options.b.default: expected int, found text \"1\""},
           BadKinds{"  - {name: a, options: {b: {type: list, doc: x, default: c}}}\n",
                    "MANIFEST_VALUE",
                    "9:58: target_kinds[0].options.b.default: expected list, found \"c\""},
           BadKinds{
               "  - {name: a, options: {b: {type: list, doc: x, default: [\"\"]}}}\n",
               "MANIFEST_VALUE",
               "9:59: target_kinds[0].options.b.default[0]: expected a text that is not empty, "
               "found text \"\""},
           BadKinds{"  - {name: a, options: {b: {type: list, doc: x, default: [c, 1]}}}\n",
                    "MANIFEST_VALUE",
                    "9:62: target_kinds[0].options.b.default[1]: expected a text that is not "
                    "empty, found \"1\""},
           BadKinds{"  - {name: a, tags: {t: 1}}\n", "MANIFEST_VALUE",
                    "9:25: target_kinds[0].tags.t: expected a map of options to values"},
           BadKinds{"  - {name: a, tags: {t: {from_device: 1}}}\n", "MANIFEST_VALUE",
                    "9:26: target_kinds[0].tags.t.from_device: kind \"a\" has no such option"},
           BadKinds{"  - {name: a, options: {core: {type: int, doc: x}}, tags: {t: {cor: 1}}}\n",
                    "MANIFEST_VALUE",
                    "9:64: target_kinds[0].tags.t.cor: kind \"a\" has no such option, did you mean "
                    "\"core\""},
           BadKinds{"  - {name: a, options: {b: {type: bool, doc: x}}, tags: {t: {b: 1}}}\n",
                    "MANIFEST_VALUE", "9:65: target_kinds[0].tags.t.b: expected bool, found \"1\""},
       }) {
    const auto manifest = with_kinds(bad.text);

    ASSERT_FALSE(manifest.ok()) << bad.text;
    EXPECT_EQ(manifest.error().code, Code::malformed);
    EXPECT_EQ(manifest.error().reason, bad.reason) << bad.text;
    EXPECT_EQ(manifest.error().message, "/p/acme.yaml:" + bad.message);
  }
}

// The manifest of a plugin of this project, as it is before CMake fills it in.
Manifest manifest_of(const std::string& plugin) {
  std::string text = file_text(test::golden("../../../plugins") / plugin / (plugin + ".yaml.in"));
  for (const auto& [mark, value] :
       {std::pair("@PROJECT_VERSION@", "1.0.0"), std::pair("@GANTRY_PLUGIN_LIBRARY@", "lib.so"),
        std::pair("@GANTRY_PLUGIN_ABI@", "{major: 1, min_minor: 0, max_minor: 0}")}) {
    text.replace(text.find(mark), std::string_view(mark).size(), value);
  }
  const auto manifest = read_manifest(text, "/p/" + plugin + ".yaml");
  if (!manifest.ok()) ADD_FAILURE() << manifest.error().message;
  return manifest.value();
}

TargetKinds kinds_of_plugins() {
  TargetKinds kinds;
  for (const std::string plugin : {"cuda", "opencl", "vulkan"}) {
    for (TargetKind& kind : manifest_of(plugin).target_kinds) kinds.add(std::move(kind), plugin);
  }
  return kinds;
}

TEST(TargetKindsOfOurPlugins, HaveTvmsDefaults) {
  const TargetKinds kinds = kinds_of_plugins();

  EXPECT_THAT(kinds.names(), ElementsAre("c", "cuda", "llvm", "opencl", "vulkan"));
  EXPECT_EQ(target_json(*parse_target("cuda -arch=sm_90", kinds)),
            R"({"kind":"cuda","tag":"","keys":["cuda","gpu"],"arch":"sm_90",)"
            R"("max_num_threads":1024,"thread_warp_size":32})");
  EXPECT_EQ(target_json(*parse_target("vulkan", kinds)),
            R"({"kind":"vulkan","tag":"","keys":["vulkan","gpu"],"max_num_threads":256,)"
            R"("max_threads_per_block":256,"supports_float32":true,"supports_int32":true,)"
            R"("thread_warp_size":1})");
  EXPECT_EQ(parse_target("cuda", kinds)->device_type, 2);
  EXPECT_EQ(parse_target("opencl", kinds)->device_type, 4);
  EXPECT_EQ(parse_target("vulkan", kinds)->device_type, 7);
  EXPECT_EQ(parse_target("nvidia/nvidia-a100", kinds)->text("arch"), "sm_80");
}

// The scripts of the golden artifacts have the targets that they were exported for.
TEST(TargetKindsOfOurPlugins, ReadTheTargetsThatTvmWrote) {
  const TargetKinds kinds = kinds_of_plugins();
  std::set<std::string> kinds_seen;
  std::size_t objects = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::golden("relax"))) {
    if (entry.path().extension() != ".json") continue;
    const Json script = Json::parse(file_text(entry.path()), nullptr, false);
    if (!script.is_object() || !script.contains("target")) continue;
    const std::string written = script.at("target");

    const Result<CompileTarget> target = parse_target(written, kinds);

    ASSERT_TRUE(target.ok()) << written << ": " << target.error().message;
    kinds_seen.insert(target->kind);
    if (!written.starts_with('{')) continue;
    ++objects;
    EXPECT_EQ(Json::parse(target_json(*target)), Json::parse(written)) << entry.path();
  }
  EXPECT_THAT(kinds_seen, ElementsAre("c", "cuda", "llvm", "opencl"));
  EXPECT_GE(objects, 5u);
  EXPECT_TRUE(parse_target("llvm -keys=cpu ", kinds).ok());
}

}  // namespace
}  // namespace gantry
