// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/npy.hpp"

#include "core/base/text.hpp"
#include "core/formats/arrays/npy_dtype.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace gantry {
namespace {

constexpr std::uint64_t data_alignment = 64;
// The maximum of version 1.0. Headers of plain types have up to 200 bytes.
constexpr std::uint32_t max_header = max_npy_front - 12;

template <class... Parts>
Failure refuse_npy(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("NPY_HEADER");
}

// Parses the header: the subset of Python literals that NumPy writes.
class HeaderText {
 public:
  HeaderText(std::string_view text, std::uint64_t text_at) : text_(text), text_at_(text_at) {}

  std::uint64_t offset() const { return text_at_ + at_; }

  // Skips spaces and returns the next character without skipping it; NUL at the end.
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Skips `wanted`, which is not NUL, if it is the next character.
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  Status expect(char wanted, std::string_view where) {
    if (take(wanted)) return {};
    return refuse_npy(offset(), "npy header: ", found(), " ", where, ", expected '", wanted, "'");
  }
  // Reads a quoted text without escapes, which keys and plain types do not contain.
  Result<std::string_view> text(std::string_view what) {
    const char quote = peek();
    const std::uint64_t start = offset();
    if (quote != '\'' && quote != '"') {
      return refuse_npy(start, "npy header: ", found(), " where ", what, " belongs");
    }
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return refuse_npy(start, "npy header: ", what, " has no closing quote");
    }
    const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inner;
  }
  // Reads True or False.
  Result<bool> truth(std::string_view what) {
    peek();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    return refuse_npy(offset(), "npy header: ", found(), " where ", what,
                      " belongs, True or False");
  }
  Result<std::int64_t> extent() {
    peek();
    std::int64_t value = 0;
    const char* const first = text_.data() + at_;
    const auto [end, wrong] = std::from_chars(first, text_.data() + text_.size(), value);
    if (wrong == std::errc::invalid_argument || value < 0) {
      return refuse_npy(offset(), "npy header: ", found(), " where an extent of the shape belongs");
    }
    if (wrong != std::errc()) {
      return refuse_npy(offset(), "npy header: an extent of the shape is above ", INT64_MAX);
    }
    at_ += static_cast<std::size_t>(end - first);
    return value;
  }

 private:
  std::string found() {
    return peek() == '\0' && at_ == text_.size() ? "end" : quoted(text_.substr(at_), 12);
  }

  std::string_view text_;
  std::uint64_t text_at_;
  std::size_t at_ = 0;
};

Result<std::vector<std::int64_t>> read_shape(HeaderText& in) {
  const std::uint64_t start = in.offset();
  std::vector<std::int64_t> shape;
  GANTRY_CHECK(in.expect('(', "where the shape begins"));
  while (!in.take(')')) {
    if (shape.size() == max_array_dimensions) {
      return refuse_npy(start, "npy header: shape has more than ", max_array_dimensions,
                        " extents");
    }
    GANTRY_TRY(const std::int64_t extent, in.extent());
    shape.push_back(extent);
    if (in.take(',')) continue;
    // In Python, "(3)" is a number and "(3,)" is a shape.
    if (shape.size() == 1) GANTRY_CHECK(in.expect(',', "behind the only extent"));
    GANTRY_CHECK(in.expect(')', "where the shape ends"));
    break;
  }
  return shape;
}

struct Header {
  std::optional<gantry_dtype> dtype;
  std::optional<bool> fortran_order;
  std::vector<std::int64_t> shape;
  // the shape of a single number is empty
  bool has_shape = false;
};

Result<gantry_dtype> read_descr(HeaderText& in) {
  const std::uint64_t start = in.offset();
  if (in.peek() == '[' || in.peek() == '(') {
    return unsupported("npy type is a record, only plain numbers are read").with_reason("NPY_TYPE");
  }
  GANTRY_TRY(const std::string_view descr, in.text("the type"));
  Result<gantry_dtype> dtype = dtype_of_descr(descr);
  if (!dtype.ok() && dtype.error().code == Code::malformed) dtype.error().offset = start;
  return dtype;
}

Status read_field(HeaderText& in, Header& header) {
  const std::uint64_t key_at = in.offset();
  GANTRY_TRY(const std::string_view key, in.text("a key"));
  GANTRY_CHECK(in.expect(':', "behind a key"));
  in.peek();
  const bool again = (key == "descr" && header.dtype) || (key == "shape" && header.has_shape) ||
                     (key == "fortran_order" && header.fortran_order);
  if (again) return refuse_npy(key_at, "npy header: key ", quoted(key), " occurs twice");
  if (key == "descr") {
    GANTRY_TRY(header.dtype, read_descr(in));
  } else if (key == "fortran_order") {
    GANTRY_TRY(header.fortran_order, in.truth("the order"));
  } else if (key == "shape") {
    GANTRY_TRY(header.shape, read_shape(in));
    header.has_shape = true;
  } else {
    return refuse_npy(key_at, "npy header: key is ", quoted(key),
                      ", keys are descr, fortran_order, shape");
  }
  return {};
}

Result<Header> read_header(std::string_view text, std::uint64_t text_at) {
  if (!text.ends_with('\n')) {
    return refuse_npy(text_at + text.size(), "npy header does not end with a newline");
  }
  HeaderText in(text.substr(0, text.size() - 1), text_at);
  Header header;
  GANTRY_CHECK(in.expect('{', "where the header begins"));
  while (!in.take('}')) {
    GANTRY_CHECK(read_field(in, header));
    if (in.take(',')) continue;
    GANTRY_CHECK(in.expect('}', "behind a value"));
    break;
  }
  if (in.peek() != '\0' || in.offset() != text_at + text.size() - 1) {
    return refuse_npy(in.offset(), "npy header goes on behind '}'");
  }
  for (const auto& [there, key] : {std::pair(header.dtype.has_value(), "descr"),
                                   std::pair(header.fortran_order.has_value(), "fortran_order"),
                                   std::pair(header.has_shape, "shape")}) {
    if (!there) return refuse_npy(text_at, "npy header has no key \"", key, "\"");
  }
  return header;
}

}  // namespace

Result<ArrayHeader> read_npy_header(std::span<const std::uint8_t> front) {
  ByteReader in(front);
  GANTRY_TRY(const auto magic, in.read_bytes(npy_magic.size(), "npy magic"));
  if (!std::ranges::equal(magic, npy_magic, {}, {}, [](char c) { return std::uint8_t(c); })) {
    return refuse_npy(0, "npy magic is wrong, expected 0x93 \"NUMPY\"");
  }
  const std::uint64_t version_at = in.offset();
  GANTRY_TRY(const std::uint8_t major, in.read_u8("npy major version"));
  GANTRY_TRY(const std::uint8_t minor, in.read_u8("npy minor version"));
  if (major < 1 || major > 3 || minor != 0) {
    Error error = unsupported("npy version is ", major, ".", minor, ", known are 1.0, 2.0 and 3.0");
    error.offset = version_at;
    return error;
  }
  const std::uint64_t length_at = in.offset();
  std::uint32_t length = 0;
  if (major == 1) {
    GANTRY_TRY(length, in.read_u16("npy header length"));
  } else {
    GANTRY_TRY(length, in.read_u32("npy header length"));
  }
  if (length > max_header) {
    return refuse_npy(length_at, "npy header length is ", length, ", maximum is ", max_header);
  }
  const std::uint64_t text_at = in.offset();
  GANTRY_TRY(const auto text, in.read_bytes(length, "npy header"));
  GANTRY_TRY(Header header, read_header(as_text(text), text_at));
  if (*header.fortran_order) {
    return unsupported("npy array is in Fortran order, convert it with np.ascontiguousarray()")
        .with_reason("NPY_ORDER");
  }

  const Result<std::uint64_t> size = tensor_bytes(header.shape, *header.dtype);
  if (!size.ok()) return refuse_npy(text_at, "npy shape: ", size.error().message);
  return ArrayHeader{*header.dtype, std::move(header.shape), in.offset(), *size};
}

Result<ArrayRecord> read_npy(std::span<const std::uint8_t> bytes) {
  GANTRY_TRY(ArrayHeader header, read_npy_header(bytes));
  ByteReader in(bytes.subspan(header.data_at), header.data_at);
  ArrayRecord array{header.dtype, std::move(header.shape), {}, header.data_at};
  GANTRY_TRY(array.data, in.read_bytes(header.data_bytes, "npy data"));
  if (!in.at_end()) return refuse_npy(in.offset(), in.left(), " bytes follow the npy data");
  return array;
}

Result<std::vector<std::uint8_t>> npy_header(gantry_dtype dtype,
                                             std::span<const std::int64_t> shape) {
  if (shape.size() > max_array_dimensions) {
    return invalid("npy shape has ", shape.size(), " extents, maximum is ", max_array_dimensions);
  }
  GANTRY_TRY(const std::string_view descr, descr_of_dtype(dtype));
  std::string text = concat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                            join(shape), shape.size() == 1 ? ",), }" : "), }");
  // version and length
  const std::uint64_t before = npy_magic.size() + 4;
  const std::uint64_t rest = (before + text.size() + 1) % data_alignment;
  text.append(rest == 0 ? 0 : data_alignment - rest, ' ').push_back('\n');

  std::string bytes(npy_magic);
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, text.size() & 0xff, text.size() >> 8}) {
    bytes.push_back(static_cast<char>(byte));
  }
  bytes.append(text);
  return std::vector<std::uint8_t>(bytes.begin(), bytes.end());
}

Result<std::vector<std::uint8_t>> npy_bytes(gantry_dtype dtype, std::span<const std::int64_t> shape,
                                            std::span<const std::uint8_t> data) {
  GANTRY_TRY(std::vector<std::uint8_t> bytes, npy_header(dtype, shape));
  const Result<std::uint64_t> size = tensor_bytes(shape, dtype);
  if (!size.ok()) return invalid("npy shape: ", size.error().message);
  if (*size != data.size()) {
    return invalid("npy data are ", ByteCount(data.size()), ", dtype and shape require ",
                   ByteCount(*size));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

}  // namespace gantry
