// SPDX-License-Identifier: Apache-2.0
//
// Files for tests: golden artifacts, reading and writing of whole files, temporary directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// The path tests/golden/data/<name>: golden("tvm-0.12/axpy2_llvm.so").
std::filesystem::path golden(std::string_view name);

// The build tree, which has the layout of an install tree: bin, lib, share.
std::filesystem::path build_tree();

// These abort the test program on failure, since a missing fixture is not a test result.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);
std::string file_text(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

// A new empty directory, which the destructor removes with its content.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace gantry::test
