// SPDX-License-Identifier: Apache-2.0
#include "core/base/passed_pages.hpp"

#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

namespace gantry {
namespace {

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t page_count = 4096;

// Pages of files that are in this process's memory.
//
// source   proc(5), /proc/self/statm
std::size_t resident_file_pages() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0, of_files = 0;
  statm >> all >> resident >> of_files;
  return of_files;
}

// A file of ones.
class ReleasedPages : public ::testing::Test {
 protected:
  ReleasedPages() {
    test::write_file(directory_ / "a", std::vector<std::uint8_t>(page_count * page_bytes, 1));
    file_ = MappedFile::open(directory_ / "a").value();
  }
  // Reads the whole file.
  std::size_t sum() const {
    std::size_t total = 0;
    for (const std::uint8_t byte : file_->bytes()) total += byte;
    return total;
  }

  const test::TempDir directory_;
  std::shared_ptr<const MappedFile> file_;
};

// Neither end of the part is that of a page.
TEST_F(ReleasedPages, LeaveMemoryAndAreReadAgain) {
  ASSERT_EQ(sum(), page_count * page_bytes);
  const std::size_t before = resident_file_pages();

  release_pages(*file_, file_->bytes().subspan(100, page_count / 2 * page_bytes));

  EXPECT_LT(resident_file_pages() + page_count / 4, before);
  EXPECT_EQ(sum(), page_count * page_bytes);
}

TEST_F(ReleasedPages, AreReleasedBehindTheReader) {
  const std::size_t before = resident_file_pages();
  PassedPages pages(file_.get());
  std::size_t most = 0, total = 0;
  auto rest = file_->bytes();
  while (!rest.empty()) {
    const auto part = rest.first(std::min<std::size_t>(1000, rest.size()));
    for (const std::uint8_t byte : part) total += byte;
    pages.pass(part);
    rest = rest.subspan(part.size());
    if (rest.size() % (50 * page_bytes) < 1000) most = std::max(most, resident_file_pages());
  }

  EXPECT_EQ(total, page_count * page_bytes);
  // The kernel maps up to 2 MiB around a page that is read.
  EXPECT_LT(most, before + page_count / 2);
}

// The first and the last pages of joined() are in no file.
TEST_F(ReleasedPages, KeepTheBytesOfAJoinedFile) {
  const std::vector<std::uint8_t> other(5000, 2);
  const auto joined = MappedFile::joined("b", other, *file_, file_->bytes(), other).value();
  const std::vector<std::uint8_t> expected(joined->bytes().begin(), joined->bytes().end());

  release_pages(*joined, joined->bytes());

  EXPECT_TRUE(std::ranges::equal(joined->bytes(), expected));
}

}  // namespace
}  // namespace gantry
