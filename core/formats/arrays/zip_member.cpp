// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/zip_member.hpp"

#include "core/base/text.hpp"
#include "core/formats/arrays/zip_format.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <zlib.h>

#include <algorithm>

namespace gantry {
namespace {

// zlib's sizes have 32 bits.
constexpr std::size_t max_at_once = 1u << 30;
// Bytes of stored data that are read before their pages are released.
constexpr std::size_t checksum_step = std::size_t{1} << 20;

template <class... Parts>
Failure refuse_member(const ZipMember& member, std::uint64_t at, const Parts&... parts) {
  return malformed(at, "npz member ", quoted(member.name), ": ", parts...).with_reason("NPZ");
}

Failure no_memory(const ZipMember& member) {
  return exhausted("npz member ", quoted(member.name), ": no memory to unpack it")
      .with_reason("NPZ");
}

// Returns the data after the local header. Sizes and checksum are those of the directory, because
// local headers need not contain them.
Result<std::span<const std::uint8_t>> find_packed_data(std::span<const std::uint8_t> archive,
                                                       const ZipMember& member) {
  const std::uint64_t at = member.header_at;
  ByteReader in(archive.subspan(at, member.end_at - at), at);
  GANTRY_TRY(const auto header, in.read_record<ZipLocalHeader>("npz local header"));
  if (header.signature != ZipLocalHeader::expected) {
    return refuse_member(member, at, "signature of the local header is ", Hex{header.signature},
                         ", expected ", Hex{ZipLocalHeader::expected});
  }
  if (header.fields.method != member.method) {
    return refuse_member(member, at, "compression in the local header is ",
                         int{header.fields.method}, ", the directory has ", member.method);
  }
  GANTRY_TRY(const auto bytes, in.read_bytes(header.fields.name_bytes, "npz local name"));
  const std::string_view name = as_text(bytes);
  if (name != member.name) {
    return refuse_member(member, at, "name in the local header is ", quoted(name));
  }
  GANTRY_CHECK(in.skip(header.fields.extra_bytes, "npz local extra fields"));
  return in.read_bytes(member.packed_bytes, "npz packed data");
}

}  // namespace

void ZipMemberReader::EndInflate::operator()(z_stream_s* stream) const {
  inflateEnd(stream);
  delete stream;
}

Result<ZipMemberReader> ZipMemberReader::open(std::span<const std::uint8_t> archive,
                                              const ZipMember& member, const MappedFile* file) {
  auto packed = find_packed_data(archive, member);
  if (!packed.ok()) {
    return std::move(packed)
        .failure()
        .at("while reading npz member ", quoted(member.name))
        .with_reason("NPZ");
  }
  ZipMemberReader reader(member, *packed, file);
  if (member.method == zip_deflated) {
    reader.stream_.reset(new z_stream{});
    // Negative: without the header of zlib.
    if (inflateInit2(reader.stream_.get(), -MAX_WBITS) != Z_OK) return no_memory(member);
  }
  return reader;
}

// Skips packed bytes that have been read.
void ZipMemberReader::pass(std::size_t size) {
  pages_.pass(packed_.first(size));
  packed_ = packed_.subspan(size);
}

// Decompresses up to to.size() bytes and returns how many. 0: the end of the packed data, or of the
// part that this call passes to zlib.
Result<std::size_t> ZipMemberReader::inflate_some(std::span<std::uint8_t> to) {
  const std::size_t in = std::min(packed_.size(), max_at_once);
  const std::size_t out = std::min(to.size(), max_at_once);
  stream_->next_in = const_cast<Bytef*>(packed_.data());
  stream_->avail_in = static_cast<uInt>(in);
  stream_->next_out = to.data();
  stream_->avail_out = static_cast<uInt>(out);
  const int code = inflate(stream_.get(), Z_NO_FLUSH);
  pass(in - stream_->avail_in);
  stream_ended_ = code == Z_STREAM_END;
  if (code == Z_MEM_ERROR) return no_memory(*member_);
  // Z_BUF_ERROR: no progress was possible.
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
    return refuse_member(*member_, member_->header_at, "packed data are wrong after ", done_,
                         " bytes: ", stream_->msg != nullptr ? stream_->msg : "no deflated data");
  }
  return out - stream_->avail_out;
}

Status ZipMemberReader::read(std::span<std::uint8_t> to) {
  if (stream_ == nullptr) {
    while (!to.empty()) {
      const auto part = view(std::min(to.size(), checksum_step));
      std::ranges::copy(part, to.begin());
      to = to.subspan(part.size());
    }
    return {};
  }
  while (!to.empty()) {
    GANTRY_TRY(const std::size_t size, inflate_some(to));
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, to.data(), size));
    done_ += size;
    to = to.subspan(size);
    if (size == 0 && (stream_ended_ || packed_.empty())) {
      return refuse_member(*member_, member_->entry_at, "packed data end after ", done_,
                           " bytes, size is ", member_->bytes);
    }
  }
  return {};
}

std::span<const std::uint8_t> ZipMemberReader::view(std::uint64_t size) {
  const auto bytes = packed_.first(size);
  while (size != 0) {
    const std::size_t step = std::min<std::uint64_t>(size, checksum_step);
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, packed_.data(), step));
    pass(step);
    size -= step;
  }
  return bytes;
}

Status ZipMemberReader::finish() {
  if (crc_ != member_->crc) {
    return refuse_member(*member_, member_->entry_at, "checksum of the data is ", Hex{crc_},
                         ", the directory has ", Hex{member_->crc});
  }
  if (stream_ == nullptr) return {};
  std::uint8_t next = 0;
  GANTRY_TRY(const std::size_t size, inflate_some({&next, 1}));
  if (size == 0 && stream_ended_ && packed_.empty()) return {};
  return refuse_member(*member_, member_->entry_at, "packed data do not end after ", done_,
                       " bytes and packed size ", member_->packed_bytes);
}

}  // namespace gantry
