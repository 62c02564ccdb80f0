// SPDX-License-Identifier: Apache-2.0
//
// Files that tests read and write: golden artifacts, whole files as bytes, a temporary directory that goes away.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::test {

// tests/golden/data/<name>, e.g. golden("tvm-0.12/axpy2_llvm.so").
std::filesystem::path golden(std::string_view name);

// The build tree, laid out as an install tree: bin, lib, share.
std::filesystem::path build_tree();

// Aborts the test program when the file cannot be read: a missing fixture is no test result.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

// A new empty directory, removed with everything in it at the end.
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
