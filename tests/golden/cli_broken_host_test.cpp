// SPDX-License-Identifier: Apache-2.0
//
// `gantry plugins doctor` on a host with 20 plugins of which 10 are broken, each in another way:
// the doctor reports the reason of each one, and no other.
#include "tests/golden/cli_command.hpp"
#include "tests/support/manifest_builder.hpp"

#include <gantry/concat.hpp>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

namespace gantry::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kFakeId = "test.fake";
constexpr int kGoodPlugins = 10;

// One broken plugin of a host.
struct BrokenPlugin {
  // its library, libfake_<variant>.so; empty: the library is missing
  std::string variant;
  // as the doctor prints it
  std::string reason;
  // changes the files further; may be empty
  std::function<void(const fs::path& directory)> damage = {};
};

class BrokenHost : public ::testing::Test {
 protected:
  // Adds a plugin with an id of its own, as "te07.fake", which replaces "test.fake" in the note and
  // the tables of its library. The end stays, because the linker shares it with the type key "fake".
  std::string add(const std::string& variant) {
    const std::string id = concat("te", added_ / 10, added_ % 10, ".fake");
    ++added_;
    const fs::path directory = host / id;
    ManifestBuilder manifest;
    manifest.id(id).key("fake").device("fake_device");
    if (variant == "constructor_hangs") manifest.set("probe_timeout_ms", "300");
    manifest.write_to(directory / "plugin.yaml");
    if (variant.empty()) return id;
    std::vector<std::uint8_t> bytes =
        read_file(build_tree() / "tests/fake_plugins" / concat("libfake_", variant, ".so"));
    const auto is_id = [&](auto at) {
      return std::search(at, bytes.end(), kFakeId.begin(), kFakeId.end());
    };
    for (auto at = is_id(bytes.begin()); at != bytes.end(); at = is_id(at))
      at = std::copy(id.begin(), id.end(), at);
    write_file(directory / "libfake.so", bytes);
    return id;
  }

  // Builds the host, runs the doctor with `args` and compares the reason of every plugin.
  void expect_reasons(const std::vector<BrokenPlugin>& broken, std::vector<std::string> args) {
    std::map<std::string, std::string> expected, found;
    for (int i = 0; i < kGoodPlugins; ++i) expected[add("good")] = "";
    for (const BrokenPlugin& one : broken) {
      const std::string id = add(one.variant);
      if (one.damage) one.damage(host / id);
      expected[id] = one.reason;
    }
    args.insert(args.begin(), {"--plugins", host.path().string(), "plugins", "doctor", "--json"});

    const Outcome doctor = run_gantry(args);

    EXPECT_EQ(doctor.status, 0) << doctor.out << doctor.err;
    const json report = json::parse(doctor.out);
    const auto add_reason = [&](const json& candidate) {
      const json& reason = candidate.at("reason");
      const std::string id = fs::path(candidate.at("manifest")).parent_path().filename().string();
      found[id] = reason.is_null() ? "" : reason.get<std::string>();
    };
    for (const json& requirement : report.at("requirements")) {
      for (const json& candidate : requirement.at("candidates")) add_reason(candidate);
    }
    for (const json& candidate : report.at("unreadable")) add_reason(candidate);
    EXPECT_EQ(found.size(), 20u);
    EXPECT_EQ(found, expected);
  }

  TempDir host;

 private:
  int added_ = 0;
};

void change(const fs::path& file, std::size_t at, std::uint8_t byte) {
  std::vector<std::uint8_t> bytes = read_file(file);
  bytes.at(at) = byte;
  write_file(file, bytes);
}

TEST_F(BrokenHost, IsExplainedWithoutOpeningAPlugin) {
  constexpr std::size_t machine_at = 18;
  constexpr std::uint8_t aarch64 = 183;

  expect_reasons(
      {{"good", "GANTRY-D161 YAML_UNKNOWN_KEY",
        [](const fs::path& directory) {
          std::vector<std::uint8_t> text = read_file(directory / "plugin.yaml");
          for (const char c : std::string("prority: 3\n"))
            text.push_back(static_cast<std::uint8_t>(c));
          write_file(directory / "plugin.yaml", text);
        }},
       {"newer_abi", "GANTRY-D210 ABI_RANGE"},
       {"no_query", "GANTRY-D220 QUERY_MISSING"},
       {"wrong_version", "GANTRY-D230 VERSION_MISMATCH"},
       {"no_note", "GANTRY-D232 NOTE_MISSING"},
       {"good", "GANTRY-D301 TRUNCATED",
        [](const fs::path& directory) { fs::resize_file(directory / "libfake.so", 8192); }},
       {"", "GANTRY-D305 LIBRARY_MISSING"},
       {"good", "GANTRY-D310 WRONG_MACHINE",
        [](const fs::path& directory) { change(directory / "libfake.so", machine_at, aarch64); }},
       {"exec_stack", "GANTRY-D320 EXEC_STACK"},
       {"missing_dependency", "GANTRY-D330 LIB_NEEDED_MISSING"}},
      {});
}

// Each of these is found by its code only.
TEST_F(BrokenHost, IsExplainedByProbes) {
  expect_reasons({{"short_table", "GANTRY-D212 STRUCT_SIZE"},
                  {"null_create", "GANTRY-D221 FUNCTION_MISSING"},
                  {"huge_loader_count", "GANTRY-D222 TABLE_LIMIT"},
                  {"twice_the_same_key", "GANTRY-D223 KEY_DUPLICATE"},
                  {"other_key", "GANTRY-D224 KEY_NOT_OFFERED"},
                  {"query_says_nothing", "GANTRY-D225 QUERY_FAILED"},
                  {"constructor_crashes", "GANTRY-D510 PROBE_CRASHED"},
                  {"constructor_exits", "GANTRY-D511 PROBE_EXITED"},
                  {"constructor_aborts", "GANTRY-D512 PROBE_ABORTED"},
                  {"constructor_hangs", "GANTRY-D520 PROBE_TIMEOUT"}},
                 {"--probe"});
}

}  // namespace
}  // namespace gantry::test
