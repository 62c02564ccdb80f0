// SPDX-License-Identifier: Apache-2.0
//
// Reads every wire primitive with dmlc-core and with ByteReader from the same bytes: same values,
// same end, same refusals.
//
//     byte 0, 1, ...   kind of the next read, up to 16 of them; 0xff ends the list
//     rest             the bytes to read from
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <gantry/byte_reader.hpp>

#include <dmlc/memory_io.h>
#include <dmlc/serializer.h>

#include <map>
#include <string>
#include <vector>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// True if `left` is too short for a count, or can contain as many items of `min_bytes` bytes as its
// count states. dmlc allocates that many items before it reads, so it must not read other inputs.
bool can_be_there(std::span<const std::uint8_t> left, std::uint64_t min_bytes) {
  std::uint64_t count = 0;
  if (left.size() < sizeof count) return true;
  std::memcpy(&count, left.data(), sizeof count);
  return count <= (left.size() - sizeof count) / min_bytes;
}

// MemoryFixedSizeStream throws if bytes are missing.
template <class T>
bool dmlc_reads(dmlc::Stream& stream, T& value) {
  try {
    return stream.Read(&value);
  } catch (const dmlc::Error&) {
    return false;
  }
}

class Pair {
 public:
  explicit Pair(std::span<const std::uint8_t> bytes)
      : bytes_(bytes),
        stream_(const_cast<std::uint8_t*>(bytes.data()), bytes.size()),
        ours_(bytes) {}

  // Returns false after a refused read: the position of both readers is unspecified then.
  bool read(std::uint8_t kind) {
    switch (kind % 11) {
      case 0:
        return number<std::uint8_t>(ours_.read_u8("field"));
      case 1:
        return number<std::uint16_t>(ours_.read_u16("field"));
      case 2:
        return number<std::uint32_t>(ours_.read_u32("field"));
      case 3:
        return number<std::uint64_t>(ours_.read_u64("field"));
      case 4:
        return number<std::int32_t>(ours_.read_i32("field"));
      case 5:
        return number<std::int64_t>(ours_.read_i64("field"));
      case 6:
        return text();
      case 7:
        return array<std::uint64_t>([this] { return ours_.read_u64_array("field"); });
      case 8:
        return array<std::uint32_t>([this] { return ours_.read_u32_array("field"); });
      case 9:
        return array<std::int64_t>([this] { return ours_.read_i64_array("field"); });
      default:
        return texts();
    }
  }

 private:
  template <class T>
  bool number(const Result<T>& read) {
    T expected{};
    const bool there = dmlc_reads(stream_, expected);
    expect(there == read.ok(), "both readers find a number, or neither");
    if (there) expect(expected == *read, "a number is the same");
    return agree(there);
  }
  template <class T, class Read>
  bool array(Read&& ours) {
    const bool possible = can_be_there(ours_.rest(), sizeof(T));
    const Result<NumberArray<T>> read = ours();
    std::vector<T> expected;
    const bool there = possible && dmlc_reads(stream_, expected);
    expect(there == read.ok(), "both readers find an array, or neither");
    if (there) expect(expected == read->value, "an array is the same");
    return agree(there);
  }
  bool text() {
    std::string expected;
    const bool possible = can_be_there(ours_.rest(), 1);
    const auto read = ours_.read_string("field");
    const bool there = possible && dmlc_reads(stream_, expected);
    expect(there == read.ok(), "both readers find a text, or neither");
    if (there) expect(expected == *read, "a text is the same");
    return agree(there);
  }
  bool texts() {
    const auto before = ours_.rest();
    const auto count = ours_.read_count(sizeof(std::uint64_t), "field");
    expect(before.size() < 8 || count.ok() == can_be_there(before, 8),
           "both readers accept a count, or neither");
    if (!count.ok()) return false;
    std::vector<std::string> all;
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto item = ours_.read_string("item");
      if (!item.ok()) return false;
      all.emplace_back(*item);
    }
    std::vector<std::string> expected;
    expect(dmlc_reads(stream_, expected), "dmlc reads the texts that we read");
    expect(expected == all, "texts are the same");
    return agree(true);
  }
  bool agree(bool there) {
    if (there) expect(stream_.Tell() == ours_.offset(), "both readers are at the same byte");
    return there;
  }

  std::span<const std::uint8_t> bytes_;
  dmlc::MemoryFixedSizeStream stream_;
  ByteReader ours_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Both readers' values, and a std::string of 32 bytes for each text of 8.
  const Budget budget(size, {.bytes_per_input_byte = 32});
  Choices choices({data, size});
  std::vector<std::uint8_t> kinds;
  while (kinds.size() < 16 && !choices.empty()) {
    const auto kind = choices.take<std::uint8_t>();
    if (kind == 0xff) break;
    kinds.push_back(kind);
  }
  const auto bytes = choices.rest();
  // dmlc's stream requires a non-null address.
  if (bytes.empty()) return 0;
  Pair pair(bytes);
  for (const std::uint8_t kind : kinds) {
    if (!pair.read(kind)) break;
  }
  return 0;
}
