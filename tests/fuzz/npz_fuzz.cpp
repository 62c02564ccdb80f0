// SPDX-License-Identifier: Apache-2.0
//
// A zip archive of arrays: reads the directory and unpacks every member. If all can be unpacked,
// writes them and reads them again.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/arrays/npz.hpp"
#include "tests/support/array_value.hpp"
#include "tests/support/npz_file.hpp"

#include <gantry/dtype_text.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

constexpr std::uint64_t max_unpacked = 1 << 20;
// check_written() parses the archive once for each array.
constexpr std::size_t max_written = 256;

// A temporary directory for the lifetime of the program: the writer requires a path.
class Directory {
 public:
  Directory() : path_((std::filesystem::temp_directory_path() / "gantry_fuzz_XXXXXX").native()) {
    expect(mkdtemp(path_.data()) != nullptr, "a directory can be created");
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::filesystem::path file() const { return std::filesystem::path(path_) / "written.npz"; }

 private:
  std::string path_;
};

struct Array {
  std::string name;
  ArrayHeader header;
  std::vector<std::uint8_t> data;
};

void check_written(const std::vector<Array>& arrays) {
  static const Directory directory;
  std::vector<NpzItem> items;
  for (const Array& each : arrays) {
    items.push_back({each.name, each.header.dtype, each.header.shape, each.data});
  }
  const Status written = test::write_npz(directory.file(), items);
  if (!written.ok()) {
    expect(written.error().code == Code::invalid, "the writer refuses only names");
    return;
  }
  const std::vector<std::uint8_t> bytes = test::read_file(directory.file());
  const auto again = ArrayFile::parse(bytes);
  expect(again.ok() && again->names().size() == arrays.size(), "what was written can be read");
  for (const Array& each : arrays) {
    const auto array = test::read_array(bytes, each.name);
    expect(array.ok() && same_dtype(array->header.dtype, each.header.dtype) &&
               array->header.shape == each.header.shape && array->data == each.data,
           "an array is read back unchanged");
  }
}

// Returns false if the member is refused.
bool read_member(const NpzReader& reader, const ZipMember& member, std::uint64_t size,
                 std::vector<Array>& arrays) {
  const auto header = reader.header(member);
  if (!header.ok()) {
    // Offsets of npy errors are relative to the member.
    expect_refusal(header.error(), no_offset);
    return false;
  }
  expect(header->data_at + header->data_bytes == member.bytes,
         "data end at the end of their member");
  const auto name = member.name.substr(0, member.name.size() - npz_suffix.size());
  Array array{std::string(name), *header, std::vector<std::uint8_t>(header->data_bytes)};
  const Status read = reader.read_data(member, *header, array.data);
  const auto stored = reader.stored_data(member, *header);
  if (!read.ok()) {
    expect_refusal(read.error(), size);
    expect(!stored.ok() || !*stored, "a refused member is refused in place, too");
    return false;
  }
  expect(stored.ok() && (!*stored || std::ranges::equal(**stored, array.data)),
         "data are the same in place");
  arrays.push_back(std::move(array));
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Array> arrays;
  bool whole = true;
  {
    // In addition to the directory: all members, and one more while it is unpacked.
    const Budget budget(size, {.bytes_for_free = (std::size_t{1} << 20) + 2 * max_unpacked});
    const auto reader = NpzReader::over({data, size}, {.bytes = max_unpacked});
    if (!reader.ok()) return expect_refusal(reader.error(), size);
    std::uint64_t bytes = 0;
    for (const ZipMember& member : reader->members()) {
      bytes += member.bytes;
      expect(member.header_at + member.packed_bytes < member.end_at && member.end_at < size,
             "a member ends before the directory");
      whole &= read_member(*reader, member, size, arrays);
    }
    expect(bytes <= max_unpacked, "all members together are within the limit");
  }
  if (whole && arrays.size() <= max_written) check_written(arrays);
  return 0;
}
