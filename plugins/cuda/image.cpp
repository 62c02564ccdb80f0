// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace gantry::cuda {
namespace {

constexpr std::uint32_t elf_magic = 0x464c457f;
constexpr std::uint32_t fatbin_magic = 0xba55ed50;
constexpr std::uint16_t elf_machine_cuda = 190;
constexpr std::uint32_t section_without_bytes = 8;  // SHT_NOBITS

Architecture architecture_of(std::uint32_t number) { return {number / 10, number % 10}; }

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The two directives that every PTX text begins with.
class PtxHeader {
 public:
  PtxHeader(std::string_view text, std::uint64_t start) : text_(text), start_(start) {}

  Result<ImagePart> read() {
    ImagePart part;
    part.is_ptx = true;
    GANTRY_CHECK(directive(".version"));
    const std::size_t version_at = at_;
    const std::uint32_t major = number();
    const bool has_point = at_ < text_.size() && text_[at_] == '.';
    if (has_point) ++at_;
    const std::size_t minor_at = at_;
    const std::uint32_t minor = number();
    if (!has_point || at_ == minor_at) {
      return malformed(start_ + version_at, "PTX version is ", quoted(word(version_at)),
                       ", expected two numbers and a point")
          .because("BLOB_FORMAT");
    }
    part.language = {major, minor};
    GANTRY_CHECK(directive(".target"));
    read_target(part);
    return part;
  }

 private:
  Status directive(std::string_view name) {
    skip_blanks();
    if (text_.substr(at_).starts_with(name) && at_ + name.size() < text_.size() &&
        is_space(text_[at_ + name.size()])) {
      at_ += name.size();
      skip_blanks();
      return {};
    }
    return malformed(start_ + at_, "PTX has ", quoted(word(at_)), ", expected ", name)
        .because("BLOB_FORMAT");
  }

  // Names without a number that is understood leave the target unknown: then the driver decides.
  void read_target(ImagePart& part) {
    for (const std::string_view prefix : {"sm_", "compute_"}) {
      if (!text_.substr(at_).starts_with(prefix)) continue;
      at_ += prefix.size();
      part.target = architecture_of(number());
      if (at_ < text_.size() && (text_[at_] == 'a' || text_[at_] == 'f')) part.variant = text_[at_];
      return;
    }
  }

  std::uint32_t number() {
    std::uint32_t value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value =
          std::min<std::uint32_t>(value * 10 + static_cast<std::uint32_t>(text_[at_] - '0'), 99999);
    }
    return value;
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      std::size_t end = 0;
      if (is_space(rest.front())) {
        end = 1;
      } else if (rest.starts_with("//")) {
        end = rest.find('\n');
      } else if (rest.starts_with("/*")) {
        end = rest.find("*/", 2);
        if (end != std::string_view::npos) end += 2;
      } else {
        return;
      }
      at_ = end == std::string_view::npos ? text_.size() : at_ + end;
    }
  }

  // What stands there, for messages.
  std::string_view word(std::size_t from) const {
    std::size_t end = from;
    while (end < text_.size() && end - from < 40 && !is_space(text_[end])) ++end;
    return text_.substr(from, end - from);
  }

  std::string_view text_;
  std::uint64_t start_;
  std::size_t at_ = 0;
};

Result<Image> read_ptx(ByteReader in) {
  const std::uint64_t start = in.offset();
  const auto bytes = in.rest();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t last = text.find_last_not_of('\0');
  text = text.substr(0, last + 1);
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return malformed(start + nul, "PTX holds a NUL at ", nul, " of ", text.size(),
                     " bytes, expected text")
        .because("BLOB_FORMAT");
  }
  Image image;
  image.kind = Image::Kind::ptx;
  image.code = bytes.first(text.size());
  GANTRY_TRY(const ImagePart part, PtxHeader(text, start).read());
  image.parts.push_back(part);
  return image;
}

// Fields of an ELF header and of a section, by their names in elf.h.
struct ElfTable {
  std::uint64_t offset = 0;
  std::uint64_t entry_size = 0;
  std::uint64_t count = 0;
};

Status check_within(std::uint64_t at, std::uint64_t offset, std::uint64_t size, std::uint64_t whole,
                    std::string_view what, std::uint64_t index) {
  if (offset <= whole && size <= whole - offset) return {};
  return malformed(at, "cubin ", what, ' ', index, " has ", size, " bytes at ", Hex{offset},
                   ", the cubin has ", whole)
      .because("BLOB_TRUNCATED");
}

// A reader at entry i of a table that lies in the image.
Result<ByteReader> table_entry(std::span<const std::uint8_t> bytes, std::uint64_t start,
                               const ElfTable& table, std::uint64_t i) {
  const std::uint64_t at = table.offset + i * table.entry_size;
  return ByteReader(bytes.subspan(at, table.entry_size), start + at);
}

Status check_table(std::uint64_t start, const ElfTable& table, std::uint64_t least,
                   std::uint64_t whole, std::string_view what) {
  if (table.count == 0) return {};
  if (table.entry_size < least) {
    return malformed(start, "cubin ", what, "s have ", table.entry_size, " bytes each, fewest is ",
                     least)
        .because("BLOB_FORMAT");
  }
  if (table.offset > whole || table.count > (whole - table.offset) / table.entry_size) {
    return malformed(start, "cubin has ", table.count, ' ', what, "s at ", Hex{table.offset},
                     ", room for ",
                     table.offset > whole ? 0 : (whole - table.offset) / table.entry_size)
        .because("BLOB_TRUNCATED");
  }
  return {};
}

Result<Architecture> check_elf(ByteReader in) {
  const std::uint64_t start = in.offset();
  const auto bytes = in.rest();
  GANTRY_TRY(const auto ident, in.read_bytes(16, "cubin's ELF identification"));
  if (ident[4] != 2 || ident[5] != 1) {
    return malformed(start + 4, "cubin has ELF class ", static_cast<unsigned>(ident[4]),
                     " and data ", static_cast<unsigned>(ident[5]), ", expected 2 and 1")
        .because("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(2, "cubin's ELF type"));
  const std::uint64_t machine_at = in.offset();
  GANTRY_TRY(const std::uint16_t machine, in.read_u16("cubin's ELF machine"));
  if (machine != elf_machine_cuda) {
    return malformed(machine_at, "ELF image is for machine ", machine, ", CUDA's is ",
                     elf_machine_cuda)
        .because("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(4 + 8, "cubin's ELF version and entry"));
  ElfTable segments;
  ElfTable sections;
  GANTRY_TRY(segments.offset, in.read_u64("cubin's segment table"));
  GANTRY_TRY(sections.offset, in.read_u64("cubin's section table"));
  GANTRY_TRY(const std::uint32_t flags, in.read_u32("cubin's ELF flags"));
  GANTRY_CHECK(in.skip(2, "cubin's ELF header size"));
  GANTRY_TRY(segments.entry_size, in.read_u16("cubin's segment size"));
  GANTRY_TRY(segments.count, in.read_u16("cubin's segment count"));
  GANTRY_TRY(sections.entry_size, in.read_u16("cubin's section size"));
  GANTRY_TRY(sections.count, in.read_u16("cubin's section count"));
  GANTRY_CHECK(check_table(start, segments, 56, bytes.size(), "segment"));
  GANTRY_CHECK(check_table(start, sections, 64, bytes.size(), "section"));
  for (std::uint64_t i = 0; i < segments.count; ++i) {
    GANTRY_TRY(ByteReader entry, table_entry(bytes, start, segments, i));
    const std::uint64_t at = entry.offset();
    GANTRY_CHECK(entry.skip(8, "segment type"));
    GANTRY_TRY(const std::uint64_t offset, entry.read_u64("segment offset"));
    GANTRY_CHECK(entry.skip(16, "segment addresses"));
    GANTRY_TRY(const std::uint64_t size, entry.read_u64("segment size"));
    GANTRY_CHECK(check_within(at, offset, size, bytes.size(), "segment", i));
  }
  for (std::uint64_t i = 0; i < sections.count; ++i) {
    GANTRY_TRY(ByteReader entry, table_entry(bytes, start, sections, i));
    const std::uint64_t at = entry.offset();
    GANTRY_CHECK(entry.skip(4, "section name"));
    GANTRY_TRY(const std::uint32_t type, entry.read_u32("section type"));
    GANTRY_CHECK(entry.skip(16, "section flags and address"));
    GANTRY_TRY(const std::uint64_t offset, entry.read_u64("section offset"));
    GANTRY_TRY(const std::uint64_t size, entry.read_u64("section size"));
    if (type == section_without_bytes || type == 0) continue;
    GANTRY_CHECK(check_within(at, offset, size, bytes.size(), "section", i));
  }
  // Up to version 7 of CUDA's ELF the architecture is the lowest byte of the flags, from 8 on (CUDA 13) the second.
  const std::uint32_t number = (ident[8] >= 8 ? flags >> 8 : flags) & 0xffu;
  return architecture_of(number);
}

Result<Image> read_cubin(ByteReader in) {
  Image image;
  image.kind = Image::Kind::cubin;
  image.code = in.rest();
  ImagePart part;
  GANTRY_TRY(part.target, check_elf(in));
  image.parts.push_back(part);
  return image;
}

Result<Image> read_fatbin(ByteReader in) {
  const auto bytes = in.rest();
  const std::uint64_t start = in.offset();
  GANTRY_CHECK(in.skip(4, "fatbin magic"));
  GANTRY_TRY(const std::uint16_t version, in.read_u16("fatbin version"));
  GANTRY_TRY(const std::uint16_t header_size, in.read_u16("fatbin header size"));
  const std::uint64_t size_at = in.offset();
  GANTRY_TRY(const std::uint64_t entries_size, in.read_u64("fatbin size"));
  if (version != 1 || header_size < 16) {
    return malformed(start + 4, "fatbin has version ", version, " and a header of ", header_size,
                     " bytes, expected 1 and at least 16")
        .because("BLOB_FORMAT");
  }
  GANTRY_CHECK(in.skip(header_size - 16u, "fatbin header"));
  if (entries_size > in.left()) {
    return malformed(size_at, "fatbin: ", entries_size, " bytes of entries, room for ", in.left())
        .because("BLOB_TRUNCATED");
  }
  Image image;
  image.kind = Image::Kind::fatbin;
  image.code = bytes.first(header_size + entries_size);
  GANTRY_TRY(ByteReader entries, in.sub_reader(entries_size, "fatbin entries"));
  while (!entries.at_end()) {
    const std::uint64_t at = entries.offset();
    GANTRY_TRY(const std::uint16_t kind, entries.read_u16("fatbin entry kind"));
    GANTRY_CHECK(entries.skip(2, "fatbin entry version"));
    GANTRY_TRY(const std::uint32_t entry_header, entries.read_u32("fatbin entry header size"));
    GANTRY_TRY(const std::uint64_t size, entries.read_u64("fatbin entry size"));
    GANTRY_CHECK(entries.skip(8, "fatbin entry's compressed size"));
    ImagePart part;
    GANTRY_TRY(part.language.minor, entries.read_u16("fatbin entry's minor version"));
    GANTRY_TRY(part.language.major, entries.read_u16("fatbin entry's major version"));
    GANTRY_TRY(const std::uint32_t number, entries.read_u32("fatbin entry's architecture"));
    if (entry_header < 32 || entry_header - 32 > entries.left() ||
        size > entries.left() - (entry_header - 32)) {
      return malformed(at, "fatbin entry has ", entry_header, " and ", size, " bytes, ",
                       entries.left() + 32, " are left")
          .because("BLOB_TRUNCATED");
    }
    GANTRY_CHECK(entries.skip(entry_header - 32 + size, "fatbin entry"));
    if (kind != 1 && kind != 2) continue;  // for linkers, not for loading
    part.is_ptx = kind == 1;
    part.target = architecture_of(number);
    if (!part.is_ptx) part.language = {};
    image.parts.push_back(part);
  }
  return image;
}

std::int32_t verdict_of(const ImagePart& part, Architecture device) {
  const Architecture target = part.target;
  if (target == Architecture{}) return GANTRY_VERDICT_RECOMPILE;
  const bool is_same = target == device;
  const bool is_of_major = target.major == device.major && target.minor <= device.minor;
  if (part.is_ptx) {
    const bool is_later = target.major < device.major || is_of_major;
    const bool runs = part.variant == 'a' ? is_same : part.variant == 'f' ? is_of_major : is_later;
    return runs ? GANTRY_VERDICT_RECOMPILE : GANTRY_VERDICT_NO;
  }
  if (is_same) return GANTRY_VERDICT_OPTIMAL;
  return is_of_major ? GANTRY_VERDICT_USABLE : GANTRY_VERDICT_NO;
}

std::string part_text(const ImagePart& part) {
  const std::string target = part.target == Architecture{}
                                 ? "an architecture it does not name"
                                 : architecture_text(part.target, part.variant);
  if (!part.is_ptx) return concat("cubin for ", target);
  return concat("PTX ", part.language.major, '.', part.language.minor, " for ", target);
}

}  // namespace

std::string architecture_text(Architecture architecture, char variant) {
  std::string text = concat("sm_", architecture.major, architecture.minor);
  if (variant != 0) text.push_back(variant);
  return text;
}

std::string Image::text() const {
  std::string text;
  constexpr std::size_t most = 12;
  for (std::size_t i = 0; i < parts.size() && i < most; ++i) {
    text.append(i == 0 ? "" : ", ").append(part_text(parts[i]));
  }
  if (parts.size() > most) text.append(concat(" and ", parts.size() - most, " more"));
  if (kind != Kind::fatbin) return text;
  return parts.empty() ? "fatbin without code" : concat("fatbin with ", text);
}

std::int32_t Image::verdict(Architecture device) const {
  std::int32_t best = GANTRY_VERDICT_NO;
  for (const ImagePart& part : parts) best = std::max(best, verdict_of(part, device));
  return best;
}

bool Image::has_later_ptx(Architecture latest) const {
  if (latest == Architecture{}) return false;
  return std::any_of(parts.begin(), parts.end(), [&](const ImagePart& part) {
    return part.is_ptx &&
           (part.language.major > latest.major ||
            (part.language.major == latest.major && part.language.minor > latest.minor));
  });
}

Result<Image> read_image(ByteReader in) {
  const auto head = in.peek(4);
  std::uint32_t magic = 0;
  if (head.size() == 4) std::memcpy(&magic, head.data(), sizeof magic);
  if (magic == elf_magic) return read_cubin(in);
  if (magic == fatbin_magic) return read_fatbin(in);
  if (!head.empty()) {
    const char first = static_cast<char>(head[0]);
    if (first == '/' || first == '.' || is_space(first)) return read_ptx(in);
  }
  const std::string_view shown(reinterpret_cast<const char*>(head.data()), head.size());
  return malformed(in.offset(), "code of ", in.left(), " bytes begins with ", quoted(shown),
                   ", expected PTX text, a cubin (\"\\x7fELF\") or a fatbin (\"P\\xedU\\xba\")")
      .because("BLOB_FORMAT");
}

}  // namespace gantry::cuda
