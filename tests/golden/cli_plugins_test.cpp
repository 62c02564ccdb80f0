// SPDX-License-Identifier: Apache-2.0
//
// Reports about plugins, including installed plugins that cannot be used.
#include "tests/golden/cli_command.hpp"
#include "tests/support/changed_elf.hpp"
#include "tests/support/files.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Args = std::vector<std::string>;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* model = "tvm-0.12/digits_mlp_c.so";

std::string text_in(const fs::path& path) {
  const auto bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

void replace(const fs::path& path, std::string_view before, std::string_view after) {
  std::string text = text_in(path);
  const auto at = text.find(before);
  ASSERT_NE(at, std::string::npos) << before;
  write_file(path, text.replace(at, before.size(), after));
}

// Copies the graph plugin, so that a test can damage it.
void copy_graph(const fs::path& directory) {
  fs::create_directories(directory.parent_path());
  fs::copy(built_plugins("graph"), directory);
}

struct Defect {
  std::string name;
  std::function<void(const fs::path& directory)> cause;
};

class InspectServedBy : public ::testing::TestWithParam<Defect> {};

// The same decision as in `plugins doctor` and `run`.
TEST_P(InspectServedBy, IsNullIfThePluginCannotBeOpened) {
  const TempDir temp;
  copy_graph(temp / "plugins/graph");
  GetParam().cause(temp / "plugins/graph");
  const std::string plugins = (temp / "plugins").string();

  const Outcome inspect = run_gantry({"--plugins", plugins, "inspect", "--json", model});
  const Outcome doctor =
      run_gantry({"--plugins", plugins, "plugins", "doctor", "--artifact", model});

  ASSERT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_EQ(json::parse(inspect.out)["modules"][0]["served_by"], nullptr);
  EXPECT_EQ(doctor.status, 1);
}

INSTANTIATE_TEST_SUITE_P(Plugin, InspectServedBy,
                         ::testing::Values(Defect{"LibraryMissing",
                                                  [](const fs::path& directory) {
                                                    fs::remove(directory / "libgantry_graph.so");
                                                  }},
                                           Defect{"OtherMachine",
                                                  [](const fs::path& directory) {
                                                    auto library =
                                                        read_file(directory / "libgantry_graph.so");
                                                    // e_machine: aarch64
                                                    library[18] = 183;
                                                    fs::remove(directory / "libgantry_graph.so");
                                                    write_file(directory / "libgantry_graph.so",
                                                               library);
                                                  }},
                                           Defect{"NewerAbi",
                                                  [](const fs::path& directory) {
                                                    replace(directory / "graph.yaml", "major: 1",
                                                            "major: 2");
                                                  }}),
                         [](const auto& test) { return test.param.name; });

TEST(InspectServedByNext, IsTheFirstUsablePlugin) {
  const TempDir temp;
  copy_graph(temp / "plugins/graph");
  copy_graph(temp / "plugins/broken");
  replace(temp / "plugins/broken/graph.yaml", "id: gantry.graph", "id: test.broken\npriority: 100");
  fs::remove(temp / "plugins/broken/libgantry_graph.so");

  const Outcome inspect =
      run_gantry({"--plugins", (temp / "plugins").string(), "inspect", "--json", model});

  ASSERT_EQ(inspect.status, 0) << inspect.err;
  EXPECT_EQ(json::parse(inspect.out)["modules"][0]["served_by"], "gantry.graph");
}

TEST(PluginsList, ListsAliasesOfAKey) {
  const std::string plugins = built_plugins("graph");

  const Outcome text = run_gantry({"plugins", "list", "--plugins", plugins});
  const Outcome document = run_gantry({"plugins", "list", "--json", "--plugins", plugins});

  EXPECT_THAT(text.out, HasSubstr("  GraphExecutorFactory, GraphRuntimeFactory  "));
  const auto plugin = json::parse(document.out)["plugins"][0];
  EXPECT_EQ(plugin["keys"], json({"GraphExecutorFactory"}));
  EXPECT_EQ(plugin["aliases"], json({"GraphRuntimeFactory"}));
}

// One answer: `list` states what `doctor` and a load find.
TEST(PluginsList, ListsAPluginThatItsProbeHasRefused) {
  const TempDir temp;
  const std::vector<std::string> environment = {"XDG_CACHE_HOME=" + (temp / "cache").string()};
  const std::string plugins = temp / "plugins";
  ManifestBuilder()
      .library("libfake.so")
      .key("fake")
      .device("fake_device")
      .line("probe: always")
      .write_to(temp / "plugins/fake.yaml");
  fs::copy_file(build_tree() / "tests/fake_plugins/libfake_create_exits.so",
                temp / "plugins/libfake.so");
  const auto state = [&] {
    const Outcome list =
        run_gantry({"--plugins", plugins, "plugins", "list", "--json"}, environment);
    return json::parse(list.out)["plugins"][0]["reason"];
  };
  EXPECT_EQ(state(), nullptr);

  const Outcome probe =
      run_gantry({"--plugins", plugins, "plugins", "doctor", "--probe"}, environment);

  EXPECT_THAT(probe.out, HasSubstr("GANTRY-D511 PROBE_EXITED"));
  EXPECT_EQ(state(), "GANTRY-D511 PROBE_EXITED");
}

// The command and the plugin may have different copies of libstdc++.
TEST(Devices, ReportsAnExceptionOfAPlugin) {
  const TempDir temp;
  ManifestBuilder()
      .library("libfake.so")
      .key("fake")
      .device("fake_device")
      .write_to(temp / "fake.yaml");
  fs::copy_file(build_tree() / "tests/fake_plugins/libfake_create_throws.so", temp / "libfake.so");

  const Outcome devices = run_gantry({"--plugins", temp.path().string(), "devices"});

  EXPECT_EQ(devices.status, 0) << devices.err;
  EXPECT_THAT(devices.err, HasSubstr("throws: fake: create throws\n"));
}

TEST(DoctorCpuCode, RunsOnThisHost) {
  const Args doctor{"--plugins", built_plugins("graph"), "plugins", "doctor", "--artifact", model};
  Args document = doctor;
  document.push_back("--json");

  const Outcome text = run_gantry(doctor);

  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, StartsWith("summary: digits_mlp_c.so: drivers not opened; --probe opens "
                                   "them and checks the payloads\ncore "));
  EXPECT_THAT(text.out,
              EndsWith("\nCPU code digits_mlp_c.so\n  RUNS     x86-64, packed dialect\n"));
  EXPECT_EQ(json::parse(run_gantry(document).out)["host_code"],
            json::parse(R"({"machine": "x86-64", "dialect": "packed", "runs": true,
                            "reason": null, "text": null})"));
}

// The linker searches this directory first, and stops at a file that is no library.
TEST(DoctorCpuCode, IsNotDecodedWithoutTheDecoder) {
  const test::TempDir directory;
  for (const char* name : {"libZydis.so.4.0", "libZydis.so.4.1"})
    test::write_file(directory.path() / name, "");
  const Args doctor{"--plugins", built_plugins("graph"), "plugins", "doctor", "--artifact", model};
  Args document = doctor;
  document.push_back("--json");
  const Args environment{"LD_LIBRARY_PATH=" + directory.path().string()};

  const Outcome text = run_gantry(doctor, environment);

  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, ContainsRegex("  RUNS     x86-64, packed dialect, instruction sets not "
                                      "checked: libZydis.so.4.[0-9] cannot be opened\n"));
  EXPECT_THAT(
      json::parse(run_gantry(document, environment).out)["host_code"]["text"].get<std::string>(),
      HasSubstr("instruction sets not checked: libZydis.so.4."));
}

TEST(DoctorCpuCode, OfTheFfiDialectIsAccepted) {
  const Outcome text = run_gantry({"plugins", "doctor", "--artifact", "tvm-0.25/axpy2_llvm.so"});
  const Outcome document =
      run_gantry({"plugins", "doctor", "--json", "--artifact", "tvm-0.25/axpy2_llvm.so"});

  EXPECT_EQ(text.status, 0);
  EXPECT_THAT(text.out, HasSubstr("\nCPU code axpy2_llvm.so\n  RUNS     x86-64, ffi dialect\n"));
  EXPECT_EQ(document.status, 0);
  const json code = json::parse(document.out)["host_code"];
  EXPECT_EQ(code["dialect"], "ffi");
  EXPECT_EQ(code["runs"], true);
}

// Knights Landing has an instruction set that no later CPU has.
TEST(DoctorCpuCode, ForAnotherCpuDoesNotRun) {
  const TempDir temp;
  write_file(temp / "f.c",
             "const char target[] = \"llvm -keys=cpu -mcpu=knl\"; int f(void) { return 0; }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
  const std::string file = (temp / "f.so").string();
  ASSERT_EQ(run_gantry({"pack", (temp / "f.yaml").string(), "-o", file}).status, 0);

  const Outcome text = run_gantry({"plugins", "doctor", "--artifact", file});
  const Outcome document = run_gantry({"plugins", "doctor", "--json", "--artifact", file});

  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("  LACKS    it is compiled for "));
  EXPECT_THAT(text.out, HasSubstr("avx512er"));
  EXPECT_THAT(text.out, HasSubstr("(-mcpu=knl), which this CPU lacks"));
  EXPECT_THAT(text.out, StartsWith("summary: f.so: does not run\n"));
  EXPECT_THAT(text.out, Not(HasSubstr("RUNS")));
  const json found = json::parse(document.out);
  EXPECT_EQ(found["summary"], "does not run");
  EXPECT_EQ(found["host_code"]["runs"], false);
  EXPECT_EQ(found["host_code"]["reason"], "BLOB_ARCH");
}

// A file for a device may require a driver that this host lacks.
TEST(DoctorSummary, StatesThatDriversAreNotOpened) {
  const Args all{"--plugins", built_plugins("graph"), "plugins", "doctor", "--json"};
  Args artifact = all;
  artifact.insert(artifact.end(), {"--artifact", model});
  Args probe = artifact;
  probe.push_back("--probe");

  EXPECT_EQ(json::parse(run_gantry(artifact).out)["summary"], "drivers not opened");
  EXPECT_EQ(json::parse(run_gantry(probe).out)["summary"], "runs");
  EXPECT_EQ(json::parse(run_gantry(all).out)["summary"], nullptr);
}

TEST(DoctorCpuCode, OfAnotherMachineIsRejected) {
  const TempDir temp;
  auto library = read_file(golden(model));
  // e_machine: aarch64
  library[18] = 183;
  write_file(temp / "arm.so", library);

  const Outcome doctor = run_gantry({"--plugins", built_plugins("graph"), "plugins", "doctor",
                                     "--artifact", (temp / "arm.so").string()});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("  REFUSED  BLOB_ARCH  it is aarch64, this host is x86-64\n"));
}

TEST(DoctorCpuCode, ThatRequiresAnExecutableStackIsRejected) {
  const TempDir temp;
  auto library = read_file(golden(model));
  make_stack_executable(library);
  write_file(temp / "stack.so", library);

  const Outcome doctor = run_gantry({"--plugins", built_plugins("graph"), "plugins", "doctor",
                                     "--artifact", (temp / "stack.so").string()});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("  REFUSED  EXEC_STACK  it requires an executable stack: "));
}

TEST(DoctorCpuCode, OfAProgramIsRejected) {
  const std::string program = (build_tree() / "bin/gantry").string();

  const Outcome doctor = run_gantry({"plugins", "doctor", "--artifact", program});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out,
              HasSubstr("  REFUSED  FILE_KIND  it is a program, expected a shared library\n"));
}

TEST(DoctorCpuCode, OfAnObjectRunsOnItsMachine) {
  const TempDir temp;
  auto bytes = read_file(golden("relax/tir_syslib_llvm.o"));
  constexpr std::size_t machine_at = 18;
  constexpr std::uint8_t aarch64 = 183;
  bytes[machine_at] = aarch64;
  write_file(temp / "arm.o", bytes);

  const Outcome own = run_gantry({"plugins", "doctor", "--artifact", "relax/tir_syslib_llvm.o"});
  const Outcome other = run_gantry({"plugins", "doctor", "--artifact", (temp / "arm.o").string()});

  EXPECT_EQ(own.status, 0);
  EXPECT_THAT(own.out, HasSubstr("  RUNS     x86-64, ffi dialect\n"));
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.out, HasSubstr("  REFUSED  BLOB_ARCH  it is aarch64, this host is x86-64\n"));
}

// `inspect --extract` writes payloads; what is written here is the container of a library.
TEST(DoctorCpuCode, OfABareContainerIsAbsent) {
  const TempDir temp;
  // layout two: one module of the key "x", with one byte
  const std::uint64_t words[] = {8 * 4 + 8 + 1 + 8 + 1, 2, 0, 0, 0, 1};
  std::string bytes(reinterpret_cast<const char*>(words), sizeof words);
  const std::uint64_t one = 1;
  bytes += "x" + std::string(reinterpret_cast<const char*>(&one), sizeof one) + "p";
  write_file(temp / "bare.bin", bytes);
  const std::string file = (temp / "bare.bin").string();

  const Outcome text = run_gantry({"plugins", "doctor", "--artifact", file});
  const Outcome document = run_gantry({"plugins", "doctor", "--json", "--artifact", file});

  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.out, HasSubstr("required by entry 0 \"x\" of bare.bin"));
  EXPECT_THAT(text.out,
              HasSubstr("CPU code bare.bin\n  ABSENT   the file is a container without it\n"));
  EXPECT_TRUE(nlohmann::json::parse(document.out)["host_code"].is_null());
}

TEST(Doctor, EscapesFileNames) {
  const TempDir temp;
  fs::copy_file(golden(model), temp / "x\x1b[31m.so");

  const Outcome doctor =
      run_gantry({"plugins", "doctor", "--artifact", (temp / "x\x1b[31m.so").string()});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out,
              HasSubstr("required by entry 0 \"GraphExecutorFactory\" of x\\x1b[31m.so"));
  EXPECT_THAT(doctor.out, HasSubstr("CPU code x\\x1b[31m.so\n"));
  EXPECT_THAT(doctor.out, Not(HasSubstr("\x1b")));
}

TEST(DoctorCpuCode, WithAnUndefinedTvmSymbolIsRejected) {
  const TempDir temp;
  write_file(temp / "f.c", "int TVMOfLater(void); int f(void) { return TVMOfLater(); }\n");
  write_file(temp / "f.yaml", "schema: \"1.0\"\nsources: [f.c]\n");
  const std::string file = (temp / "f.so").string();
  ASSERT_EQ(run_gantry({"pack", (temp / "f.yaml").string(), "-o", file}).status, 0);

  const Outcome doctor = run_gantry({"plugins", "doctor", "--artifact", file});

  EXPECT_EQ(doctor.status, 1);
  EXPECT_THAT(doctor.out, HasSubstr("  REFUSED  TVM_SYMBOLS  "));
  EXPECT_THAT(doctor.out, HasSubstr("TVMOfLater"));
}

}  // namespace
}  // namespace gantry::test
