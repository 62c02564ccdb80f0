// SPDX-License-Identifier: Apache-2.0
//
// A zip archive of arrays: its directory, then every member unpacked; where all could be, they are written by our writer
// and read again.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/arrays/npz.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

constexpr std::uint64_t max_unpacked = 1 << 20;

// The writer wants a path: one directory for the program's life.
class Directory {
 public:
  Directory() : path_((std::filesystem::temp_directory_path() / "gantry_fuzz_XXXXXX").native()) {
    expect(mkdtemp(path_.data()) != nullptr, "a directory can be made");
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::filesystem::path file() const { return std::filesystem::path(path_) / "written.npz"; }

 private:
  std::string path_;
};

bool same(const NpyArray& a, const NpyArray& b) {
  return a.dtype.code == b.dtype.code && a.dtype.bits == b.dtype.bits &&
         a.dtype.lanes == b.dtype.lanes && a.shape == b.shape && std::ranges::equal(a.data, b.data);
}

void check_written(const std::vector<NpzArray>& arrays) {
  static const Directory directory;
  std::vector<NpzItem> items;
  for (const NpzArray& each : arrays) {
    items.push_back({each.name, each.array.dtype, each.array.shape, each.array.data});
  }
  const Status written = write_npz(directory.file(), items);
  if (!written.ok()) {
    expect(written.error().code == Code::invalid, "what was read is written, or its names are not");
    return;
  }
  auto again = NpzReader::open(directory.file());
  expect(again.ok() && again->members().size() == arrays.size(), "what was written can be read");
  for (const NpzArray& each : arrays) {
    const auto array = again->read(each.name);
    expect(array.ok() && same(array->array, each.array), "an array comes back as it was");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<NpzArray> arrays;
  bool whole = true;
  {
    // Beside the directory: the members together, and one while it is unpacked.
    const Budget budget(size, {.bytes_for_free = (std::size_t{1} << 20) + 2 * max_unpacked});
    auto reader = NpzReader::over({data, size}, {.members = 256, .bytes = max_unpacked});
    if (!reader.ok()) return expect_refusal(reader.error(), no_offset);
    std::uint64_t bytes = 0;
    for (const NpzMember& member : reader->members()) {
      bytes += member.bytes;
      auto array = reader->read(member.name);
      if (array.ok()) {
        expect(array->array.data.size() <= member.bytes, "data lie in their member");
        arrays.push_back(std::move(*array));
      } else {
        expect_refusal(array.error(), no_offset);
        whole = false;
      }
    }
    expect(bytes <= max_unpacked, "members keep the limit together");
  }
  if (whole) check_written(arrays);
  return 0;
}
