// SPDX-License-Identifier: Apache-2.0
#include "core/writing/pieces.hpp"

#include "core/base/new_file.hpp"

#include <gantry/descriptor.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gantry {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

Status write_range(const FileRange& range, dmlc::Stream& out) {
  std::vector<char> chunk(std::min<std::uint64_t>(chunk_bytes, range.size));
  std::uint64_t done = 0;
  while (done < range.size) {
    const std::size_t wanted = std::min<std::uint64_t>(chunk.size(), range.size - done);
    const ssize_t got = ::pread(range.file->descriptor(), chunk.data(), wanted,
                                static_cast<off_t>(range.at + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return unavailable(range.file->path().native(), ": ", std::strerror(errno), " while reading")
          .native("errno", errno);
    }
    if (got == 0) {
      return malformed(range.at + done, range.file->path().native(), ": ends at ", range.at + done,
                       ", needs ", range.at + range.size, " bytes");
    }
    out.Write(chunk.data(), static_cast<std::size_t>(got));
    done += static_cast<std::uint64_t>(got);
  }
  return {};
}

Failure wrong_size(std::uint64_t found, std::uint64_t expected) {
  return malformed(0, "generated piece has ", found, " bytes, expected ", expected);
}

Status write_made(const MadeBytes& made, dmlc::Stream& out) {
  GANTRY_TRY(const std::vector<std::uint8_t> bytes, made.make());
  if (bytes.size() != made.size) return wrong_size(bytes.size(), made.size);
  out.Write(bytes.data(), bytes.size());
  return {};
}

// Passes bytes on and counts them.
class CountedStream : public OutputStream {
 public:
  explicit CountedStream(dmlc::Stream& out) : out_(out) {}

  std::uint64_t count() const { return count_; }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    out_.Write(bytes.data(), bytes.size());
    count_ += bytes.size();
  }

 private:
  dmlc::Stream& out_;
  std::uint64_t count_ = 0;
};

Status write_streamed(const StreamedBytes& streamed, dmlc::Stream& out) {
  CountedStream counted(out);
  GANTRY_CHECK(streamed.write(counted));
  if (counted.count() == streamed.size) return {};
  return wrong_size(counted.count(), streamed.size);
}

}  // namespace

void Pieces::put(std::span<const std::uint8_t> bytes) {
  if (pieces_.empty() || !std::holds_alternative<std::string>(pieces_.back())) {
    pieces_.emplace_back(std::string());
  }
  std::get<std::string>(pieces_.back())
      .append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_ += bytes.size();
}

void Pieces::append(FileRange range) {
  size_ += range.size;
  pieces_.emplace_back(std::move(range));
}

void Pieces::append(MadeBytes made) {
  size_ += made.size;
  pieces_.emplace_back(std::move(made));
}

void Pieces::append(StreamedBytes streamed) {
  size_ += streamed.size;
  pieces_.emplace_back(std::move(streamed));
}

void Pieces::append(Pieces&& other) {
  size_ += other.size_;
  std::move(other.pieces_.begin(), other.pieces_.end(), std::back_inserter(pieces_));
}

std::uint64_t Pieces::memory_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces_) {
    if (const auto* text = std::get_if<std::string>(&piece)) bytes += text->size();
  }
  return bytes;
}

Status Pieces::write_to(dmlc::Stream& out) const {
  for (const auto& piece : pieces_) {
    if (const auto* text = std::get_if<std::string>(&piece)) {
      out.Write(text->data(), text->size());
    } else if (const auto* range = std::get_if<FileRange>(&piece)) {
      GANTRY_CHECK(write_range(*range, out));
    } else if (const auto* streamed = std::get_if<StreamedBytes>(&piece)) {
      GANTRY_CHECK(write_streamed(*streamed, out));
    } else {
      GANTRY_CHECK(write_made(std::get<MadeBytes>(piece), out));
    }
  }
  return {};
}

void DescriptorStream::put(std::span<const std::uint8_t> bytes) {
  if (!status_.ok()) return;
  const int failed = write_all(descriptor_, bytes);
  if (failed == 0) return;
  status_ =
      unavailable(what_, ": ", std::strerror(failed), " while writing").native("errno", failed);
}

Status write_new_file(const std::filesystem::path& path, const Pieces& pieces) {
  GANTRY_TRY(const Descriptor file, create_file(path));
  DescriptorStream stream(file.get(), path.native());
  GANTRY_CHECK(pieces.write_to(stream));
  return stream.status();
}

}  // namespace gantry
