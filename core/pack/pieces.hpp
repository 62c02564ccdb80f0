// SPDX-License-Identifier: Apache-2.0
//
// Bytes that are described before they are written: what is small lies in memory, what is large stays in the file
// it comes from, or is made at the moment it is wanted, one piece at a time.
//
//     | header, names, record header | file range: 64 MiB | record header | file range: 64 MiB | tree |
//
// Pieces is a dmlc::Stream, so whatever has a wire form is written by dmlc-core's serializer.
#pragma once

#include "core/base/mapped_file.hpp"

#include <dmlc/io.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gantry {

// size bytes of a file from `at` on; read by pread, never through the mapping.
struct FileRange {
  std::shared_ptr<const MappedFile> file;
  std::uint64_t at = 0;
  std::uint64_t size = 0;
};

// size bytes that make() gives when they are written, and that are dropped right after.
struct MadeBytes {
  std::uint64_t size = 0;
  std::function<Result<std::vector<std::uint8_t>>()> make;
};

class Pieces : public dmlc::Stream {
 public:
  // base     what offset() says at the first byte
  explicit Pieces(std::uint64_t base = 0) : base_(base) {}

  using dmlc::Stream::Write;
  void Write(const void* data, std::size_t size) override;
  // write-only
  std::size_t Read(void*, std::size_t) override { return 0; }

  // u64 length, then the characters.
  void write_text(std::string_view text) { Write(std::string(text)); }
  void append(FileRange range);
  void append(MadeBytes made);
  void append(Pieces&& other);

  // bytes so far
  std::uint64_t size() const { return size_; }
  // of the next byte
  std::uint64_t offset() const { return base_ + size_; }
  // how many of them are held here
  std::uint64_t memory_bytes() const;

  // Writes all bytes in order to `out`, holding at most one made piece, and 1 MiB of a file, at a time.
  //
  // returns  malformed where a file ends before its range does, or a made piece has another size than promised;
  //          unavailable where the machine cannot read; whatever make() refuses.  Errors of `out` are its own
  Status write_to(dmlc::Stream& out) const;

 private:
  std::vector<std::variant<std::string, FileRange, MadeBytes>> pieces_;
  std::uint64_t base_;
  std::uint64_t size_ = 0;
};

// Writes to an open descriptor, which it does not own, and keeps the first failure: dmlc's Write cannot report one.
class DescriptorStream : public dmlc::Stream {
 public:
  // what     the file's name, for the message
  DescriptorStream(int descriptor, std::string what)
      : descriptor_(descriptor), what_(std::move(what)) {}

  void Write(const void* data, std::size_t size) override;
  std::size_t Read(void*, std::size_t) override { return 0; }

  // unavailable, with errno, once a write has failed; later writes do nothing.
  const Status& status() const { return status_; }

 private:
  int descriptor_;
  std::string what_;
  Status status_;
};

}  // namespace gantry
