// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/zip_directory.hpp"

#include "core/formats/arrays/zip_format.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Size of an archive of one member without name and data.
constexpr std::uint64_t min_archive_bytes =
    sizeof(ZipLocalHeader) + sizeof(ZipDirectoryEntry) + sizeof(ZipEnd);

template <class... Parts>
Failure refuse_directory(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("NPZ");
}

struct Directory {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;
  // offset of the end record that contains these numbers
  std::uint64_t end_at = 0;
};

// Finds the last end record whose comment ends at the end of the archive.
Result<ZipEnd> find_end(std::span<const std::uint8_t> bytes, std::uint64_t& end_at) {
  const std::uint64_t last = bytes.size() - sizeof(ZipEnd);
  const std::uint64_t first = last - std::min<std::uint64_t>(last, zip_max16);
  for (end_at = last + 1; end_at-- > first;) {
    ByteReader in(bytes.subspan(end_at), end_at);
    GANTRY_TRY(const auto end, in.read_record<ZipEnd>("npz end record"));
    if (end.signature == ZipEnd::expected && end.comment_bytes == in.left()) return end;
  }
  return refuse_directory(first, "npz is not a zip archive: it has no directory at its end");
}

// Replaces the numbers of the plain end record by those of a zip64 end record before it, if there
// is one. An archive of exactly 65535 members needs none, and an archive with small numbers may have
// one.
Status read_zip64_end(std::span<const std::uint8_t> bytes, Directory& directory) {
  constexpr std::uint64_t size = sizeof(Zip64End) + sizeof(Zip64Locator);
  if (directory.end_at < size) return {};
  const std::uint64_t at = directory.end_at - size;
  ByteReader in(bytes.subspan(at, size), at);
  GANTRY_TRY(const auto end, in.read_record<Zip64End>("npz zip64 end record"));
  GANTRY_TRY(const auto locator, in.read_record<Zip64Locator>("npz zip64 locator"));
  if (locator.signature != Zip64Locator::expected) return {};
  if (end.signature != Zip64End::expected || locator.end_at != at) {
    return refuse_directory(at, "npz zip64 end record: signature is ", Hex{end.signature},
                            ", offset is ", std::uint64_t{locator.end_at}, ", expected ",
                            Hex{Zip64End::expected}, " and ", at);
  }
  directory = {end.count, end.directory_bytes, end.directory_at, at};
  return {};
}

Result<Directory> find_directory(std::span<const std::uint8_t> bytes) {
  std::uint64_t end_at = 0;
  GANTRY_TRY(const ZipEnd end, find_end(bytes, end_at));
  if (end.disk != 0 || end.directory_disk != 0) {
    return refuse_directory(end_at, "npz is one of several files: disk is ", int{end.disk},
                            ", disk of the directory is ", int{end.directory_disk}, ", expected 0");
  }
  Directory directory{end.count, end.directory_bytes, end.directory_at, end_at};
  if (end.count == zip_max16 || end.directory_bytes == zip_max32 || end.directory_at == zip_max32 ||
      directory.at + directory.bytes != end_at) {
    GANTRY_CHECK(read_zip64_end(bytes, directory));
  }
  if (directory.at > directory.end_at || directory.bytes != directory.end_at - directory.at) {
    return refuse_directory(directory.end_at, "npz directory: offset is ", directory.at,
                            ", size is ", directory.bytes, ", expected to end at ",
                            directory.end_at);
  }
  return directory;
}

// Replaces 32-bit numbers that have all bits set by those in the zip64 field, if there is one.
Status read_zip64_field(ByteReader extra, ZipMember& member) {
  while (extra.left() >= 4) {
    GANTRY_TRY(const std::uint16_t id, extra.read_u16("npz extra field"));
    GANTRY_TRY(const std::uint16_t size, extra.read_u16("npz extra field"));
    GANTRY_TRY(ByteReader field, extra.sub_reader(size, "npz extra field"));
    if (id != Zip64Field::expected) continue;
    for (std::uint64_t* const number : {&member.bytes, &member.packed_bytes, &member.header_at}) {
      if (*number != zip_max32) continue;
      GANTRY_TRY(*number, field.read_u64("npz zip64 field"));
    }
    return {};
  }
  return {};
}

Result<ZipMember> read_entry(ByteReader& in) {
  ZipMember member;
  member.entry_at = in.offset();
  GANTRY_TRY(const auto entry, in.read_record<ZipDirectoryEntry>("npz directory entry"));
  if (entry.signature != ZipDirectoryEntry::expected) {
    return refuse_directory(member.entry_at, "npz directory entry: signature is ",
                            Hex{entry.signature}, ", expected ", Hex{ZipDirectoryEntry::expected});
  }
  GANTRY_TRY(const auto name, in.read_bytes(entry.fields.name_bytes, "npz member name"));
  GANTRY_TRY(const ByteReader extra, in.sub_reader(entry.fields.extra_bytes, "npz extra fields"));
  GANTRY_CHECK(in.skip(entry.comment_bytes, "npz member comment"));
  member.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  member.flags = entry.fields.flags;
  member.method = entry.fields.method;
  member.crc = entry.fields.crc;
  member.packed_bytes = entry.fields.packed_bytes;
  member.bytes = entry.fields.bytes;
  member.header_at = entry.header_at;
  GANTRY_CHECK(read_zip64_field(extra, member));
  return member;
}

// Computes where each member ends, and rejects members that overlap the next one.
Status set_ends(std::vector<ZipMember>& members, std::uint64_t directory_at) {
  std::vector<ZipMember*> by_offset;
  by_offset.reserve(members.size());
  for (ZipMember& member : members) by_offset.push_back(&member);
  std::ranges::sort(by_offset, std::greater(), &ZipMember::header_at);
  std::uint64_t end_at = directory_at;
  for (ZipMember* const member : by_offset) {
    member->end_at = end_at;
    const std::uint64_t room = end_at - std::min(member->header_at, end_at);
    const std::uint64_t front = sizeof(ZipLocalHeader) + member->name.size();
    if (front > room || member->packed_bytes > room - front) {
      return refuse_directory(member->entry_at, "npz member ", quoted(member->name),
                              ": packed size is ", member->packed_bytes, " after a header of ",
                              front, ", room for ", room, " at offset ", member->header_at);
    }
    end_at = member->header_at;
  }
  return {};
}

}  // namespace

Result<std::vector<ZipMember>> read_zip_directory(std::span<const std::uint8_t> bytes,
                                                  std::uint64_t max_members) {
  if (bytes.size() < min_archive_bytes) {
    return refuse_directory(0, "npz has ", bytes.size(), " bytes, minimum is ", min_archive_bytes);
  }
  GANTRY_TRY(const Directory directory, find_directory(bytes));
  const std::uint64_t room = directory.bytes / sizeof(ZipDirectoryEntry);
  if (directory.count > room) {
    return refuse_directory(directory.end_at, "npz has ", directory.count, " members, room for ",
                            room);
  }
  if (directory.count > max_members) {
    return exhausted("npz has ", directory.count, " members, maximum is ", max_members)
        .with_reason("NPZ");
  }

  ByteReader in(bytes.subspan(directory.at, directory.bytes), directory.at);
  std::vector<ZipMember> members;
  members.reserve(directory.count);
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    Result<ZipMember> member = read_entry(in);
    if (!member.ok()) {
      return std::move(member)
          .failure()
          .at("while reading directory entry ", i, " of ", directory.count)
          .with_reason("NPZ");
    }
    members.push_back(*member);
  }
  if (!in.at_end()) {
    return refuse_directory(in.offset(), "npz directory: ", in.left(), " bytes follow its ",
                            directory.count, " members");
  }
  GANTRY_CHECK(set_ends(members, directory.at));
  return members;
}

}  // namespace gantry
