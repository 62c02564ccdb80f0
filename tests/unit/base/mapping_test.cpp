// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapping.hpp"

#include "core/base/mapped_file.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace gantry {
namespace {

constexpr const char* anonymous = "00:00 0";

// One page of a file between two others.
TEST(Mapping, ContainsItsFirstAndItsLastByte) {
  const test::TempDir directory;
  test::write_file(directory / "file", "text");
  const auto file = MappedFile::open(directory / "file").value();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const start = static_cast<std::uint8_t*>(
      mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(start, MAP_FAILED);
  std::uint8_t* const middle = start + page;
  ASSERT_EQ(mmap(middle, page, PROT_READ, MAP_PRIVATE | MAP_FIXED, file->descriptor(), 0), middle);

  const std::uint8_t* const bytes = file->bytes().data();
  const std::string of_file = mappings_of(bytes, bytes).first;
  const auto at = [&](std::ptrdiff_t offset) { return mappings_of(bytes, middle + offset).second; };

  EXPECT_TRUE(of_file.ends_with(" " + std::to_string(file->identity().inode))) << of_file;
  EXPECT_EQ(at(-1), anonymous);
  EXPECT_EQ(at(0), of_file);
  EXPECT_EQ(at(static_cast<std::ptrdiff_t>(page) - 1), of_file);
  EXPECT_EQ(at(static_cast<std::ptrdiff_t>(page)), anonymous);
  munmap(start, 3 * page);
  EXPECT_EQ(at(0), "");
}

TEST(Mappings, AreOneFileForTwoMappingsOfIt) {
  const test::TempDir directory;
  test::write_file(directory / "file", "text");
  const auto first = MappedFile::open(directory / "file").value();
  const auto second = MappedFile::open(directory / "file").value();

  EXPECT_TRUE(mappings_of(first->bytes().data(), second->bytes().data()).is_one_file());
  EXPECT_TRUE(mappings_of(second->bytes().data(), first->bytes().data()).is_one_file());
}

TEST(Mappings, AreNotOneFileForAFileAndItsCopy) {
  const test::TempDir directory;
  test::write_file(directory / "file", "text");
  test::write_file(directory / "copy", "text");
  const auto file = MappedFile::open(directory / "file").value();
  const auto copy = MappedFile::open(directory / "copy").value();

  EXPECT_FALSE(mappings_of(file->bytes().data(), copy->bytes().data()).is_one_file());
}

TEST(Mappings, AreNotOneFileForAddressesWithoutAMapping) {
  EXPECT_FALSE(mappings_of(nullptr, nullptr).is_one_file());
}

}  // namespace
}  // namespace gantry
