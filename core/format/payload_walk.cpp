// SPDX-License-Identifier: Apache-2.0
#include "core/format/payload_walk.hpp"

#include "core/format/data_format.hpp"
#include "core/format/limits.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <limits>

namespace gantry {
namespace {

using Kind = PayloadField::Kind;

constexpr std::uint64_t array_magic = 0xDD5E40F096B4A13F;

class Walk {
 public:
  Walk(ByteReader& in, bool extra_tags, DetailSink* sink)
      : in_(in), extra_tags_(extra_tags), sink_(sink) {}

  Status fields(std::span<const PayloadField> all, Detail* out) {
    const std::size_t outside = counts_.size();
    for (const PayloadField& field : all) {
      Detail* shown = nullptr;
      if (out != nullptr && !field.label.empty()) {
        shown = add(*out);
        if (shown != nullptr) shown->name = field.label;
      }
      GANTRY_CHECK(one(field, shown));
      if (shown != nullptr && field.kind == Kind::bytes && !data_format_.empty()) {
        say_data_format(field, *out);
      }
    }
    counts_.resize(outside);
    return {};
  }

 private:
  struct Count {
    std::string_view label;
    std::uint64_t value;
  };

  Detail* add(Detail& to) { return sink_->add(to); }

  static const char* name_of_field(const PayloadField& field, const char* otherwise) {
    return field.label.empty() ? otherwise : field.label.c_str();
  }

  template <class T>
  Status number(const PayloadField& field, Result<T> value, Detail* out) {
    if (!value.ok()) return std::move(value).error();
    if (out != nullptr) {
      out->kind = Detail::Kind::number;
      out->value = concat(*value);
    }
    if constexpr (std::is_unsigned_v<T>) {
      if (!field.label.empty()) counts_.push_back({field.label, *value});
    }
    return {};
  }

  // Beside the field, not inside it: a count of bytes is a leaf to whoever shows it.
  void say_data_format(const PayloadField& field, Detail& out) {
    Detail* const shown = add(out);
    if (shown != nullptr) shown->name = concat(field.label, "_format");
    say(shown, data_format_);
  }

  Status one(const PayloadField& field, Detail* out) {
    const auto named = [&](const char* otherwise) { return name_of_field(field, otherwise); };
    switch (field.kind) {
      case Kind::u8:
        return number(field, in_.read_u8(named("u8")), out);
      case Kind::u16:
        return number(field, in_.read_u16(named("u16")), out);
      case Kind::u32:
        return number(field, in_.read_u32(named("u32")), out);
      case Kind::u64:
        return number(field, in_.read_u64(named("u64")), out);
      case Kind::i32:
        return number(field, in_.read_i32(named("i32")), out);
      case Kind::i64:
        return number(field, in_.read_i64(named("i64")), out);
      case Kind::dtype: {
        GANTRY_TRY(const std::string text, dtype(named("dtype")));
        say(out, text);
        return {};
      }
      case Kind::dev: {
        GANTRY_TRY(const std::int32_t type, in_.read_i32(named("device type")));
        GANTRY_TRY(const std::int32_t id, in_.read_i32(named("device id")));
        say(out, concat(type, ":", id));
        return {};
      }
      case Kind::str: {
        GANTRY_TRY(const auto text, in_.read_string(named("str")));
        say(out, text);
        return {};
      }
      case Kind::bytes: {
        GANTRY_TRY(const auto data, in_.read_string(named("bytes")));
        say_size(out, data.size());
        if (out != nullptr) data_format_ = data_format_of(data);
        return {};
      }
      case Kind::format:
        return format(named("format"), out);
      case Kind::literal:
        return literal(field, out);
      case Kind::ndarray:
        return array(named("array"), out);
      case Kind::funcinfo:
        return signature(out);
      case Kind::vec:
        return list(field, out);
      case Kind::map:
        return map(field, out);
      case Kind::group:
        return fields(field.children, out);
      case Kind::repeat:
        return repeat(field, out);
      case Kind::sized: {
        GANTRY_TRY(const std::uint64_t size, in_.read_u64(named("size")));
        return within(field, size, out);
      }
      case Kind::rest:
        say_size(out, in_.left());
        return in_.skip(in_.left(), "rest");
    }
    return bug("payload field of kind ", static_cast<int>(field.kind));
  }

  Status within(const PayloadField& field, std::uint64_t size, Detail* out) {
    GANTRY_TRY(ByteReader inside, in_.sub_reader(size, name_of_field(field, "sized")));
    std::swap(in_, inside);
    Status walked = one(field.children[0], out);
    std::swap(in_, inside);
    if (walked.ok() && !inside.at_end()) {
      return malformed(inside.offset(), name_of_field(field, "sized"), " has ", size, " bytes, ",
                       inside.left(), " of them behind its content");
    }
    return walked;
  }

  Status format(const char* name, Detail* out) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const auto text, in_.read_string(name));
    if (!is_format(text)) {
      return malformed(at, name, " is ", quoted(text), ", expected 1 to ", max_format_bytes,
                       " printable characters");
    }
    say(out, text);
    return {};
  }

  Status literal(const PayloadField& field, Detail* out) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const auto text, in_.read_string(name_of_field(field, "text")));
    if (text != field.text) {
      return malformed(at, name_of_field(field, "text"), " is ", quoted(text), ", expected ",
                       quoted(field.text));
    }
    say(out, text);
    return {};
  }

  Result<std::string> dtype(const char* name) {
    GANTRY_TRY(std::uint8_t code, in_.read_u8(name));
    GANTRY_TRY(const std::uint8_t bits, in_.read_u8(name));
    GANTRY_TRY(const std::uint16_t lanes, in_.read_u16(name));
    if (sink_ == nullptr) return std::string();
    if (sink_->private_float_codes && code >= 6 && code <= 8) {
      constexpr TypeCode meant[] = {TypeCode::float8_e4m3fn, TypeCode::float8_e5m2,
                                    TypeCode::float4_e2m1fn};
      code = static_cast<std::uint8_t>(meant[code - 6]);
    }
    return dtype_text({code, bits, lanes});
  }

  // Only what delimits it; whether shape and size agree is for who loads it.
  Status array(const char* name, Detail* out) {
    const std::uint64_t at = in_.offset();
    GANTRY_TRY(const std::uint64_t magic, in_.read_u64(name));
    if (magic != array_magic) {
      return malformed(at, name, " begins with ", Hex{magic}, ", expected ", Hex{array_magic});
    }
    // reserved, device
    GANTRY_CHECK(in_.skip(8 + 8, name));
    const std::uint64_t ndim_at = in_.offset();
    GANTRY_TRY(const std::uint32_t ndim, in_.read_u32(name));
    if (ndim > limits::array_dimensions) {
      return malformed(ndim_at, name, " has ", ndim, " dimensions, maximum is ",
                       limits::array_dimensions);
    }
    GANTRY_TRY(const std::string type, dtype(name));
    Detail shape{Detail::Kind::list, "shape", {}, {}};
    for (std::uint32_t i = 0; i < ndim; ++i) {
      GANTRY_TRY(const std::int64_t extent, in_.read_i64(name));
      if (out == nullptr) continue;
      if (Detail* each = add(shape)) *each = {Detail::Kind::number, {}, concat(extent), {}};
    }
    GANTRY_TRY(const std::uint64_t size, in_.read_u64(name));
    GANTRY_CHECK(in_.skip(size, name));
    if (out != nullptr) {
      out->kind = Detail::Kind::record;
      out->children.push_back({Detail::Kind::text, "dtype", type, {}});
      out->children.push_back(std::move(shape));
      out->children.push_back({Detail::Kind::size, "size", concat(size), {}});
    }
    return {};
  }

  // str name; vec<dtype> arguments; vec<str> launch tags; since v0.21 vec<i32> argument tags.
  Status signature(Detail* out) {
    GANTRY_CHECK(in_.read_string("kernel name"));
    GANTRY_TRY(const std::uint64_t arguments, in_.read_count(4, "kernel argument types"));
    Detail types{Detail::Kind::list, "args", {}, {}};
    if (out == nullptr) {
      GANTRY_CHECK(in_.skip(arguments * 4, "kernel argument types"));
    }
    for (std::uint64_t i = 0; out != nullptr && i < arguments; ++i) {
      GANTRY_TRY(const std::string type, dtype("kernel argument type"));
      say(add(types), type);
    }
    Detail tags{Detail::Kind::list, "launch", {}, {}};
    GANTRY_TRY(const std::uint64_t launch, in_.read_count(8, "launch tags"));
    for (std::uint64_t i = 0; i < launch; ++i) {
      GANTRY_TRY(const auto tag, in_.read_string("launch tag"));
      if (out != nullptr) say(add(tags), tag);
    }
    if (extra_tags_) {
      const std::uint64_t at = in_.offset();
      GANTRY_TRY(const std::uint64_t extra, in_.read_count(4, "argument tags"));
      if (extra != 0 && extra != arguments) {
        return malformed(at, "kernel has ", extra, " argument tags, expected none or ", arguments);
      }
      GANTRY_CHECK(in_.skip(extra * 4, "argument tags"));
    }
    if (out != nullptr) {
      out->kind = Detail::Kind::record;
      out->children.push_back(std::move(types));
      out->children.push_back(std::move(tags));
    }
    return {};
  }

  Status list(const PayloadField& field, Detail* out) {
    const PayloadField& item = field.children[0];
    GANTRY_TRY(const std::uint64_t count,
               in_.read_count(min_bytes(item), name_of_field(field, "vec")));
    return items(field, count, out);
  }

  Status repeat(const PayloadField& field, Detail* out) {
    const auto named = std::find_if(counts_.rbegin(), counts_.rend(),
                                    [&](const Count& count) { return count.label == field.text; });
    if (named == counts_.rend()) return bug("payload layout counts by ", field.text);
    const std::uint64_t room = in_.left() / min_bytes(field.children[0]);
    if (named->value > room) {
      return malformed(in_.offset(), name_of_field(field, "array"), ": count ", named->value,
                       ", room for ", room)
          .with_reason("BLOB_TRUNCATED");
    }
    return items(field, named->value, out);
  }

  // Precondition: count * least_bytes(item) <= left.
  Status items(const PayloadField& field, std::uint64_t count, Detail* out) {
    const PayloadField& item = field.children[0];
    if (out != nullptr) out->kind = Detail::Kind::list;
    if (const std::uint64_t size = fixed_bytes(item); size != 0 && out == nullptr) {
      return in_.skip(count * size, name_of_field(field, "array"));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      const std::size_t outside = counts_.size();
      GANTRY_CHECK(one(item, shown));
      counts_.resize(outside);
      if (shown != nullptr) take_name(*shown);
    }
    return {};
  }

  Status map(const PayloadField& field, Detail* out) {
    const PayloadField& key = field.children[0];
    const PayloadField& value = field.children[1];
    GANTRY_TRY(const std::uint64_t count,
               in_.read_count(min_bytes(key) + min_bytes(value), name_of_field(field, "map")));
    if (out != nullptr) out->kind = Detail::Kind::list;
    for (std::uint64_t i = 0; i < count; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      Detail name;
      GANTRY_CHECK(one(key, shown == nullptr ? nullptr : &name));
      const std::size_t outside = counts_.size();
      GANTRY_CHECK(one(value, shown));
      counts_.resize(outside);
      if (shown != nullptr) shown->name = std::move(name.value);
    }
    return {};
  }

  ByteReader& in_;
  bool extra_tags_;
  DetailSink* sink_;
  // of the bytes that were shown last; may be empty
  std::string_view data_format_;
  // unsigned numbers with a label, innermost group last
  std::vector<Count> counts_;
};

}  // namespace

Status walk_payload(ByteReader& in, const PayloadLayout& layout, bool extra_tags,
                    DetailSink* sink) {
  return Walk(in, extra_tags, sink)
      .fields(layout.fields(), sink == nullptr ? nullptr : &sink->root);
}

}  // namespace gantry
