// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_walk.hpp"

#include "core/formats/detail_sink.hpp"
#include "core/formats/dtype_codes.hpp"
#include "core/formats/limits.hpp"

#include <gantry/array_record.hpp>
#include <gantry/blob_facts.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/join.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace gantry {
namespace {

// The input and output of a walk over a payload.
struct PayloadWalk {
  ByteReader& in;
  // of kernel records
  ArgumentTags form = ArgumentTags::no;
  // NULL: no details are added
  DetailSink* sink = nullptr;
};

// Each of the next functions moves `walk.in` over one item.
//
// name     name of the item, for errors
// out      [out]  content of the item; may be NULL
// returns  malformed at the first invalid field; the offset of walk.in is unspecified then

// Adds a list that is shown, unless it is empty.
Status walk_kernel_list(PayloadWalk& walk, const KernelList& list, std::uint64_t arguments,
                        Detail* out) {
  const std::uint64_t at = walk.in.offset();
  GANTRY_TRY(const std::uint64_t count, walk.in.read_count(4, list.name));
  const std::uint64_t expected = list.count_for(arguments);
  if (count != 0 && count != expected) {
    return malformed(at, "kernel has ", count, " ", list.name, ", expected none or ", expected);
  }
  if (out == nullptr || *list.label == '\0' || count == 0)
    return walk.in.skip(count * 4, list.name);
  Detail* const shown = walk.sink->add_list(*out, list.label);
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::int32_t number, walk.in.read_i32(list.name));
    if (shown != nullptr) walk.sink->add_number(*shown, {}, number);
  }
  return {};
}

// Returns the text of a dtype, "float32x4"; empty if the walk has no sink.
Result<std::string> walk_dtype(PayloadWalk& walk, const char* name) {
  GANTRY_TRY(const std::uint8_t code, walk.in.read_u8(name));
  GANTRY_TRY(const std::uint8_t bits, walk.in.read_u8(name));
  GANTRY_TRY(const std::uint16_t lanes, walk.in.read_u16(name));
  if (walk.sink == nullptr) return std::string();
  return dtype_text(dlpack_dtype({code, bits, lanes}, walk.sink->has_private_float_codes));
}

// Checks only the fields that determine the length. Loading the array checks its shape and size.
Status walk_array(PayloadWalk& walk, const char* name, Detail* out) {
  ByteReader& in = walk.in;
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t magic, in.read_u64(name));
  if (magic != array_record_magic) {
    return malformed(at, name, " begins with ", Hex{magic}, ", expected ", Hex{array_record_magic});
  }
  // reserved word and device
  GANTRY_CHECK(in.skip(8 + 8, name));
  const std::uint64_t ndim_at = in.offset();
  GANTRY_TRY(const std::uint32_t ndim, in.read_u32(name));
  if (ndim > limits::array_dimensions) {
    return malformed(ndim_at, name, " has ", ndim, " dimensions, maximum is ",
                     limits::array_dimensions);
  }
  GANTRY_TRY(const std::string type, walk_dtype(walk, name));
  Detail shape{Detail::Kind::list, "shape", {}, {}};
  for (std::uint32_t i = 0; i < ndim; ++i) {
    GANTRY_TRY(const std::int64_t extent, in.read_i64(name));
    if (out == nullptr) continue;
    if (Detail* each = walk.sink->add(shape)) {
      *each = {Detail::Kind::number, {}, concat(extent), {}};
    }
  }
  GANTRY_TRY(const std::uint64_t size, in.read_u64(name));
  GANTRY_CHECK(in.skip(size, name));
  if (out != nullptr) {
    out->children.push_back({Detail::Kind::text, "dtype", type, {}});
    out->children.push_back(std::move(shape));
    out->children.push_back({Detail::Kind::size, "size", concat(size), {}});
  }
  return {};
}

// Form: str name; vec<dtype> arguments; vec<str> launch tags; since v0.21 vec<i32> argument tags.
Status walk_kernel(PayloadWalk& walk, Detail* out) {
  ByteReader& in = walk.in;
  GANTRY_CHECK(in.read_string("kernel name"));
  GANTRY_TRY(const std::uint64_t arguments, in.read_count(4, "kernel argument types"));
  Detail types{Detail::Kind::list, "args", {}, {}};
  if (out == nullptr) {
    GANTRY_CHECK(in.skip(arguments * 4, "kernel argument types"));
  }
  for (std::uint64_t i = 0; out != nullptr && i < arguments; ++i) {
    GANTRY_TRY(const std::string type, walk_dtype(walk, "kernel argument type"));
    set_text(walk.sink->add(types), type);
  }
  Detail tags{Detail::Kind::list, "launch", {}, {}};
  GANTRY_TRY(const std::uint64_t launch, in.read_count(8, "launch tags"));
  for (std::uint64_t i = 0; i < launch; ++i) {
    GANTRY_TRY(const auto tag, in.read_string("launch tag"));
    if (out != nullptr) set_text(walk.sink->add(tags), tag);
  }
  if (out != nullptr) {
    out->children.push_back(std::move(types));
    out->children.push_back(std::move(tags));
  }
  for (const KernelList& list : kernel_lists) {
    if (list.is_in(walk.form)) GANTRY_CHECK(walk_kernel_list(walk, list, arguments, out));
  }
  return {};
}

// Returns "ELF", "fatbin", "PTX", "SPIR-V", "LLVM bitcode", "metallib", "ZIP", "archive" or
// "xclbin"; an empty text for other formats, including source code.
std::string_view data_format_of(std::string_view data) {
  struct Magic {
    std::string_view bytes;
    std::string_view name;
  };
  constexpr Magic magics[] = {{"\x7f"
                               "ELF",
                               "ELF"},
                              {"\x50\xed\x55\xba", "fatbin"},
                              {"\x03\x02\x23\x07", "SPIR-V"},
                              {"BC\xc0\xde", "LLVM bitcode"},
                              {"MTLB", "metallib"},
                              {"PK\x03\x04", "ZIP"},
                              {"!<arch>\n", "archive"},
                              {"xclbin2", "xclbin"}};
  for (const Magic& magic : magics) {
    if (data.starts_with(magic.bytes)) return magic.name;
  }
  // PTX is text: comments, followed by these two directives.
  const std::string_view head = data.substr(0, 4096);
  if (head.find(".version") != head.npos && head.find(".target") != head.npos) return "PTX";
  return {};
}

using Kind = PayloadField::Kind;

// A text that fills a fixed number of bytes, without the zero bytes at its end.
std::string_view without_padding(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\0') + 1);
}

bool has_dtype(const PayloadField& field) {
  return field.kind == Kind::dtype || std::ranges::any_of(field.children, has_dtype);
}

class Walk {
 public:
  Walk(ByteReader& in, ArgumentTags form, DetailSink* sink, PayloadParts* parts)
      : in_(in), begin_(in.offset()), walk_{in, form, sink}, parts_(parts) {}

  // Walks over the fields of a layout.
  Status all(std::span<const PayloadField> fields, Detail* out) {
    for (const PayloadField& field : fields) {
      GANTRY_CHECK(labelled(field, out));
      if (parts_ != nullptr) parts_->field_ends.push_back(in_.offset());
    }
    return {};
  }

 private:
  Status group(std::span<const PayloadField> fields, Detail* out) {
    const std::size_t outside = counts_.size();
    for (const PayloadField& field : fields) GANTRY_CHECK(labelled(field, out));
    if (counts_.size() != outside) counts_.resize(outside);
    return {};
  }

  Status labelled(const PayloadField& field, Detail* out) {
    Detail* shown = nullptr;
    if (out != nullptr && !field.label.empty()) {
      shown = add(*out);
      if (shown != nullptr) shown->name = field.label;
    }
    GANTRY_CHECK(one(field, shown));
    if (shown != nullptr && field.kind == Kind::bytes && !data_format_.empty()) {
      add_data_format(field, *out);
    }
    return {};
  }

  // Adds the bytes from `at` to here to the parts.
  void add_part(PayloadPart::Kind kind, std::uint64_t at) {
    if (parts_ != nullptr) parts_->parts.push_back({kind, at, in_.offset() - at, sized_ != 0});
  }

  // The parts before an alignment.
  void fix_sizes() {
    if (parts_ == nullptr) return;
    for (; fixed_parts_ < parts_->parts.size(); ++fixed_parts_) {
      parts_->parts[fixed_parts_].has_fixed_size = true;
    }
  }

  Detail* add(Detail& to) { return walk_.sink->add(to); }

  static const char* name_of_field(const PayloadField& field, const char* otherwise) {
    return field.label.empty() ? otherwise : field.label.c_str();
  }

  // Reads a number. A negative one is extended to 64 bits.
  Result<std::uint64_t> read(const NumberForm& form, const char* name) {
    GANTRY_TRY(const auto bytes, in_.read_bytes(form.bytes, name));
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    if (form.is_big_endian) value = __builtin_bswap64(value) >> (64 - 8 * form.bytes);
    if (!form.is_signed) return value;
    const int unused = 64 - 8 * form.bytes;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
  }

  Status number(const PayloadField& field, const char* name, Detail* out) {
    GANTRY_TRY(const std::uint64_t value, read(field.number, name));
    if (out != nullptr) {
      out->kind = Detail::Kind::number;
      out->value =
          field.number.is_signed ? concat(static_cast<std::int64_t>(value)) : concat(value);
    }
    if (!field.number.is_signed && !field.label.empty()) counts_.push_back(value);
    return {};
  }

  // The number of bytes or items of a field.
  struct Size {
    std::uint64_t value;
    // offset of the number that states it, or of the content
    std::uint64_t at;
  };

  static bool is_count(const PayloadField& field) {
    return field.kind == Kind::vec || field.kind == Kind::map || field.kind == Kind::repeat;
  }

  // "name: count 12 (rows*cols), room for 5"
  static Failure too_large(const PayloadField& field, const Size& size, std::uint64_t room,
                           const char* name) {
    const PayloadLength& length = field.length;
    const bool is_plain =
        length.added == 0 && (length.stored.bytes != 0 || length.factors.size() == 1);
    const std::string source = is_plain ? "" : concat(" (", length.text(), ")");
    const auto text = is_count(field) ? concat(": count ", size.value, source, ", room for ", room)
                                      : concat(": length is ", ByteCount(size.value), source,
                                               ", room for ", ByteCount(room));
    return malformed(size.at, name, text).with_reason("BLOB_TRUNCATED");
  }

  // Reads or computes the number of bytes or items of a field.
  //
  // unit  [in]   minimum size of an item; 0: no number of items is too large
  Result<Size> size_of(const PayloadField& field, std::uint64_t unit, const char* name) {
    const PayloadLength& length = field.length;
    Size size{0, in_.offset()};
    if (length.stored.bytes != 0) {
      GANTRY_TRY(size.value, read(length.stored, name));
    } else {
      GANTRY_TRY(size.value, product(length, name));
    }
    const auto subtracted = static_cast<std::uint64_t>(std::max<std::int64_t>(-length.added, 0));
    if (size.value < subtracted) {
      return malformed(size.at, name, is_count(field) ? ": count is " : ": length is ", size.value,
                       ", minimum is ", subtracted, " (", length.text(), ")");
    }
    size.value -= subtracted;
    const auto added = static_cast<std::uint64_t>(std::max<std::int64_t>(length.added, 0));
    if (__builtin_add_overflow(size.value, added, &size.value)) size.value = ~std::uint64_t{0};
    if (unit != 0 && size.value > in_.left() / unit) {
      return too_large(field, size, in_.left() / unit, name);
    }
    return size;
  }

  // Multiplies the numbers of a product. One that is 0 makes it 0, whatever the others are.
  Result<std::uint64_t> product(const PayloadLength& length, const char* name) {
    std::array<std::uint64_t, limits::layout_factors> numbers;
    std::uint64_t value = 1;
    bool is_zero = false;
    bool overflows = false;
    for (std::size_t i = 0; i < length.factors.size(); ++i) {
      const PayloadLength::Factor& factor = length.factors[i];
      numbers[i] = factor.label.empty() ? factor.number : counts_[factor.place];
      is_zero = is_zero || numbers[i] == 0;
      overflows = __builtin_mul_overflow(value, numbers[i], &value) || overflows;
    }
    if (is_zero) return std::uint64_t{0};
    if (!overflows) return value;
    return malformed(in_.offset(), name, ": ", length.text(), " is ",
                     join(std::span(numbers).first(length.factors.size()), "*"), ", maximum is ",
                     ~std::uint64_t{0})
        .with_reason("BLOB_TRUNCATED");
  }

  Result<std::string_view> text(const PayloadField& field, const char* name) {
    GANTRY_TRY(const Size size, size_of(field, 1, name));
    GANTRY_TRY(const auto bytes, in_.read_bytes(size.value, name));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Status format(const PayloadField& field, const char* name, Detail* out) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const auto found, text(field, name));
    if (!is_format(found)) {
      return malformed(at, name, " is ", quoted(found), ", expected 1 to ", max_format_bytes,
                       " printable characters");
    }
    set_text(out, found);
    return {};
  }

  Status literal(const PayloadField& field, const char* name, Detail* out) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const auto found, text(field, name));
    if (found != field.text) {
      return malformed(at, name, " is ", quoted(found), ", expected ", quoted(field.text));
    }
    set_text(out, found);
    return {};
  }

  Status terminated(const char* name, Detail* out) {
    const std::string_view rest(reinterpret_cast<const char*>(in_.rest().data()), in_.left());
    const std::size_t size = rest.find('\0');
    if (size == rest.npos) {
      return malformed(in_.offset(), name, ": no zero byte in ", ByteCount(rest.size()))
          .with_reason("BLOB_TRUNCATED");
    }
    set_text(out, rest.substr(0, size));
    return in_.skip(size + 1, name);
  }

  Status align(const PayloadField& field, const char* name, Detail* out) {
    const std::uint64_t behind = (in_.offset() - begin_) % field.alignment;
    const std::uint64_t size = behind == 0 ? 0 : field.alignment - behind;
    set_size(out, size);
    fix_sizes();
    return in_.skip(size, name);
  }

  // Adds a sibling of the field and not a child, since tools print a size as a leaf.
  void add_data_format(const PayloadField& field, Detail& out) {
    Detail* const shown = add(out);
    if (shown != nullptr) shown->name = concat(field.label, "_format");
    set_text(shown, data_format_);
  }

  Status one(const PayloadField& field, Detail* out) {
    const auto named = [&](const char* otherwise) { return name_of_field(field, otherwise); };
    const std::uint64_t at = in_.offset();
    switch (field.kind) {
      case Kind::number:
        return number(field, field.label.empty() ? field.number.word() : field.label.c_str(), out);
      case Kind::dtype: {
        GANTRY_TRY(const std::string text, walk_dtype(walk_, named("dtype")));
        set_text(out, text);
        add_part(PayloadPart::Kind::dtype, at);
        return {};
      }
      case Kind::dev: {
        GANTRY_TRY(const std::int32_t type, in_.read_i32(named("device type")));
        GANTRY_TRY(const std::int32_t id, in_.read_i32(named("device id")));
        set_text(out, concat(type, ":", id));
        return {};
      }
      case Kind::str: {
        GANTRY_TRY(const auto found, text(field, named("str")));
        set_text(out, field.length.stored.bytes != 0 ? found : without_padding(found));
        return {};
      }
      case Kind::bytes: {
        GANTRY_TRY(const auto data, text(field, named("bytes")));
        set_size(out, data.size());
        if (out != nullptr) data_format_ = data_format_of(data);
        return {};
      }
      case Kind::cstr:
        return terminated(named("cstr"), out);
      case Kind::format:
        return format(field, named("format"), out);
      case Kind::literal:
        return literal(field, named("text"), out);
      case Kind::ndarray:
        GANTRY_CHECK(walk_array(walk_, named("array"), out));
        add_part(PayloadPart::Kind::array, at);
        return {};
      case Kind::funcinfo:
        GANTRY_CHECK(walk_kernel(walk_, out));
        add_part(PayloadPart::Kind::kernel, at);
        return {};
      case Kind::vec:
        return items(field, named("vec"), out);
      case Kind::map:
        return map(field, out);
      case Kind::group:
        return group(field.children, out);
      case Kind::repeat:
        return items(field, named("array"), out);
      case Kind::sized:
        return within(field, named("sized"), out);
      case Kind::align:
        return align(field, named("align"), out);
      case Kind::rest:
        set_size(out, in_.left());
        return in_.skip(in_.left(), "rest");
    }
    return bug("payload field of kind ", static_cast<int>(field.kind));
  }

  Status within(const PayloadField& field, const char* name, Detail* out) {
    GANTRY_TRY(const Size size, size_of(field, 1, name));
    GANTRY_TRY(ByteReader inside, in_.sub_reader(size.value, name));
    std::swap(in_, inside);
    ++sized_;
    Status walked = one(field.children[0], out);
    --sized_;
    std::swap(in_, inside);
    if (walked.ok() && !inside.at_end()) {
      return malformed(inside.offset(), name, " has ", size.value, " bytes, ", inside.left(),
                       " of them after its content");
    }
    return walked;
  }

  // True if the items of a list that follow one without bytes need no walk. They have none either,
  // since nothing on which their sizes depend has changed, so that a count of them is not limited
  // by the payload.
  bool ends_after(std::uint64_t item_at, const Detail* shown) const {
    return shown == nullptr && in_.offset() == item_at;
  }

  Status items(const PayloadField& field, const char* name, Detail* out) {
    const PayloadField& item = field.children[0];
    GANTRY_TRY(const Size size, size_of(field, item.min_bytes, name));
    if (out != nullptr) out->kind = Detail::Kind::list;
    const bool is_skipped = out == nullptr && (parts_ == nullptr || !has_dtype(item));
    if (item.is_fixed && is_skipped) return in_.skip(size.value * item.min_bytes, name);
    for (std::uint64_t i = 0; i < size.value; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      const std::uint64_t at = in_.offset();
      GANTRY_CHECK(one(item, shown));
      if (shown != nullptr) take_name(*shown);
      if (ends_after(at, shown)) break;
    }
    return {};
  }

  Status map(const PayloadField& field, Detail* out) {
    const PayloadField& key = field.children[0];
    const PayloadField& value = field.children[1];
    const std::uint64_t at = in_.offset();
    // The records of a table are no parts of their own.
    const bool is_table = field.length.is_default() && key.kind == Kind::str &&
                          key.length.is_default() && value.kind == Kind::funcinfo;
    PayloadParts* const parts = is_table ? std::exchange(parts_, nullptr) : parts_;
    GANTRY_TRY(const Size size,
               size_of(field, key.min_bytes + value.min_bytes, name_of_field(field, "map")));
    if (out != nullptr) out->kind = Detail::Kind::list;
    for (std::uint64_t i = 0; i < size.value; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      const std::uint64_t item_at = in_.offset();
      Detail name;
      GANTRY_CHECK(one(key, shown == nullptr ? nullptr : &name));
      GANTRY_CHECK(one(value, shown));
      if (shown != nullptr) shown->name = std::move(name.value);
      if (ends_after(item_at, shown)) break;
    }
    parts_ = parts;
    if (is_table) add_part(PayloadPart::Kind::kernel_table, at);
    return {};
  }

  ByteReader& in_;
  // offset of the payload's first byte
  const std::uint64_t begin_;
  PayloadWalk walk_;
  // may be NULL
  PayloadParts* parts_;
  // those of the parts whose size an alignment fixes
  std::size_t fixed_parts_ = 0;
  // number of `sized` fields around the current one
  int sized_ = 0;
  // format of the last `bytes` field that was added to the sink; may be empty
  std::string_view data_format_;
  // unsigned numbers with a label, innermost group last: PayloadLength::Factor::place
  std::vector<std::uint64_t> counts_;
};

}  // namespace

Status walk_payload(ByteReader& in, const PayloadLayout& layout, ArgumentTags form,
                    DetailSink* sink, PayloadParts* parts) {
  return Walk(in, form, sink, parts).all(layout.fields(), sink == nullptr ? nullptr : &sink->root);
}

Result<PayloadParts> find_parts(std::span<const std::uint8_t> payload, const Measured& measured) {
  PayloadParts parts;
  ByteReader in(payload);
  GANTRY_CHECK(walk_payload(in, *measured.layout, measured.argument_tags, nullptr, &parts));
  return parts;
}

}  // namespace gantry
