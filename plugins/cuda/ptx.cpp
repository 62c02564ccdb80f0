// SPDX-License-Identifier: Apache-2.0
#include "code_formats.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace gantry::cuda {
namespace {

// Reads the two directives at the beginning of every PTX text.
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
          .with_reason("BLOB_FORMAT");
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
        .with_reason("BLOB_FORMAT");
  }

  // Other names leave the target unknown; the driver then accepts or rejects the code.
  void read_target(ImagePart& part) {
    for (const std::string_view prefix : {"sm_", "compute_"}) {
      if (!text_.substr(at_).starts_with(prefix)) continue;
      at_ += prefix.size();
      part.target = architecture_of(number());
      if (at_ < text_.size() && (text_[at_] == 'a' || text_[at_] == 'f')) part.variant = text_[at_];
      return;
    }
  }

  // Returns 0 if there is no number, and at most 99999.
  std::uint32_t number() {
    std::uint32_t value = 0;
    const char* const first = text_.data() + at_;
    const auto [last, error] = std::from_chars(first, text_.data() + text_.size(), value);
    at_ += static_cast<std::size_t>(last - first);
    return error == std::errc::result_out_of_range ? 99999 : std::min(value, 99999u);
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

  // Returns the word at an offset, for messages.
  std::string_view word(std::size_t from) const {
    std::size_t end = from;
    while (end < text_.size() && end - from < 40 && !is_space(text_[end])) ++end;
    return text_.substr(from, end - from);
  }

  std::string_view text_;
  std::uint64_t start_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Image> read_ptx(ByteReader in) {
  const std::uint64_t start = in.offset();
  const auto bytes = in.rest();
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t last = text.find_last_not_of('\0');
  text = text.substr(0, last + 1);
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return malformed(start + nul, "PTX contains a NUL at ", nul, " of ", text.size(),
                     " bytes, expected text")
        .with_reason("BLOB_FORMAT");
  }
  Image image;
  image.kind = Image::Kind::ptx;
  image.code = bytes.first(text.size());
  GANTRY_TRY(const ImagePart part, PtxHeader(text, start).read());
  image.parts.push_back(part);
  return image;
}

}  // namespace gantry::cuda
