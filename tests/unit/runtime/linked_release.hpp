// SPDX-License-Identifier: Apache-2.0
//
// Artifacts of releases for which no golden file exists: C sources of tests/unit/runtime/sources,
// compiled against the layouts of a release, linked with its container.
#pragma once

#include "core/pack/link.hpp"
#include "core/pack/object_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/relax_assembler.hpp"
#include "tests/unit/format/fixtures.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <span>
#include <string>

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

// Links a source of tests/unit/runtime/sources as `model.so` of a directory.
//
// container  [in]  empty: the file has none
inline std::string link_release(const LinkedRelease& release, const char* source,
                                std::span<const std::uint8_t> container, const TempDir& directory) {
  LinkJob job;
  job.directory = std::filesystem::path(GANTRY_SOURCE_DIR) / "tests/unit/runtime/sources";
  job.scratch = directory.path();
  job.sources = {source};
  job.flags = {"-Wall", "-Wextra", "-Werror", "-O0", concat("-DTVM_MINOR=", release.minor)};
  if (release.has_variables) job.flags.push_back("-DWITH_VARIABLES");
  if (!container.empty()) {
    write_file(directory / "container.bin", container);
    std::string text = container_assembly((directory / "container.bin").native(), container.size());
    for (std::size_t at = 0; (at = text.find(container_symbol, at)) != std::string::npos;
         at += std::string_view(release.container_symbol).size())
      text.replace(at, container_symbol.size(), release.container_symbol);
    write_file(directory / "container.S", text);
    job.sources.push_back((directory / "container.S").native());
  }
  job.output = directory / "model.so";
  const Status done = link_library(job);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return job.output.native();
}

}  // namespace gantry::test
