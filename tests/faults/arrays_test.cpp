// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes array files while allocations fail: each one alone, and every one from the N-th
// on.
#include "core/formats/arrays/array_file.hpp"
#include "tests/faults/fail_nth.h"
#include "tests/support/files.hpp"
#include "tests/support/npz_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <new>

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Stored and deflated members.
Status read_all(std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(const ArrayFile file, ArrayFile::parse(bytes));
  for (std::size_t i = 0; i < file.names().size(); ++i) {
    GANTRY_CHECK(file.find(file.names()[i]));
    GANTRY_TRY(const ArrayHeader header, file.header(i));
    std::vector<std::uint8_t> data(header.data_bytes);
    GANTRY_CHECK(file.read_data(i, header, data));
    GANTRY_CHECK(file.stored_data(i, header));
  }
  return {};
}

Status write_two(const fs::path& path) {
  static constexpr std::uint8_t data[] = {1, 2, 3};
  static constexpr std::int64_t shape[] = {3};
  const NpzItem items[] = {{"a", {1, 8, 1}, shape, data}, {"b", {1, 8, 1}, shape, data}};
  return test::write_npz(path, items);
}

enum class Ending { done, refused, wrong };

// Treats std::bad_alloc as a refusal, as every caller in the core does.
template <class Work>
Ending ending_of(const Work& work) {
  try {
    const Status status = work();
    if (status.ok()) return Ending::done;
    return status.error().code == Code::exhausted || status.error().code == Code::unavailable
               ? Ending::refused
               : Ending::wrong;
  } catch (const std::bad_alloc&) {
    return Ending::refused;
  }
}

// Runs `work` with allocation 1, 2, ... failing until it makes fewer allocations.
//
// check    [in]   called after each run
template <class Work, class Check>
void sweep(bool onward, const Work& work, const Check& check) {
  ASSERT_EQ(ending_of(work), Ending::done) << "without a fault";
  unsigned long refused = 0;
  for (unsigned long nth = 1;; ++nth) {
    SCOPED_TRACE(nth);
    const long before = fail_nth_live();
    (onward ? fail_nth_arm_onward : fail_nth_arm)(nth);
    const Ending ending = ending_of(work);
    fail_nth_disarm();
    ASSERT_EQ(fail_nth_live(), before) << "blocks";
    ASSERT_NE(ending, Ending::wrong);
    refused += ending == Ending::refused;
    check(ending);
    if (fail_nth_fired() == 0) break;
  }
  EXPECT_GT(refused, 3u);
}

class ArraysWithoutMemory : public ::testing::TestWithParam<bool> {};

TEST_P(ArraysWithoutMemory, AreRefusedOrRead) {
  for (const char* const name : {"numpy-2.4/savez.npz", "numpy-2.4/savez_compressed.npz"}) {
    const std::vector<std::uint8_t> bytes = test::read_file(test::golden(name));
    sweep(
        GetParam(), [&] { return read_all(bytes); }, [](Ending) {});
  }
}

TEST_P(ArraysWithoutMemory, AreWrittenOrLeaveTheFileUnchanged) {
  const test::TempDir directory;
  const fs::path path = directory / "x.npz";
  ASSERT_TRUE(write_two(path).ok());
  const std::vector<std::uint8_t> whole = test::read_file(path);
  test::write_file(path, "old");

  sweep(
      GetParam(), [&] { return write_two(path); },
      [&](Ending ending) {
        const std::vector<std::uint8_t> found = test::read_file(path);
        const bool old =
            std::string_view(reinterpret_cast<const char*>(found.data()), found.size()) == "old";
        EXPECT_TRUE(ending == Ending::done ? found == whole : old || found == whole);
        const auto files = fs::directory_iterator(directory.path());
        EXPECT_EQ(std::distance(begin(files), end(files)), 1);
        test::write_file(path, "old");
      });
}

INSTANTIATE_TEST_SUITE_P(Fault, ArraysWithoutMemory, ::testing::Bool(), [](const auto& test) {
  return test.param ? "AllFromOneOn" : "OneAllocation";
});

}  // namespace
}  // namespace gantry
