// SPDX-License-Identifier: Apache-2.0
#include "tests/support/files.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace gantry::test {
namespace {

// tests/gpu/run sets the variables when it runs tests on another machine.
std::filesystem::path location(const char* variable, const char* build_location) {
  const char* const location = std::getenv(variable);
  return location != nullptr ? location : build_location;
}

}  // namespace

std::filesystem::path golden(std::string_view name) {
  return location("GANTRY_TESTS_GOLDEN", GANTRY_GOLDEN_DIR) / name;
}
std::filesystem::path build_tree() { return location("GANTRY_TESTS_TREE", GANTRY_BUILD_DIR); }

std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    std::fprintf(stderr, "test fixture %s cannot be read\n", path.c_str());
    std::abort();
  }
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string file_text(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

void write_file(const std::filesystem::path& path, std::span<const std::uint8_t> bytes) {
  write_file(path, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.flush();
  if (!out) {
    std::fprintf(stderr, "test file %s cannot be written\n", path.c_str());
    std::abort();
  }
}

TempDir::TempDir() {
  std::string name = (std::filesystem::temp_directory_path() / "gantry-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace gantry::test
