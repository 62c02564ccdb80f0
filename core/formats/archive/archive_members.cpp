// SPDX-License-Identifier: Apache-2.0
#include "core/formats/archive/archive_members.hpp"

#include "core/base/text.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace gantry {
namespace {

constexpr std::uint64_t ar_magic_bytes = 8;
constexpr std::uint64_t tar_block = tar_header_bytes;
// of a GNU long name or a pax header
constexpr std::uint64_t max_long_name = 64 * 1024;

Failure too_many_members(std::uint64_t at, std::uint64_t max_members) {
  return malformed(at, "archive has more than ", max_members, " members");
}

std::string_view without_tail(std::string_view text, char filler) {
  const std::size_t last = text.find_last_not_of(filler);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

std::string_view up_to(std::string_view text, char end) { return text.substr(0, text.find(end)); }

std::optional<std::uint64_t> number_in(std::string_view text, int base) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return std::nullopt;
  text.remove_prefix(first);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  const bool clean = std::string_view(end, text.data() + text.size())
                         .find_first_not_of(std::string_view(" \0", 2)) == std::string_view::npos;
  return clean ? std::optional(value) : std::nullopt;
}

// The name of an ar member: "a.o/", "/17" (offset into the name table), "#1/20" (the first 20 bytes
// of the content).
Result<std::string> ar_name(std::string_view field, std::string_view long_names,
                            std::span<const std::uint8_t>& content, std::uint64_t at) {
  if (field.starts_with("#1/")) {
    const auto size = number_in(field.substr(3), 10);
    if (!size || *size > content.size()) {
      return malformed(at, "archive member name ", quoted(field),
                       " has an invalid length, the member has ", content.size(), " bytes");
    }
    const auto name = content.first(*size);
    content = content.subspan(*size);
    return std::string(up_to(as_text(name), '\0'));
  }
  if (field.starts_with('/')) {
    const auto offset = number_in(field.substr(1), 10);
    if (!offset || *offset >= long_names.size()) {
      return malformed(at, "archive member name ", quoted(field), " is not in the name table of ",
                       long_names.size(), " bytes");
    }
    std::string_view name = up_to(long_names.substr(*offset), '\n');
    if (name.ends_with('/')) name.remove_suffix(1);
    return std::string(name);
  }
  return std::string(up_to(field, '/'));
}

struct TarHeader {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t mode = 0;
  char type = 0;
  // of an old GNU sparse file: a block that describes more of its holes follows
  bool is_extended = false;
};

// Reads one header block; returns nothing for the block of zeros that ends the archive.
//
// at       [in]   its offset
Result<std::optional<TarHeader>> read_tar_header(std::span<const std::uint8_t> block,
                                                 std::uint64_t at) {
  const std::string_view text = as_text(block);
  if (text.find_first_not_of('\0') == std::string_view::npos) return std::optional<TarHeader>();

  // the checksum field itself is summed as blanks
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < block.size(); ++i) sum += i >= 148 && i < 156 ? 0 : block[i];
  const auto stored = number_in(text.substr(148, 8), 8);
  if (!stored || *stored != sum) {
    return malformed(at, "tar header checksum is ", quoted(text.substr(148, 8)), ", computed is ",
                     sum);
  }
  TarHeader header;
  header.type = text[156];
  header.mode = number_in(text.substr(100, 8), 8).value_or(0);
  header.is_extended = header.type == 'S' && block[482] != 0;
  // GNU: a size too large for octal is stored as a big-endian integer of 95 bits
  if (block[124] == 0x80 && text.substr(125, 3) == std::string_view("\0\0\0", 3)) {
    for (std::size_t i = 128; i < 136; ++i) header.size = header.size << 8 | block[i];
  } else if (const auto size = number_in(text.substr(124, 12), 8)) {
    header.size = *size;
  } else {
    return malformed(at + 124, "tar member size is ", quoted(text.substr(124, 12)),
                     ", expected an octal number or 64 bits");
  }
  const std::string_view prefix = up_to(text.substr(345, 155), '\0');
  const bool ustar = text.substr(257, 6) == std::string_view("ustar\0", 6);
  if (ustar && !prefix.empty()) header.name = concat(prefix, "/");
  header.name += up_to(text.substr(0, 100), '\0');
  return std::optional(std::move(header));
}

// What the headers that precede a member's own header replace in it.
struct Overrides {
  // empty: nothing
  std::string name;
  bool has_size = false;
  std::uint64_t size = 0;
  bool is_sparse = false;
};

// Reads the records of a pax header, "12 path=a/b\n", that concern the next member.
//
// at       [in]   offset of the records
Result<Overrides> read_pax_records(std::string_view records, std::uint64_t at) {
  constexpr std::string_view sparse_name = "GNU.sparse.name=", size_name = "size=";
  Overrides found;
  while (!records.empty()) {
    const std::string_view digits = up_to(records, ' ');
    const auto length = number_in(digits, 10);
    if (!length || *length <= digits.size() + 1 || *length > records.size() ||
        records[*length - 1] != '\n') {
      return malformed(at, "pax record of length ", quoted(digits, 20), " does not end inside the ",
                       records.size(), " bytes left");
    }
    const std::string_view record = records.substr(digits.size() + 1, *length - digits.size() - 2);
    records.remove_prefix(*length);
    if (record.starts_with("path=") && !found.is_sparse) found.name = record.substr(5);
    if (record.starts_with(size_name)) {
      const auto size = number_in(record.substr(size_name.size()), 10);
      if (!size) return malformed(at, "pax record is ", quoted(record), ", expected a number");
      found.has_size = true;
      found.size = *size;
    }
    if (record.starts_with("GNU.sparse.")) found.is_sparse = true;
    // the path of a sparse file is one that GNU tar has invented
    if (record.starts_with(sparse_name)) found.name = record.substr(sparse_name.size());
    at += *length;
  }
  return found;
}

// An archive in memory.
class TarBytes {
 public:
  explicit TarBytes(std::span<const std::uint8_t> bytes) : in_(bytes) {}
  Result<bool> at_end() { return in_.at_end(); }
  std::uint64_t offset() const { return in_.offset(); }
  // Returns the next bytes, at most max_long_name; valid until the next call.
  Result<std::span<const std::uint8_t>> record(std::uint64_t size, const char* what) {
    return in_.read_bytes(size, what);
  }
  // Returns the next bytes, or none of them.
  Result<std::span<const std::uint8_t>> content(std::uint64_t size) {
    return in_.read_bytes(size, "tar member");
  }
  // Passes over bytes that the end of the archive may lack.
  Status padding(std::uint64_t size) { return in_.skip(std::min(size, in_.left()), "tar padding"); }

 private:
  ByteReader in_;
};

// An archive that is read once. Its functions are those of TarBytes.
class TarStream {
 public:
  explicit TarStream(const ReadPiece& read) : read_(read), buffer_(max_long_name) {}
  Result<bool> at_end() {
    GANTRY_CHECK(fill(1));
    return end_ == 0;
  }
  std::uint64_t offset() const { return offset_; }
  Result<std::span<const std::uint8_t>> record(std::uint64_t size, const char* what) {
    GANTRY_CHECK(fill(size));
    if (size > end_ - begin_) {
      return malformed(offset_, what, ": needs ", size, " bytes, ", end_ - begin_, " bytes left");
    }
    const auto bytes = std::span<const std::uint8_t>(buffer_).subspan(begin_, size);
    take(size);
    return bytes;
  }
  Result<std::span<const std::uint8_t>> content(std::uint64_t size) {
    const std::uint64_t at = offset_;
    GANTRY_TRY(const std::uint64_t missing, pass(size));
    if (missing == 0) return std::span<const std::uint8_t>();
    return malformed(at, "tar member: needs ", size, " bytes, ", size - missing, " bytes left");
  }
  Status padding(std::uint64_t size) {
    GANTRY_CHECK(pass(size));
    return {};
  }

 private:
  void take(std::uint64_t size) {
    begin_ += size;
    offset_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  // Reads until the buffer has `size` bytes, or all that are left.
  Status fill(std::uint64_t size) {
    if (end_ - begin_ >= size) return {};
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= begin_;
    begin_ = 0;
    while (end_ < size) {
      GANTRY_TRY(const std::size_t got, read_(std::span(buffer_).subspan(end_)));
      if (got == 0) break;
      end_ += got;
    }
    return {};
  }
  // Returns how many bytes are missing.
  Result<std::uint64_t> pass(std::uint64_t size) {
    while (size != 0) {
      GANTRY_CHECK(fill(1));
      const std::uint64_t passed = std::min<std::uint64_t>(size, end_ - begin_);
      if (passed == 0) break;
      take(passed);
      size -= passed;
    }
    return size;
  }

  const ReadPiece& read_;
  std::vector<std::uint8_t> buffer_;
  // of the bytes in the buffer that are not taken; both 0 if there are none
  std::size_t begin_ = 0, end_ = 0;
  // of the first of them in the archive
  std::uint64_t offset_ = 0;
};

std::string_view special_noun(char type) {
  switch (type) {
    case '0':
    case '\0':
    // contiguous; systems without such files store and read regular ones
    case '7':
      return "";
    case '1':
      return "hard link";
    case '2':
      return "symbolic link";
    case '3':
      return "character device";
    case '4':
      return "block device";
    case '6':
      return "FIFO";
    case 'S':
      return "sparse file";
    default:
      return "member of an unknown type";
  }
}

}  // namespace

bool is_tar(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 262 && as_text(bytes.subspan(257, 5)) == "ustar";
}

Result<std::vector<ArchiveMember>> read_ar_members(std::span<const std::uint8_t> bytes,
                                                   std::uint64_t max_members) {
  ByteReader in(bytes);
  GANTRY_CHECK(in.skip(ar_magic_bytes, "archive magic"));
  std::vector<ArchiveMember> members;
  std::string_view long_names;
  while (!in.at_end()) {
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const auto header, in.read_bytes(60, "archive member header"));
    const std::string_view text = as_text(header);
    const auto size = number_in(text.substr(48, 10), 10);
    if (text.substr(58) != "`\n" || !size) {
      return malformed(at, "archive member ", members.size(), " has an invalid header");
    }
    GANTRY_TRY(auto content, in.read_bytes(*size, "archive member"));
    if (*size % 2 == 1 && !in.at_end()) GANTRY_CHECK(in.skip(1, "archive padding"));

    const std::string_view field = without_tail(text.substr(0, 16), ' ');
    if (field == "//") {
      long_names = as_text(content);
    } else if (field != "/" && field != "/SYM64/") {
      if (members.size() == max_members) return too_many_members(at, max_members);
      GANTRY_TRY(std::string name, ar_name(field, long_names, content, at));
      members.push_back({std::move(name), content.size(), content, "", false, at});
    }
  }
  return members;
}

namespace {

template <class Source>
Status visit_tar(Source in, const VisitMember& visit) {
  Overrides overrides;
  for (;;) {
    GANTRY_TRY(const bool is_end, in.at_end());
    if (is_end) break;
    const std::uint64_t header_at = in.offset();
    GANTRY_TRY(const auto block, in.record(tar_block, "tar header"));
    GANTRY_TRY(const auto header, read_tar_header(block, header_at));
    if (!header) break;
    const std::uint64_t at = in.offset();
    const bool is_name = header->type == 'L' || header->type == 'x';
    if (is_name && header->size > max_long_name) {
      return malformed(at, "tar name record has ", header->size, " bytes, limit is ",
                       max_long_name);
    }
    // The size of the member does not include these blocks.
    for (bool is_extended = header->is_extended; is_extended;) {
      GANTRY_TRY(const auto more, in.record(tar_block, "tar sparse header"));
      is_extended = more[504] != 0;
    }
    // links and devices have no content
    const bool has_content = header->type < '1' || header->type > '6';
    const bool is_member = !is_name && header->type != 'K' && header->type != 'g';
    const std::uint64_t own_size = is_member && overrides.has_size ? overrides.size : header->size;
    const std::uint64_t size = has_content ? own_size : 0;
    const std::uint64_t padding = (tar_block - size % tar_block) % tar_block;
    if (is_name) {
      GANTRY_TRY(const auto record, in.record(size, "tar name record"));
      if (header->type == 'L') {
        overrides.name = up_to(as_text(record), '\0');
      } else {
        GANTRY_TRY(overrides, read_pax_records(as_text(record), at));
      }
      GANTRY_CHECK(in.padding(padding));
      continue;
    }
    GANTRY_TRY(const auto content, in.content(size));
    GANTRY_CHECK(in.padding(padding));

    switch (header->type) {
      // the target of a link, and records about all members
      case 'K':
      case 'g':
        break;
      case '5':
        overrides = {};
        break;
      default: {
        GANTRY_TRY(const bool goes_on,
                   visit({overrides.name.empty() ? header->name : overrides.name, size, content,
                          special_noun(overrides.is_sparse ? 'S' : header->type),
                          (header->mode & 0111) != 0, header_at}));
        if (!goes_on) return {};
        overrides = {};
      }
    }
  }
  return {};
}

}  // namespace

Status visit_tar_members(std::span<const std::uint8_t> bytes, const VisitMember& visit) {
  return visit_tar(TarBytes(bytes), visit);
}

Status visit_tar_stream(const ReadPiece& read, const VisitMember& visit) {
  return visit_tar(TarStream(read), visit);
}

Result<std::vector<ArchiveMember>> read_tar_members(std::span<const std::uint8_t> bytes,
                                                    std::uint64_t max_members) {
  std::vector<ArchiveMember> members;
  GANTRY_CHECK(visit_tar_members(bytes, [&](ArchiveMember member) -> Result<bool> {
    if (members.size() == max_members) return too_many_members(member.at, max_members);
    members.push_back(std::move(member));
    return true;
  }));
  return members;
}

}  // namespace gantry
