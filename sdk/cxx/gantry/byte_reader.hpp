// SPDX-License-Identifier: Apache-2.0
//
// gantry/byte_reader.hpp - a bounded reader for untrusted bytes: little-endian, any alignment.
//
// Each read takes the name of its field for error messages. A count is compared with the bytes that
// are left before memory is reserved. Bytes and strings are returned as views, numbers as copies.
// Offsets are relative to the first byte of the outermost reader.
#pragma once

#include <gantry/byte_count.hpp>
#include <gantry/result.hpp>

#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gantry {

// An array of numbers with the offset of each, so that later checks can report it.
template <class T>
struct NumberArray {
  std::vector<T> value;
  // Offset of element 0.
  std::uint64_t at = 0;
  std::uint64_t offset_of(std::size_t i) const { return at + i * sizeof(T); }
};
using U64Array = NumberArray<std::uint64_t>;
using U32Array = NumberArray<std::uint32_t>;
using I64Array = NumberArray<std::int64_t>;

class ByteReader {
 public:
  // bytes    [in]   borrowed; must outlive the reader and its views
  // base     [in]   offset() of the first byte; not 0 for a sub-reader
  explicit ByteReader(std::span<const std::uint8_t> bytes, std::uint64_t base = 0)
      : bytes_(bytes), base_(base) {}

  static ByteReader of_text(std::string_view text, std::uint64_t base = 0) {
    return ByteReader({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, base);
  }

  std::uint64_t offset() const { return base_ + at_; }
  std::uint64_t left() const { return bytes_.size() - at_; }
  bool at_end() const { return left() == 0; }

  // Each reads one number.
  //
  // returns  MALFORMED  at the offset of the field: "<field>: needs 8 bytes, 3 bytes left"
  Result<std::uint8_t> read_u8(const char* field) { return read<std::uint8_t>(field); }
  Result<std::uint16_t> read_u16(const char* field) { return read<std::uint16_t>(field); }
  Result<std::uint32_t> read_u32(const char* field) { return read<std::uint32_t>(field); }
  Result<std::uint64_t> read_u64(const char* field) { return read<std::uint64_t>(field); }
  Result<std::int32_t> read_i32(const char* field) { return read<std::int32_t>(field); }
  Result<std::int64_t> read_i64(const char* field) { return read<std::int64_t>(field); }

  // Reads sizeof(T) bytes as a struct of numbers without padding.
  template <class T>
  Result<T> read_record(const char* field) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
    return read<T>(field);
  }

  // Returns a view of the next `size` bytes.
  Result<std::span<const std::uint8_t>> read_bytes(std::uint64_t size, const char* field) {
    if (size > left()) return too_short(field, size);
    const auto view = bytes_.subspan(at_, size);
    at_ += size;
    return view;
  }
  Status skip(std::uint64_t size, const char* field) {
    GANTRY_CHECK(read_bytes(size, field));
    return {};
  }

  // Reads a u64 length and as many bytes. The view is not terminated and may contain any byte.
  //
  // returns  MALFORMED  at the offset of the length: "<field>: length is 99 bytes, room for 12 bytes"
  Result<std::string_view> read_string(const char* field) {
    const std::uint64_t start = at_;
    GANTRY_TRY(const std::uint64_t size, read_u64(field));
    if (size > left()) return too_long(field, size, start);
    const auto view = bytes_.subspan(at_, size);
    at_ += size;
    return std::string_view(reinterpret_cast<const char*>(view.data()), view.size());
  }

  // Reads a u64 count of items.
  //
  // min_bytes  [in]  size of the smallest item, at least 1
  // returns    MALFORMED  at the offset of the count: "<field>: count 9, room for 4"
  Result<std::uint64_t> read_count(std::uint64_t min_bytes, const char* field) {
    const std::uint64_t start = at_;
    GANTRY_TRY(const std::uint64_t count, read_u64(field));
    if (count > left() / min_bytes) {
      const std::uint64_t room = left() / min_bytes;
      at_ = start;
      return malformed(offset(), field, ": count ", count, ", room for ", room)
          .with_reason("BLOB_TRUNCATED");
    }
    return count;
  }

  // Each reads a u64 count and as many numbers.
  Result<U64Array> read_u64_array(const char* field) { return read_array<std::uint64_t>(field); }
  Result<U32Array> read_u32_array(const char* field) { return read_array<std::uint32_t>(field); }
  Result<I64Array> read_i64_array(const char* field) { return read_array<std::int64_t>(field); }

  // Reads `count` numbers that no count precedes.
  template <class T>
  Result<NumberArray<T>> read_numbers(std::uint64_t count, const char* field) {
    if (count > left() / sizeof(T)) {
      return malformed(offset(), field, ": count ", count, ", room for ", left() / sizeof(T))
          .with_reason("BLOB_TRUNCATED");
    }
    NumberArray<T> array{std::vector<T>(count), offset()};
    if (count != 0) std::memcpy(array.value.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return array;
  }

  // Skips `size` bytes and returns a reader over them. Its offsets continue those of this reader.
  Result<ByteReader> sub_reader(std::uint64_t size, const char* field) {
    const std::uint64_t start = offset();
    GANTRY_TRY(const auto view, read_bytes(size, field));
    return ByteReader(view, start);
  }

  // Returns up to `size` of the next bytes without skipping them.
  std::span<const std::uint8_t> peek(std::uint64_t size) const {
    return bytes_.subspan(at_, size < left() ? size : left());
  }
  std::span<const std::uint8_t> rest() const { return bytes_.subspan(at_); }

 private:
  template <class T>
  Result<T> read(const char* field) {
    if (sizeof(T) > left()) return too_short(field, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  template <class T>
  Result<NumberArray<T>> read_array(const char* field) {
    GANTRY_TRY(const std::uint64_t count, read_count(sizeof(T), field));
    return read_numbers<T>(count, field);
  }
  // Errors are apart from the functions that read, which are inlined then.
  [[gnu::noinline]] Failure too_short(const char* field, std::uint64_t size) const {
    return malformed(offset(), field, ": needs ", ByteCount(size), ", ", ByteCount(left()), " left")
        .with_reason("BLOB_TRUNCATED");
  }
  // start    [in]   offset of the length in this reader, to which it returns
  [[gnu::noinline]] Failure too_long(const char* field, std::uint64_t size, std::uint64_t start) {
    const std::uint64_t room = left();
    at_ = start;
    return malformed(offset(), field, ": length is ", ByteCount(size), ", room for ",
                     ByteCount(room))
        .with_reason("BLOB_TRUNCATED");
  }

  std::span<const std::uint8_t> bytes_;
  std::uint64_t base_;
  std::uint64_t at_ = 0;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "the format is little-endian; only little-endian hosts are supported");

}  // namespace gantry
