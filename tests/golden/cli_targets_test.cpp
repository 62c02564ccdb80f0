// SPDX-License-Identifier: Apache-2.0
//
// gantry targets: kinds of compilation targets, and targets in both forms.
#include "tests/golden/cli_command.hpp"
#include "tests/support/files.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace gantry::test {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::json;

// A plugin whose manifest declares a kind; its library does not exist.
class TargetsCommand : public ::testing::Test {
 protected:
  TargetsCommand() {
    write_file(temp_ / "acme.yaml", R"(schema: "1.0"
id: acme.npu
version: "1.0.0"
library: libacme.so
abi: {major: 1, min_minor: 0, max_minor: 0}
keys: [{key: acme.npu}]
devices: [{name: acme_npu, kind: npu, dlpack: 20}]
target_kinds:
  - name: acme
    device: acme_npu
    keys: [npu]
    type_key: acme.npu
    languages: [npu-c]
    options:
      cores: {type: int, default: 4, doc: "number of cores", attribute: multiprocessors}
      isa: {type: string, doc: "instruction set"}
      fast: {type: bool, default: true, doc: "inexact"}
      mattr: {type: list, doc: "features"}
    tags:
      acme/edge: {cores: 2, isa: v21, fast: false, mattr: ["+a"]}
)");
  }
  Outcome targets(std::vector<std::string> args) {
    args.insert(args.begin(), {"--plugins", temp_.path().string(), "targets"});
    return run_gantry(args);
  }

  const TempDir temp_;
};

TEST_F(TargetsCommand, ListsKindsOfTheHostAndOfPlugins) {
  const Outcome listed = targets({"--json"});

  ASSERT_EQ(listed.status, 0) << listed.err;
  const json kinds = json::parse(listed.out)["kinds"];
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[1]["name"], "c");
  EXPECT_EQ(kinds[1]["plugin"], nullptr);
  EXPECT_EQ(kinds[1]["devices"], json({"cpu:0"}));
  const json& acme = kinds[0];
  EXPECT_EQ(acme["name"], "acme");
  EXPECT_EQ(acme["plugin"], "acme.npu");
  EXPECT_EQ(acme["device"], "acme_npu");
  EXPECT_EQ(acme["device_type"], 20);
  EXPECT_EQ(acme["devices"], json::array());
  EXPECT_EQ(acme["keys"], json({"npu"}));
  EXPECT_EQ(acme["type_key"], "acme.npu");
  EXPECT_EQ(acme["languages"], json({"npu-c"}));
  json generator = acme["generators"].at(0);
  EXPECT_THAT(generator["error"].get<std::string>(), HasSubstr("libacme.so"));
  generator.erase("error");
  EXPECT_EQ(generator, json::parse(R"({"name": "acme.npu", "is_built_in": false,
      "languages": ["npu-c"], "code": "compiled", "is_available": false, "program": null})"));
  EXPECT_EQ(acme["options"][0], json::parse(R"({"name": "cores", "type": "int", "default": 4,
      "doc": "number of cores", "attribute": "multiprocessors"})"));
  EXPECT_EQ(acme["options"][3], json::parse(R"({"name": "mattr", "type": "list", "default": null,
      "doc": "features", "attribute": null})"));
  EXPECT_EQ(acme["tags"], json::parse(R"({"acme/edge": {"cores": 2, "isa": "v21", "fast": false,
      "mattr": ["+a"]}})"));
  EXPECT_EQ(json::parse(listed.out)["options"][0]["name"], "device");
}

TEST_F(TargetsCommand, ListsOptionsDevicesAndTagsAsText) {
  const Outcome listed = targets({});

  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("acme  acme.npu\n"
                                    "  device  acme_npu: none on this host\n"
                                    "  keys  npu\n"
                                    "  generators\n"
                                    "    acme.npu  from npu-c: compiled code, not on this host: "));
  EXPECT_THAT(listed.out, HasSubstr("  options\n"
                                    "    cores  int, default 4, of the device  number of cores\n"
                                    "    isa  string  instruction set\n"
                                    "    fast  bool, default true  inexact\n"
                                    "    mattr  list  features\n"
                                    "  tags  acme/edge\n"));
  EXPECT_THAT(listed.out, HasSubstr("llvm  built in\n  device  cpu: cpu:0\n"));
  EXPECT_THAT(listed.out, HasSubstr("  generators\n    C compiler  compiled code, /"));
  EXPECT_THAT(listed.out, HasSubstr("options of every kind\n  device  string  "));
}

TEST_F(TargetsCommand, ListsTheBuiltInGenerators) {
  write_file(temp_ / "gpu.yaml", R"(schema: "1.0"
id: acme.gpu
version: "1.0.0"
library: libacme.so
abi: {major: 1, min_minor: 0, max_minor: 0}
keys: [{key: acme.gpu}]
target_kinds: [{name: vulkan}, {name: cuda}]
)");
  const auto listed = [&](std::vector<std::string> args, const std::string& glslang) {
    args.insert(args.begin(), {"--plugins", temp_.path().string(), "targets"});
    return run_gantry(args, {"GLSLANG=" + glslang, "PATH=" + temp_.path().string()});
  };
  write_file(temp_ / "glsl", "#!/bin/sh\n");
  std::filesystem::permissions(temp_ / "glsl", std::filesystem::perms::owner_all);
  const std::string path = (temp_ / "glsl").string();

  const Outcome found = listed({}, "glsl -q");
  const Outcome missing = listed({}, "no-glsl");
  const Outcome as_json = listed({"--json"}, "glsl");

  ASSERT_EQ(found.status, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("  generators\n"
                                   "    SPIR-V  from spirv: compiled code\n"
                                   "    glslang  from glsl, spirv: compiled code, " +
                                   path + "\n"));
  EXPECT_THAT(found.out,
              HasSubstr("  generators\n"
                        "    nvcc  from cuda: compiled code, not on this host: program \"nvcc\" "
                        "cannot be started: No such file or directory\n"
                        "    CUDA source  from cuda: source\n"));
  EXPECT_THAT(missing.out, HasSubstr("    glslang  from glsl, spirv: compiled code, not on this "
                                     "host: program \"no-glsl\" cannot be started"));
  const json kinds = json::parse(as_json.out)["kinds"];
  EXPECT_EQ(kinds.back()["name"], "vulkan");
  EXPECT_EQ(kinds.back()["generators"][1], json({{"name", "glslang"},
                                                 {"is_built_in", true},
                                                 {"languages", {"glsl", "spirv"}},
                                                 {"code", "compiled"},
                                                 {"is_available", true},
                                                 {"error", nullptr},
                                                 {"program", path}}));
}

TEST_F(TargetsCommand, ReadsATargetInBothForms) {
  const Outcome from_text = targets({"acme -isa=v3 -host=llvm"});
  const Outcome as_text = targets({"--text", from_text.out});
  const Outcome again = targets({"--json", as_text.out});

  ASSERT_EQ(from_text.status, 0) << from_text.err;
  EXPECT_EQ(json::parse(from_text.out), json::parse(R"({"kind": "acme", "tag": "", "keys": ["npu"],
      "host": {"kind": "llvm", "tag": "", "keys": ["cpu"]}, "cores": 4, "fast": true, "isa": "v3"})"));
  ASSERT_EQ(as_text.status, 0) << as_text.err;
  EXPECT_EQ(as_text.out, "acme -keys=npu -host=\"llvm -keys=cpu\" -cores=4 -fast=1 -isa=v3\n");
  EXPECT_EQ(again.out, from_text.out);
}

TEST_F(TargetsCommand, ReportsAWrongTarget) {
  const Outcome wrong = targets({"acme -core=3"});

  EXPECT_EQ(wrong.status, 1);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err,
            "gantry: option \"core\" of target kind \"acme\" not found, did you mean \"cores\"; "
            "options: cores, isa, fast, mattr, device, from_device, libs, model, "
            "target_device_type (offset 0x5)\n");
}

TEST_F(TargetsCommand, ReadsAttributesOfADevice) {
  const Outcome cpu = targets({"llvm -from_device=0"});
  const Outcome missing = targets({"acme -from_device=1"});

  EXPECT_EQ(cpu.status, 0) << cpu.err;
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err,
              HasSubstr("device acme_npu:1 of from_device not found; this host has 0 devices "
                        "\"acme_npu\""));
}

#ifdef GANTRY_FAKE_NVRTC

TEST(TargetsOfCuda, ShowWhetherNvrtcIsThere) {
  const auto generator = [](const std::string& nvrtc) {
    const Outcome listed = run_gantry({"--plugins", built_plugins("cuda"), "targets", "--json"},
                                      {"GANTRY_CONFIG_GANTRY_CUDA__NVRTC=" + nvrtc});
    EXPECT_EQ(listed.status, 0) << listed.err;
    const json report = json::parse(listed.out);
    for (const json& kind : report["kinds"]) {
      if (kind["name"] == "cuda") return kind["generators"][0];
    }
    return json();
  };

  const json found = generator(GANTRY_FAKE_NVRTC);
  const json missing = generator("/nowhere/libnvrtc.so");

  EXPECT_EQ(found["name"], "gantry.cuda");
  EXPECT_EQ(found["is_available"], true);
  EXPECT_EQ(missing["is_available"], false);
  EXPECT_THAT(missing["error"].get<std::string>(), HasSubstr("NVRTC"));
}

// Packs a kernel in CUDA C++ with the plugin gantry.cuda and an imitation of NVRTC.
class PackCuda : public ::testing::Test {
 protected:
  PackCuda() {
    write_file(temp_ / "twice.cu", "extern \"C\" __global__ void twice(float* x) { *x *= 2; }\n");
  }
  Outcome pack(std::string_view module, const std::string& nvrtc) {
    write_file(temp_ / "r.yaml",
               concat("schema: \"1.0\"\ndevice_modules:\n  - type_key: cuda\n", module,
                      "    kernels: {twice: {source: twice.cu, arguments: [handle], "
                      "launch: [blockIdx.x]}}\n"));
    return run_gantry({"--plugins", built_plugins("cuda"), "pack", (temp_ / "r.yaml").string(),
                       "-o", model().string()},
                      {"GANTRY_CONFIG_GANTRY_CUDA__NVRTC=" + nvrtc});
  }
  std::filesystem::path model() const { return temp_ / "model.so"; }
  // The format of the packed module, and what follows its kernel table.
  json details() const {
    const Outcome inspect = run_gantry({"inspect", "--json", model().string()});
    EXPECT_EQ(inspect.status, 0) << inspect.err;
    return json::parse(inspect.out)["modules"].back()["details"];
  }

 private:
  const TempDir temp_;
};

TEST_F(PackCuda, StoresPtxForTheTarget) {
  const Outcome packed = pack("    target: cuda -arch=sm_90\n", GANTRY_FAKE_NVRTC);

  ASSERT_EQ(packed.status, 0) << packed.err;
  EXPECT_THAT(packed.err, ::testing::StartsWith("gantry: wrote "));
  EXPECT_EQ(details()["format"], "ptx");
  const auto bytes = read_file(model());
  EXPECT_THAT(std::string(bytes.begin(), bytes.end()),
              HasSubstr(".target sm_90\n.visible .entry twice() { ret; }"));
}

TEST_F(PackCuda, StoresSourceWithAWarningWithoutACompiler) {
  const Outcome packed = pack("", "/nowhere/libnvrtc.so");

  ASSERT_EQ(packed.status, 0) << packed.err;
  EXPECT_THAT(packed.err, HasSubstr("warning: CUDA C++ is stored as source, which the host that "
                                    "loads the artifact compiles with NVRTC"));
  EXPECT_EQ(details()["format"], "cuda");
}

TEST_F(PackCuda, FailsWithoutACompilerIfTheRecipeRequiresOne) {
  const Outcome packed = pack("    code: compiled\n", "/nowhere/libnvrtc.so");

  EXPECT_EQ(packed.status, 1);
  EXPECT_THAT(packed.err, HasSubstr("NVRTC, which compiles CUDA C++ source, is missing"));
  EXPECT_FALSE(std::filesystem::exists(model()));
}

#endif

}  // namespace
}  // namespace gantry::test
