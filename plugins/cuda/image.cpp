// SPDX-License-Identifier: Apache-2.0
#include "image.hpp"

#include "code_formats.hpp"

#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstring>

namespace gantry::cuda {
namespace {

constexpr std::uint32_t elf_magic = 0x464c457f;
constexpr std::uint32_t fatbin_magic = 0xba55ed50;

// Returns 0 for fewer than four bytes.
std::uint32_t magic_of(const ByteReader& in) {
  const auto head = in.peek(4);
  std::uint32_t magic = 0;
  if (head.size() == 4) std::memcpy(&magic, head.data(), sizeof magic);
  return magic;
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
  const std::string text = join(parts, ", ", part_text, 12);
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

bool has_binary_magic(const ByteReader& in) {
  const std::uint32_t magic = magic_of(in);
  return magic == elf_magic || magic == fatbin_magic;
}

Result<Image> read_image(ByteReader in) {
  const auto head = in.peek(4);
  const std::uint32_t magic = magic_of(in);
  if (magic == elf_magic) return read_cubin(in);
  if (magic == fatbin_magic) return read_fatbin(in);
  if (!head.empty()) {
    const char first = static_cast<char>(head[0]);
    if (first == '/' || first == '.' || is_space(first)) return read_ptx(in);
  }
  const std::string_view shown(reinterpret_cast<const char*>(head.data()), head.size());
  return malformed(in.offset(), "code of ", in.left(), " bytes begins with ", quoted(shown),
                   ", expected PTX text, a cubin (\"\\x7fELF\") or a fatbin (\"P\\xedU\\xba\")")
      .with_reason("BLOB_FORMAT");
}

}  // namespace gantry::cuda
