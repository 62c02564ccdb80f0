// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npz.hpp"

#include "core/base/passed_pages.hpp"
#include "core/formats/arrays/zip_format.hpp"
#include "core/formats/arrays/zip_member.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <set>

namespace gantry {
namespace {

// source: zlib's technical notes
constexpr std::uint64_t max_deflate_ratio = 1032;
// Larger than nearly all headers.
constexpr std::uint64_t first_read_bytes = 256;
// Of the data that copy_data() decompresses at once.
constexpr std::uint64_t max_part = std::uint64_t{1} << 20;

// Returns an error with the offset of the member's directory entry.
template <class... Parts>
Failure refuse_npz(Code code, const ZipMember& member, const Parts&... parts) {
  Failure failure = fail(code, "npz member ", quoted(member.name), parts...).with_reason("NPZ");
  failure.error().offset = member.entry_at;
  return failure;
}

// room     [in]   limits.bytes less the size of the earlier members
Status check_member(const ZipMember& member, std::uint64_t room, const NpzLimits& limits) {
  if ((member.flags & zip_encrypted) != 0) {
    return refuse_npz(Code::unsupported, member, " is encrypted");
  }
  if (!member.name.ends_with(npz_suffix)) {
    return refuse_npz(Code::unsupported, member, " is not an .npy file");
  }
  if (member.method != zip_stored && member.method != zip_deflated) {
    return refuse_npz(Code::unsupported, member, ": compression is ", member.method,
                      ", known are 0 (stored) and 8 (deflate)");
  }
  if (member.method == zip_stored && member.bytes != member.packed_bytes) {
    return refuse_npz(Code::malformed, member, " is stored: size is ", ByteCount(member.bytes),
                      ", packed size is ", ByteCount(member.packed_bytes));
  }
  if (member.bytes / max_deflate_ratio > member.packed_bytes) {
    return refuse_npz(Code::malformed, member, ": size is ", ByteCount(member.bytes),
                      ", deflate gives ", ByteCount(member.packed_bytes), " at most ",
                      max_deflate_ratio, " times over");
  }
  if (member.bytes > room) {
    return refuse_npz(Code::exhausted, member, ": size is ", ByteCount(member.bytes), ", room for ",
                      ByteCount(room), " of ", ByteCount(limits.bytes));
  }
  return {};
}

}  // namespace

Result<NpzReader> NpzReader::over(std::span<const std::uint8_t> bytes, const NpzLimits& limits,
                                  const MappedFile* file) {
  GANTRY_TRY(std::vector<ZipMember> members, read_zip_directory(bytes, limits.members));
  std::set<std::string_view> names;
  std::uint64_t room = limits.bytes;
  for (const ZipMember& member : members) {
    GANTRY_CHECK(check_member(member, room, limits));
    room -= member.bytes;
    if (!names.insert(member.name).second) {
      return refuse_npz(Code::malformed, member, " occurs twice");
    }
  }
  return NpzReader(bytes, std::move(members), file);
}

Result<ArrayHeader> NpzReader::header(const ZipMember& member) const {
  GANTRY_TRY(ZipMemberReader reader, ZipMemberReader::open(bytes_, member, file_));
  std::vector<std::uint8_t> front(std::min(first_read_bytes, member.bytes));
  GANTRY_CHECK(reader.read(front));
  Result<ArrayHeader> header = read_npy_header(front);
  if (const auto max = std::min(max_npy_front, member.bytes); !header.ok() && front.size() < max) {
    const std::size_t done = front.size();
    front.resize(max);
    GANTRY_CHECK(reader.read(std::span(front).subspan(done)));
    header = read_npy_header(front);
  }
  release(member);
  if (!header.ok()) {
    return std::move(header).failure().at("while reading npz member ", quoted(member.name));
  }
  if (header->data_bytes != member.bytes - header->data_at) {
    return refuse_npz(Code::malformed, member, ": data are ",
                      ByteCount(member.bytes - header->data_at), ", dtype and shape require ",
                      ByteCount(header->data_bytes));
  }
  return header;
}

// Releases what reading in steps has left: the local header and the end of the data.
void NpzReader::release(const ZipMember& member) const {
  if (file_ == nullptr) return;
  release_pages(*file_, bytes_.subspan(member.header_at, member.end_at - member.header_at));
}

// Opens a member and skips the bytes before its data.
Result<ZipMemberReader> NpzReader::open_data(const ZipMember& member, std::uint64_t data_at,
                                             std::uint64_t data_bytes) const {
  if (data_at > member.bytes || data_bytes != member.bytes - data_at) {
    return invalid("npz member ", quoted(member.name), " is ", member.bytes, " bytes, room is for ",
                   data_at, " and ", data_bytes);
  }
  GANTRY_TRY(ZipMemberReader reader, ZipMemberReader::open(bytes_, member, file_));
  std::vector<std::uint8_t> front(data_at);
  GANTRY_CHECK(reader.read(front));
  return reader;
}

Status NpzReader::finish(ZipMemberReader& reader, const ZipMember& member) const {
  Status finished = reader.finish();
  release(member);
  return finished;
}

Status NpzReader::read_data(const ZipMember& member, const ArrayHeader& header,
                            std::span<std::uint8_t> to) const {
  GANTRY_TRY(ZipMemberReader reader, open_data(member, header.data_at, to.size()));
  GANTRY_CHECK(reader.read(to));
  return finish(reader, member);
}

Status NpzReader::copy_data(const ZipMember& member, const ArrayHeader& header,
                            const std::function<void(std::span<const std::uint8_t>)>& sink) const {
  GANTRY_TRY(ZipMemberReader reader, open_data(member, header.data_at, header.data_bytes));
  std::vector<std::uint8_t> buffer(std::min(max_part, header.data_bytes));
  for (std::uint64_t left = header.data_bytes; left != 0;) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), left));
    GANTRY_CHECK(reader.read(part));
    sink(part);
    left -= part.size();
  }
  return finish(reader, member);
}

Result<std::optional<std::span<const std::uint8_t>>> NpzReader::stored_data(
    const ZipMember& member, const ArrayHeader& header) const {
  std::optional<std::span<const std::uint8_t>> data;
  if (member.method != zip_stored) return data;
  GANTRY_TRY(ZipMemberReader reader, open_data(member, header.data_at, header.data_bytes));
  data = reader.view(header.data_bytes);
  GANTRY_CHECK(finish(reader, member));
  return data;
}

}  // namespace gantry
