// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/gunzip.hpp"

#include "core/base/replace_file.hpp"
#include "core/base/signals_blocked.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

namespace gantry {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;
// windows of up to 32 KiB, and a gzip header
constexpr int kGzipWindow = 15 + 16;

class Inflater {
 public:
  explicit Inflater(std::span<const std::uint8_t> bytes) : left_(bytes) {}
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  Status open() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) return exhausted("memory for decompression");
    return {};
  }
  // Fills the start of `piece`; returns 0 at the end.
  Result<std::size_t> read(std::span<std::uint8_t> piece) {
    if (ended_) return std::size_t{0};
    stream_.next_out = piece.data();
    stream_.avail_out = static_cast<uInt>(piece.size());
    while (!ended_ && stream_.avail_out != 0) {
      if (stream_.avail_in == 0) feed();
      const int state = inflate(&stream_, Z_NO_FLUSH);
      ended_ = state == Z_STREAM_END;
      if (state == Z_BUF_ERROR)
        return malformed(offset(), "gzip data end at byte ", offset(), " before their last block");
      if (state != Z_OK && !ended_) {
        return malformed(offset(), "gzip data are damaged at byte ", offset(), ": ",
                         stream_.msg != nullptr ? stream_.msg : "no detail");
      }
    }
    return piece.size() - stream_.avail_out;
  }

 private:
  void feed() {
    const std::size_t size =
        std::min<std::size_t>(left_.size(), std::numeric_limits<uInt>::max() / 2);
    stream_.next_in = const_cast<Bytef*>(left_.data());
    stream_.avail_in = static_cast<uInt>(size);
    left_ = left_.subspan(size);
    fed_ += size;
  }
  std::uint64_t offset() const { return fed_ - stream_.avail_in; }

  std::span<const std::uint8_t> left_;
  std::uint64_t fed_ = 0;
  z_stream stream_{};
  bool ended_ = false;
};

// Decompresses into an open file.
//
// failure  [in]   the error of a failed write, of its number
template <class WriteFailure>
Status inflate_to(int file, std::span<const std::uint8_t> bytes, std::uint64_t limit,
                  const WriteFailure& failure) {
  Inflater inflater(bytes);
  GANTRY_CHECK(inflater.open());
  std::vector<std::uint8_t> piece(kPieceBytes);
  for (std::uint64_t total = 0;;) {
    GANTRY_TRY(const std::size_t size, inflater.read(piece));
    if (size == 0) return {};
    if (size > limit - total) {
      return malformed(no_offset, "gzip data have more than ", limit, " bytes after decompression");
    }
    total += size;
    if (const int failed = write_all(file, std::span(piece).first(size)); failed != 0)
      return failure(failed);
  }
}

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Result<std::function<Result<std::size_t>(std::span<std::uint8_t>)>> open_gzip(
    std::span<const std::uint8_t> bytes) {
  const auto inflater = std::make_shared<Inflater>(bytes);
  GANTRY_CHECK(inflater->open());
  return std::function([inflater](std::span<std::uint8_t> piece) { return inflater->read(piece); });
}

Result<std::shared_ptr<const MappedFile>> gunzip(std::span<const std::uint8_t> bytes,
                                                 const std::filesystem::path& directory,
                                                 std::uint64_t limit) {
  Descriptor file(-1);
  std::string name = (directory / ".gunzip.XXXXXX").native();
  {
    // not O_TMPFILE, which not every file system has
    const SignalsBlocked blocked;
    file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) return cannot_write(directory, errno);
    ::unlink(name.c_str());
  }
  GANTRY_CHECK(inflate_to(file.get(), bytes, limit,
                          [&](int number) { return cannot_write(directory, number); }));
  return MappedFile::adopt(std::move(file), name);
}

Result<std::shared_ptr<const MappedFile>> gunzip_to_memory(std::span<const std::uint8_t> bytes,
                                                           const std::filesystem::path& path,
                                                           std::uint64_t limit) {
  const auto no_memory = [&](int number) {
    return exhausted(path.native(), " cannot be decompressed into memory: ",
                     std::generic_category().message(number))
        .native("errno", number);
  };
  Descriptor memory(::memfd_create("gantry-gunzip", MFD_CLOEXEC));
  if (!memory) return no_memory(errno);
  GANTRY_CHECK(inflate_to(memory.get(), bytes, limit, no_memory));
  return MappedFile::adopt(std::move(memory), path);
}

Result<std::vector<std::uint8_t>> gunzip_start(std::span<const std::uint8_t> bytes,
                                               std::size_t size) {
  Inflater inflater(bytes);
  GANTRY_CHECK(inflater.open());
  std::vector<std::uint8_t> start(size);
  GANTRY_TRY(const std::size_t read, inflater.read(start));
  start.resize(read);
  return start;
}

}  // namespace gantry
