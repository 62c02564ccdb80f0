// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npz_write.hpp"

#include "core/base/replace_file.hpp"
#include "core/formats/arrays/npz.hpp"
#include "core/formats/arrays/zip_format.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace gantry {
namespace {

// Tools that extract archives into files cannot create files with longer names.
constexpr std::size_t max_name = 1024;
// 1980-01-01, the first day that the format can represent.
constexpr std::uint16_t first_day = 1 << 5 | 1;
// Format versions without and with zip64 fields.
constexpr std::uint16_t version_plain = 20, version_zip64 = 45;

Status check_items(std::span<const NpzItem> items) {
  if (items.empty()) return invalid("npz of no arrays: not every reader takes an empty archive");
  std::set<std::string_view> names;
  for (const NpzItem& item : items) {
    if (item.name.empty() || item.name.size() > max_name ||
        item.name.find('\0') != std::string_view::npos) {
      return invalid("npz name ", quoted(item.name), " has ", item.name.size(),
                     " bytes, expected 1 to ", max_name, " and no NUL");
    }
    if (!names.insert(item.name).second) {
      return invalid("npz name ", quoted(item.name), " occurs twice");
    }
    const Result<std::uint64_t> size = tensor_bytes(item.shape, item.dtype);
    if (!size.ok()) return invalid("npz array ", quoted(item.name), ": ", size.error().message);
    if (*size != item.data.size()) {
      return invalid("npz array ", quoted(item.name), ": data are ", item.data.size(),
                     " bytes, dtype and shape require ", *size);
    }
  }
  return {};
}

// The description of a stored member in its headers.
struct Member {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  std::uint64_t header_at = 0;
};

std::uint32_t low32(std::uint64_t number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(number, zip_max32));
}
std::uint16_t low16(std::uint64_t number) {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(number, zip_max16));
}

// Writes the parts of an archive and keeps the first error.
class NpzStream {
 public:
  explicit NpzStream(std::FILE* file) : file_(file) {}

  std::uint64_t offset() const { return at_; }
  // errno; 0: none
  int error() const { return error_; }

  void write(const void* data, std::size_t size) {
    at_ += size;
    if (size != 0 && error_ == 0 && std::fwrite(data, 1, size, file_) != size) error_ = errno;
  }

  void write_header(const Member& member) {
    const bool zip64 = member.bytes >= zip_max32;
    constexpr std::uint16_t zip64_bytes = offsetof(Zip64Field, header_at);
    const ZipLocalHeader header{.fields = fields(member, zip64, zip64_bytes)};
    write(&header, sizeof header);
    write(member.name.data(), member.name.size());
    const Zip64Field field{.size = zip64_bytes - 4,
                           .bytes = member.bytes,
                           .packed_bytes = member.bytes,
                           .header_at = member.header_at};
    if (zip64) write(&field, zip64_bytes);
  }

  void write_entry(const Member& member) {
    const bool zip64 = member.bytes >= zip_max32 || member.header_at >= zip_max32;
    const ZipDirectoryEntry entry{.fields = fields(member, zip64, sizeof(Zip64Field)),
                                  .header_at = zip64 ? zip_max32 : low32(member.header_at)};
    write(&entry, sizeof entry);
    write(member.name.data(), member.name.size());
    const Zip64Field field{.size = sizeof field - 4,
                           .bytes = member.bytes,
                           .packed_bytes = member.bytes,
                           .header_at = member.header_at};
    if (zip64) write(&field, sizeof field);
  }

  void write_end(std::uint64_t count, std::uint64_t directory_at) {
    const std::uint64_t bytes = at_ - directory_at;
    if (count >= zip_max16 || bytes >= zip_max32 || directory_at >= zip_max32) {
      const Zip64Locator locator{.end_at = at_, .disks = 1};
      const Zip64End end{.made_by = version_zip64,
                         .version = version_zip64,
                         .count_here = count,
                         .count = count,
                         .directory_bytes = bytes,
                         .directory_at = directory_at};
      write(&end, sizeof end);
      write(&locator, sizeof locator);
    }
    const ZipEnd end{.count_here = low16(count),
                     .count = low16(count),
                     .directory_bytes = low32(bytes),
                     .directory_at = low32(directory_at)};
    write(&end, sizeof end);
  }

 private:
  // Returns the fields of a header. If `zip64`, its sizes are in an extra field of `zip64_bytes`.
  static ZipFields fields(const Member& member, bool zip64, std::uint16_t zip64_bytes) {
    const bool ascii = std::ranges::all_of(member.name, [](char c) { return (c & 0x80) == 0; });
    const std::uint32_t bytes = zip64 ? zip_max32 : low32(member.bytes);
    return {.version = zip64 ? version_zip64 : version_plain,
            .flags = ascii ? std::uint16_t{0} : zip_utf8_name,
            .method = zip_stored,
            .date = first_day,
            .crc = member.crc,
            .packed_bytes = bytes,
            .bytes = bytes,
            .name_bytes = low16(member.name.size()),
            .extra_bytes = zip64 ? zip64_bytes : std::uint16_t{0}};
  }

  std::FILE* file_;
  std::uint64_t at_ = 0;
  int error_ = 0;
};

// Writes one member and returns the data for its directory entry.
Result<Member> write_item(const NpzItem& item, NpzStream& out) {
  GANTRY_TRY(const std::vector<std::uint8_t> header, npy_header(item.dtype, item.shape));
  uLong crc = crc32_z(0, header.data(), header.size());
  // An empty span may have a null pointer, for which zlib returns the initial checksum.
  if (!item.data.empty()) crc = crc32_z(crc, item.data.data(), item.data.size());
  Member member{concat(item.name, npz_suffix), header.size() + item.data.size(),
                static_cast<std::uint32_t>(crc), out.offset()};
  out.write_header(member);
  out.write(header.data(), header.size());
  out.write(item.data.data(), item.data.size());
  return member;
}

}  // namespace

Status write_npz(OutputFile& file, std::span<const NpzItem> items) {
  GANTRY_CHECK(check_items(items));
  GANTRY_CHECK(file.start());
  NpzStream out(file.stream());
  std::vector<Member> members;
  for (const NpzItem& item : items) {
    Result<Member> member = write_item(item, out);
    if (!member.ok()) {
      return std::move(member).failure().at("while writing ", quoted(file.path().native()));
    }
    members.push_back(std::move(*member));
  }
  const std::uint64_t directory_at = out.offset();
  for (const Member& member : members) out.write_entry(member);
  out.write_end(members.size(), directory_at);
  if (out.error() != 0) return cannot_write(file.path(), out.error());
  return {};
}

Status write_npy(OutputFile& file, const NpzItem& item) {
  GANTRY_CHECK(check_items(std::span(&item, 1)));
  GANTRY_TRY(const std::vector<std::uint8_t> header, npy_header(item.dtype, item.shape));
  GANTRY_CHECK(file.start());
  NpzStream out(file.stream());
  out.write(header.data(), header.size());
  out.write(item.data.data(), item.data.size());
  if (out.error() != 0) return cannot_write(file.path(), out.error());
  return {};
}

}  // namespace gantry
