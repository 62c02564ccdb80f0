// SPDX-License-Identifier: Apache-2.0
//
// Appends containers to compiled and built libraries.
#pragma once

#include "core/base/toolchain/link.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/appended_container.hpp"
#include "tests/support/elf_builder.hpp"
#include "tests/support/files.hpp"

#include <dmlc/memory_io.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::test {

constexpr std::string_view blob_source =
    "const unsigned char blob[16] = {8};\nint twice(int x) { return 2 * x; }\n";
constexpr std::string_view new_container = "the bytes of another container";

class Appended : public ::testing::Test {
 protected:
  // Compiles a library.
  std::string link(std::string_view source, std::vector<std::string> flags = {}) {
    write_file(temp_ / "a.c", source);
    LinkJob job;
    job.directory = job.scratch = temp_.path();
    job.sources = {"a.c"};
    job.flags = std::move(flags);
    job.output = temp_ / "a.so";
    const Status linked = link_library(job);
    EXPECT_TRUE(linked.ok()) << linked.error().message;
    return job.output.native();
  }
  std::string file(std::span<const std::uint8_t> bytes) {
    write_file(temp_ / "built.so", bytes);
    return temp_ / "built.so";
  }
  // Returns the result's bytes.
  Result<std::vector<std::uint8_t>> append(const std::string& path,
                                           std::string_view container = new_container,
                                           std::string_view symbol = "blob") {
    std::string bytes;
    dmlc::MemoryStringStream out(&bytes);
    GANTRY_TRY(const auto library, MappedFile::open(path));
    const Status done = append_container(library, symbol, pieces_of(container), out);
    if (!done.ok()) {
      EXPECT_TRUE(bytes.empty());
      return done.error();
    }
    return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
  }
  // Expects a refusal.
  Error refuse(const std::string& path, std::string_view symbol = "blob") {
    const auto result = append(path, new_container, symbol);
    EXPECT_FALSE(result.ok());
    return result.ok() ? Error(Code::ok, "") : result.error();
  }
  const TempDir& temp() const { return temp_; }

 private:
  TempDir temp_;
};

inline std::string text_at(const ElfFile& elf, std::string_view symbol) {
  const auto bytes = elf.bytes_of(*elf.find(symbol)).value();
  return {bytes.begin(), bytes.end()};
}

// A library of one segment without sections.
inline ElfBuilder small_library() {
  return ElfBuilder().hash(ElfBuilder::Hash::both).object("blob", std::vector<std::uint8_t>(16));
}

}  // namespace gantry::test
