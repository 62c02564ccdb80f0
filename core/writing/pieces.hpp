// SPDX-License-Identifier: Apache-2.0
//
// A description of bytes to be written. Small pieces are in memory; large pieces stay in their file
// or are generated one at a time when they are written.
//
//     | header, names, record header | file range: 64 MiB | record header | file range: 64 MiB |
//     tree |
//
// Pieces is a stream of dmlc-core, so that values can be written with the serializer of dmlc-core.
#pragma once

#include "core/base/mapped_file.hpp"

#include <gantry/dmlc_stream.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry {

// `size` bytes of a file from offset `at`. Read with pread(), never through the mapping.
struct FileRange {
  std::shared_ptr<const MappedFile> file;
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};

// `size` bytes that make() returns when they are written; freed immediately afterwards.
struct MadeBytes {
  std::uint64_t size = 0;
  std::function<Result<std::vector<std::uint8_t>>()> make;
};

// `size` bytes that write() writes, in parts of any size.
struct StreamedBytes {
  std::uint64_t size = 0;
  std::function<Status(dmlc::Stream&)> write;
};

class Pieces : public OutputStream {
 public:
  // base     [in]   offset() of the first byte
  explicit Pieces(std::uint64_t base = 0) : base_(base) {}

  // Writes the characters alone.
  void write_bytes(std::string_view bytes) { Write(bytes.data(), bytes.size()); }
  void write_zeros(std::size_t count) { write_bytes(std::string(count, '\0')); }
  void append(FileRange range);
  void append(MadeBytes made);
  void append(StreamedBytes streamed);
  void append(Pieces&& other);

  // number of bytes
  std::uint64_t size() const { return size_; }
  // offset of the next byte
  std::uint64_t offset() const { return base_ + size_; }
  // number of bytes that are in memory
  std::uint64_t memory_bytes() const;

  // Writes all bytes in order to `out`, with at most one piece of MadeBytes or 1 MiB of a file in
  // memory.
  //
  // returns  malformed    a file ends before its range, or a generated piece has another size
  //          unavailable  a file cannot be read
  //          the failures of make() and write(); errors of `out` are not reported here
  Status write_to(dmlc::Stream& out) const;

 protected:
  void put(std::span<const std::uint8_t> bytes) override;

 private:
  std::vector<std::variant<std::string, FileRange, MadeBytes, StreamedBytes>> pieces_;
  std::uint64_t base_;
  std::uint64_t size_ = 0;
};

// A piece in memory.
inline Pieces pieces_of(std::string_view bytes) {
  Pieces pieces;
  pieces.write_bytes(bytes);
  return pieces;
}

// Writes to an open descriptor, which it does not own. The first failure is stored, because dmlc's
// Write() cannot report it.
class DescriptorStream : public OutputStream {
 public:
  // what     [in]   the file's name, for messages
  DescriptorStream(int descriptor, std::string what)
      : descriptor_(descriptor), what_(std::move(what)) {}

  // unavailable, with errno, after a write has failed; later writes have no effect
  const Status& status() const { return status_; }

 protected:
  void put(std::span<const std::uint8_t> bytes) override;

 private:
  int descriptor_;
  std::string what_;
  Status status_;
};

// Creates a file with these bytes.
//
// returns  unavailable  it exists, or cannot be created or written
//          the failures of Pieces::write_to()
Status write_new_file(const std::filesystem::path& path, const Pieces& pieces);

}  // namespace gantry
