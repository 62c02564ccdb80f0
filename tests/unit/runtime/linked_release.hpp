// SPDX-License-Identifier: Apache-2.0
//
// Artifacts of releases for which no golden file exists: C sources of tests/unit/runtime/sources,
// compiled against the layouts of a release, linked with its container.
#pragma once

#include "core/base/toolchain/link.hpp"
#include "tests/support/container_object.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/unit/formats/fixtures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

struct LinkedRelease {
  std::string name;
  // v0.<minor>
  int minor;
  RelaxRelease relax;
  const char* type_key;
  const char* container_symbol;
  // the functions of the runtime are received in variables
  bool has_variables;

  bool has_layout_two() const { return minor >= 22; }
  friend void PrintTo(const LinkedRelease& release, std::ostream* out) { *out << release.name; }
};

inline const LinkedRelease linked_releases[] = {
    {"v0_16_C", 16, RelaxRelease::v0_16, "relax.Executable", "__tvm_dev_mblob", false},
    {"v0_16_LLVM", 16, RelaxRelease::v0_16, "relax.Executable", "__tvm_dev_mblob", true},
    {"v0_20_LLVM", 20, RelaxRelease::v0_16, "relax.VMExecutable", "__tvm_dev_mblob", true},
    {"v0_21_C", 21, RelaxRelease::v0_21, "relax.VMExecutable", "__tvm_ffi_library_bin", false},
    {"v0_21_LLVM", 21, RelaxRelease::v0_21, "relax.VMExecutable", "__tvm_ffi_library_bin", true},
    {"v0_22_C", 22, RelaxRelease::v0_22, "relax.VMExecutable", "__tvm_ffi__library_bin", false},
    {"v0_22_LLVM", 22, RelaxRelease::v0_22, "relax.VMExecutable", "__tvm_ffi__library_bin", true},
    {"v0_23_LLVM", 23, RelaxRelease::v0_23, "relax.VMExecutable", "__tvm_ffi__library_bin", true},
    {"v0_24_C", 24, RelaxRelease::v0_23, "relax.VMExecutable", "__tvm_ffi__library_bin", false},
    {"v0_24_LLVM", 24, RelaxRelease::v0_23, "relax.VMExecutable", "__tvm_ffi__library_bin", true},
};

// The container of a Relax executable that imports its library.
inline Words relax_container(const LinkedRelease& release, const RelaxPayload& payload) {
  const Words key = Words().str(release.type_key);
  if (!release.has_layout_two()) {
    return layout_one(2, Words().bytes(key.bytes()).bytes(payload.bytes.bytes()).str("_lib"),
                      {0, 1, 1}, {1});
  }
  return contained(Words()
                       .u64s({0, 1, 1})
                       .u64s({1})
                       .bytes(key.bytes())
                       .u64(payload.bytes.size())
                       .bytes(payload.bytes.bytes())
                       .str("_lib"));
}

// The files of this process.
class LinkedFiles {
 public:
  // Compiles a source of tests/unit/runtime/sources once for each release.
  std::string object(const LinkedRelease& release, const char* source) {
    std::string& path = paths_[concat("object ", release.name, source)];
    if (!path.empty()) return path;
    std::vector<std::string> words = {"cc",
                                      "-c",
                                      "-fPIC",
                                      "-O0",
                                      "-Wall",
                                      "-Wextra",
                                      "-Werror",
                                      "-I",
                                      GANTRY_SOURCE_DIR,
                                      concat("-DTVM_MINOR=", release.minor)};
    if (release.has_variables) words.push_back("-DWITH_VARIABLES");
    path = (directory_ / concat(paths_.size(), ".o")).native();
    words.insert(words.end(), {"-o", path, source});
    const Status done = run_compiler("C compiler", words, {sources(), directory_.path(), {}});
    EXPECT_TRUE(done.ok()) << done.error().message;
    return path;
  }
  // Links it with a container, once for each content.
  std::string library(const LinkedRelease& release, const char* source,
                      std::span<const std::uint8_t> container,
                      const std::vector<std::string>& flags) {
    const std::string_view content(reinterpret_cast<const char*>(container.data()),
                                   container.size());
    std::string& path =
        paths_[concat(release.name, source, flags.empty() ? "" : flags.front(), content)];
    if (!path.empty()) return path;
    LinkJob job;
    job.directory = sources();
    job.scratch = directory_.path();
    job.sources = {object(release, source)};
    job.flags = flags;
    if (!container.empty()) {
      job.sources.push_back(container_object(release, container));
    }
    path = (directory_ / concat(paths_.size(), ".so")).native();
    job.output = path;
    const Status done = link_library(job);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return path;
  }

 private:
  static std::filesystem::path sources() {
    return std::filesystem::path(GANTRY_SOURCE_DIR) / "tests/unit/runtime/sources";
  }
  std::string container_object(const LinkedRelease& release,
                               std::span<const std::uint8_t> container) {
    const std::filesystem::path file = directory_ / "container.o";
    write_container_object(file, container, release.container_symbol);
    return file.native();
  }

  TempDir directory_;
  std::map<std::string, std::string> paths_;
};

// Returns the path of a library from a source of tests/unit/runtime/sources.
//
// container  [in]  empty: the file has none
// flags      [in]  at most one, of the linker
inline std::string link_release(const LinkedRelease& release, const char* source,
                                std::span<const std::uint8_t> container,
                                const std::vector<std::string>& flags = {}) {
  static LinkedFiles files;
  return files.library(release, source, container, flags);
}

}  // namespace gantry::test
