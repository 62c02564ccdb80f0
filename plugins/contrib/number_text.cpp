// SPDX-License-Identifier: Apache-2.0
//
// source   numpy numpy/_core/arrayprint.py
#include "number_text.hpp"

#include "arguments.hpp"

#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/half.hpp>
#include <gantry/kind_text.hpp>
#include <gantry/stack_room.hpp>
#include <gantry/tensor_text.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace gantry::contrib {
namespace {

// NumPy's default print options.
constexpr int precision = 8;
constexpr std::int64_t threshold = 1000, edge = 3;
constexpr std::size_t line_width = 75;
// that an array of NumPy has
constexpr std::int32_t max_rank = 64;
// of a text of arrays
constexpr std::size_t max_text = std::size_t{256} << 10;

// A decimal number: digits d0.d1d2... times ten to the power of `exponent`.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

// text     [in]   of std::scientific: "1.25e-07"
Decimal decimal_of(std::string_view text) {
  Decimal decimal;
  const std::size_t e = text.find('e');
  decimal.digits = text[0];
  if (e > 1) decimal.digits += text.substr(2, e - 2);
  decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return decimal;
}

// Returns a number with so many digits after the point, rounded from its exact value. The locale has no
// effect.
std::string digits_text(double number, std::chars_format format, int digits) {
  // The largest double has 309 digits before the point.
  char text[512];
  const auto end = std::to_chars(text, text + sizeof text, number, format, digits);
  return std::string(text, end.ptr);
}

Decimal rounded(double number, int digits) {
  return decimal_of(digits_text(number, std::chars_format::scientific, digits));
}

template <class T>
Decimal shortest(T number) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  return decimal_of({text, static_cast<std::size_t>(end.ptr - text)});
}

// Returns the shortest digits from which a number of 16 bits is read again.
template <class ToBits>
Decimal shortest_of(double number, const ToBits& to_bits) {
  for (int digits = 0; digits < 8; ++digits) {
    const std::string text = digits_text(number, std::chars_format::scientific, digits);
    double read = 0;
    std::from_chars(text.data(), text.data() + text.size(), read);
    if (to_bits(read) == to_bits(number)) return decimal_of(text);
  }
  return rounded(number, 8);
}

std::uint16_t bfloat_bits(double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

enum class FloatKind { half, bfloat, single, whole };

struct FloatElement {
  double value = 0;
  FloatKind kind = FloatKind::whole;

  // of the absolute value, which is finite
  Decimal digits() const {
    const double magnitude = std::fabs(value);
    switch (kind) {
      case FloatKind::half:
        return shortest_of(magnitude, half_of);
      case FloatKind::bfloat:
        return shortest_of(magnitude, bfloat_bits);
      case FloatKind::single:
        return shortest(static_cast<float>(magnitude));
      default:
        return shortest(magnitude);
    }
  }
  const char* sign() const { return std::signbit(value) ? "-" : ""; }
};

// A number before and after its point, and its exponent.
struct Parts {
  std::string integer, fraction, exponent;
};

void drop_zeros(std::string& digits) { digits.erase(digits.find_last_not_of('0') + 1); }

// Returns a number without an exponent, with at most `most` digits after the point.
Parts positional(const FloatElement& element, int most = precision) {
  const Decimal decimal = element.digits();
  Parts parts{element.sign(), {}, {}};
  const auto count = static_cast<int>(decimal.digits.size());
  if (count - 1 - decimal.exponent > most) {
    const std::string all = digits_text(std::fabs(element.value), std::chars_format::fixed, most);
    const std::size_t point = all.find('.');
    parts.integer += all.substr(0, point);
    parts.fraction = point == std::string::npos ? "" : all.substr(point + 1);
  } else if (decimal.exponent < 0) {
    parts.integer += '0';
    parts.fraction =
        std::string(static_cast<std::size_t>(-1 - decimal.exponent), '0') + decimal.digits;
  } else {
    std::string digits = decimal.digits;
    const auto integers = static_cast<std::size_t>(decimal.exponent) + 1;
    if (digits.size() < integers) digits.append(integers - digits.size(), '0');
    parts.integer += digits.substr(0, integers);
    parts.fraction = digits.substr(integers);
  }
  drop_zeros(parts.fraction);
  return parts;
}

std::string exponent_text(int exponent) {
  char text[16];
  std::snprintf(text, sizeof text, "%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
  return text;
}

Parts scientific(const FloatElement& element, int most = precision) {
  Decimal decimal = element.digits();
  if (static_cast<int>(decimal.digits.size()) - 1 > most)
    decimal = rounded(std::fabs(element.value), most);
  Parts parts{element.sign() + decimal.digits.substr(0, 1), decimal.digits.substr(1),
              exponent_text(decimal.exponent)};
  drop_zeros(parts.fraction);
  return parts;
}

// A text of one element, on its own: str() of a NumPy scalar, repr() of a float.
std::string scalar_text(const FloatElement& element) {
  if (std::isnan(element.value)) return "nan";
  if (std::isinf(element.value)) return std::string(element.sign()) + "inf";
  const Decimal decimal = element.digits();
  const bool is_zero = element.value == 0;
  if (!is_zero && (decimal.exponent < -4 || decimal.exponent >= 16)) {
    const Parts parts = scientific(element, 64);
    return parts.integer + (parts.fraction.empty() ? "" : "." + parts.fraction) + "e" +
           parts.exponent;
  }
  const Parts parts = positional(element, 64);
  return parts.integer + "." + (parts.fraction.empty() ? "0" : parts.fraction);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// The elements of a tensor as texts of one width.
class Elements {
 public:
  // returns  INVALID  there are no texts for this type
  static Result<Elements> of(const gantry_tensor& tensor) {
    Elements elements;
    elements.data_ = data_of<const char>(tensor);
    elements.type_ = tensor.dtype;
    const auto code = static_cast<TypeCode>(tensor.dtype.code);
    const int bits = tensor.dtype.bits;
    const bool is_integer = code == TypeCode::int_ || code == TypeCode::uint;
    const bool is_whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
    elements.is_bool_ = code == TypeCode::bool_ || (code == TypeCode::uint && bits == 1);
    elements.is_float_ = code == TypeCode::float_ || code == TypeCode::bfloat;
    const bool is_known = elements.is_bool_ || (is_integer && is_whole) ||
                          (code == TypeCode::float_ && bits >= 16 && bits <= 64) ||
                          (code == TypeCode::bfloat && bits == 16);
    if (is_known && tensor.dtype.lanes == 1 && tensor.ndim <= max_rank) return elements;
    return invalid("a text of ", dtype_text(tensor.dtype), " with ", tensor.ndim,
                   " dimensions is not supported")
        .with_reason("ARGUMENT");
  }

  // Sets the width of texts.
  //
  // shown    [in]   numbers of the elements that are printed
  void measure(const std::vector<std::int64_t>& shown) {
    if (is_float_) {
      measure_floats(shown);
    } else if (is_bool_) {
      width_ = 5;
    } else {
      for (const std::int64_t i : shown) width_ = std::max(width_, plain(i).size());
    }
  }

  // of one width
  std::string text(std::int64_t i) const {
    if (!is_float_) return padded(plain(i), width_);
    const FloatElement element = float_at(i);
    if (!std::isfinite(element.value)) return padded(scalar_text(element), before_ + after_ + 1);
    if (!has_exponents_) {
      const Parts parts = positional(element);
      std::string text = padded(parts.integer, before_) + "." + parts.fraction;
      return text +
             std::string(before_ + 1 + after_ - std::min(text.size(), before_ + 1 + after_), ' ');
    }
    Parts parts = scientific(element);
    if (parts.fraction.size() < digits_) {
      // More digits than identify the number are those of its exact value.
      const Decimal exact = rounded(std::fabs(element.value), static_cast<int>(digits_));
      parts = {element.sign() + exact.digits.substr(0, 1), exact.digits.substr(1),
               exponent_text(exact.exponent)};
    }
    std::string exponent = parts.exponent.substr(1);
    if (exponent.size() < exponent_digits_)
      exponent.insert(0, exponent_digits_ - exponent.size(), '0');
    return padded(parts.integer, before_) + "." + parts.fraction + "e" + parts.exponent[0] +
           exponent;
  }
  // of the only element
  std::string alone() const { return is_float_ ? scalar_text(float_at(0)) : plain(0); }

 private:
  template <class T>
  T at(std::int64_t i) const {
    T element;
    std::memcpy(&element, data_ + i * static_cast<std::int64_t>(sizeof(T)), sizeof element);
    return element;
  }
  FloatElement float_at(std::int64_t i) const {
    if (static_cast<TypeCode>(type_.code) == TypeCode::bfloat) {
      const std::uint32_t bits = std::uint32_t{at<std::uint16_t>(i)} << 16;
      return {std::bit_cast<float>(bits), FloatKind::bfloat};
    }
    if (type_.bits == 16) return {float_of_half(at<std::uint16_t>(i)), FloatKind::half};
    if (type_.bits == 32) return {at<float>(i), FloatKind::single};
    return {at<double>(i), FloatKind::whole};
  }
  std::string plain(std::int64_t i) const {
    if (is_bool_) return at<std::uint8_t>(i) != 0 ? "True" : "False";
    const bool is_signed = static_cast<TypeCode>(type_.code) == TypeCode::int_;
    switch (type_.bits) {
      case 8:
        return is_signed ? std::to_string(at<std::int8_t>(i)) : std::to_string(at<std::uint8_t>(i));
      case 16:
        return is_signed ? std::to_string(at<std::int16_t>(i))
                         : std::to_string(at<std::uint16_t>(i));
      case 32:
        return is_signed ? std::to_string(at<std::int32_t>(i))
                         : std::to_string(at<std::uint32_t>(i));
      default:
        return is_signed ? std::to_string(at<std::int64_t>(i))
                         : std::to_string(at<std::uint64_t>(i));
    }
  }

  void measure_floats(const std::vector<std::int64_t>& shown) {
    double largest = 0, smallest = INFINITY;
    bool has_others = false, has_negative_infinity = false;
    for (const std::int64_t i : shown) {
      const double value = float_at(i).value;
      if (!std::isfinite(value)) {
        has_others = true;
        has_negative_infinity |= value < 0;
      } else if (value != 0) {
        largest = std::max(largest, std::fabs(value));
        smallest = std::min(smallest, std::fabs(value));
      }
    }
    // NumPy compares in the type of the elements.
    const bool is_double = type_.bits == 64;
    const double limit = is_double          ? 0.0001
                         : type_.bits == 32 ? double{0.0001F}
                                            : float_of_half(half_of(0.0001));
    const double ratio = is_double ? largest / smallest
                         : type_.bits == 32
                             ? double{static_cast<float>(largest) / static_cast<float>(smallest)}
                             : float_of_half(half_of(largest / smallest));
    has_exponents_ = largest != 0 && (largest >= 1e8 || smallest < limit || ratio > 1000);
    for (const std::int64_t i : shown) {
      const FloatElement element = float_at(i);
      if (!std::isfinite(element.value)) continue;
      const Parts parts = has_exponents_ ? scientific(element) : positional(element);
      before_ = std::max(before_, parts.integer.size());
      digits_ = std::max(digits_, parts.fraction.size());
      if (has_exponents_) exponent_digits_ = std::max(exponent_digits_, parts.exponent.size() - 1);
    }
    after_ = has_exponents_ ? exponent_digits_ + 2 + digits_ : digits_;
    if (!has_others) return;
    const std::size_t infinity = has_negative_infinity ? 4 : 3;
    before_ = std::max(before_, infinity - std::min(infinity, after_ + 1));
  }

  const char* data_ = nullptr;
  gantry_dtype type_{};
  bool is_bool_ = false, is_float_ = false, has_exponents_ = false;
  std::size_t width_ = 0;
  // characters of floats: before the point, after it with the exponent, digits after it, of exponents
  std::size_t before_ = 0, after_ = 0, digits_ = 0, exponent_digits_ = 0;
};

class TensorText {
 public:
  TensorText(const gantry_tensor& tensor, Elements elements)
      : shape_(shape_of(tensor)), elements_(std::move(elements)) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape_) count *= extent;
    is_summary_ = count > threshold;
    std::int64_t step = 1;
    for (std::size_t axis = shape_.size(); axis-- > 0; step *= shape_[axis])
      steps_.insert(steps_.begin(), step);
    std::vector<std::int64_t> shown;
    list_shown(0, 0, shown);
    elements_.measure(shown);
  }

  std::string text() const { return part(0, 0, " ", line_width); }

 private:
  bool is_cut(std::size_t axis) const { return is_summary_ && 2 * edge < shape_[axis]; }

  void list_shown(std::size_t axis, std::int64_t first, std::vector<std::int64_t>& shown) const {
    if (axis == shape_.size()) {
      shown.push_back(first);
      return;
    }
    const bool cut = is_cut(axis);
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (cut && i == edge) i = shape_[axis] - edge;
      list_shown(axis + 1, first + i * steps_[axis], shown);
    }
  }

  std::string part(std::size_t axis, std::int64_t first, const std::string& indent,
                   std::size_t width) const {
    if (axis == shape_.size()) return elements_.text(first);
    const bool is_last = axis + 1 == shape_.size(), cut = is_cut(axis);
    std::string text, line = is_last ? indent : std::string();
    const auto add_word = [&](const std::string& word) {
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = indent;
      }
      line += word;
    };
    const std::string between(shape_.size() - axis - 1, '\n');
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      const bool ends = i + 1 == shape_[axis];
      if (cut && i == edge) {
        i = shape_[axis] - edge - 1;
        if (is_last) {
          add_word("...");
          line += " ";
        } else {
          text += indent + "..." + between;
        }
        continue;
      }
      const std::string item = part(axis + 1, first + i * steps_[axis], indent + " ", width - 1);
      if (is_last) {
        add_word(item);
        if (!ends) line += " ";
      } else {
        text += indent + item;
        if (!ends) text += between;
      }
    }
    text += line;
    return "[" + text.substr(indent.size()) + "]";
  }

  std::span<const std::int64_t> shape_;
  Elements elements_;
  std::vector<std::int64_t> steps_;
  bool is_summary_ = false;
};

// left     [in/out]  bytes that the items of arrays may have: an array may be an item of another one
//                    twice, and that one of a third
Result<std::string> value_lines_within(const Host& host, const gantry_env* env,
                                       const gantry_value& value, int depth, std::size_t& left) {
  // Items of arrays within each other.
  constexpr int max_depth = 64;
  if (const gantry_tensor* tensor = gantry_value_tensor(&value)) {
    if (tensor->device.type == cpu_device_type && is_compact(*tensor)) return tensor_lines(*tensor);
    GANTRY_TRY(const Value copy, host.tensor_copied(*tensor, {cpu_device_type, 0}, env));
    return tensor_lines(*copy.tensor());
  }
  if (const auto text = value_text(value)) return std::string(*text);
  if (const auto shape = value_shape(value)) {
    std::string text = "(";
    for (std::size_t i = 0; i < shape->size(); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string((*shape)[i]);
    return text + (shape->size() == 1 ? ",)" : ")");
  }
  switch (value.kind) {
    case GANTRY_NONE:
      return std::string("None");
    case GANTRY_INT:
      return std::to_string(value.i);
    case GANTRY_BOOL:
      return std::string(value.i != 0 ? "True" : "False");
    case GANTRY_FLOAT:
      return float_text(value.f);
    case GANTRY_DTYPE:
      return dtype_text(value.dtype);
    case GANTRY_DEVICE:
      return host.device_text(value.device);
    case GANTRY_ARRAY: {
      if (depth == max_depth) {
        return invalid("a text of arrays in more than ", max_depth, " arrays is not supported")
            .with_reason("ARGUMENT");
      }
      GANTRY_TRY(const auto items, host.items(value.object));
      std::string text = "(";
      for (std::size_t i = 0; i < items.size(); ++i) {
        GANTRY_TRY(const std::string item,
                   value_lines_within(host, env, items[i], depth + 1, left));
        const std::size_t bytes = 2 + (items[i].kind == GANTRY_ARRAY ? 0 : item.size());
        if (bytes > left) {
          return invalid("a text of arrays with more than ", max_text, " bytes is not supported")
              .with_reason("ARGUMENT");
        }
        left -= bytes;
        text += (i == 0 ? "" : ", ") + item;
      }
      return text + ")";
    }
    default:
      return invalid("a text of ", kind_text(value.kind), " is not supported")
          .with_reason("ARGUMENT");
  }
}

}  // namespace

std::string float_text(double number) { return scalar_text({number, FloatKind::whole}); }

Result<std::string> tensor_lines(const gantry_tensor& tensor) {
  GANTRY_TRY(Elements elements, Elements::of(tensor));
  if (is_empty(tensor)) return std::string("[]");
  if (tensor.ndim == 0) return elements.alone();
  GANTRY_CHECK(tensor_bytes(shape_of(tensor), tensor.dtype));
  return TensorText(tensor, std::move(elements)).text();
}

Result<std::string> value_lines(const Host& host, const gantry_env* env,
                                const gantry_value& value) {
  std::size_t left = max_text;
  return value_lines_within(host, env, value, 0, left);
}

}  // namespace gantry::contrib
