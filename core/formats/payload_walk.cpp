// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_walk.hpp"

#include "core/formats/detail_sink.hpp"
#include "core/formats/dtype_codes.hpp"
#include "core/formats/limits.hpp"

#include <gantry/array_record.hpp>
#include <gantry/blob_facts.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>
#include <gantry/result.hpp>

#include <algorithm>
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

Status walk_format(PayloadWalk& walk, const char* name, Detail* out) {
  const std::uint64_t at = walk.in.offset();
  GANTRY_TRY(const auto text, walk.in.read_string(name));
  if (!is_format(text)) {
    return malformed(at, name, " is ", quoted(text), ", expected 1 to ", max_format_bytes,
                     " printable characters");
  }
  set_text(out, text);
  return {};
}

Status walk_text(PayloadWalk& walk, const char* name, std::string_view expected, Detail* out) {
  const std::uint64_t at = walk.in.offset();
  GANTRY_TRY(const auto text, walk.in.read_string(name));
  if (text != expected) {
    return malformed(at, name, " is ", quoted(text), ", expected ", quoted(expected));
  }
  set_text(out, text);
  return {};
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

bool has_dtype(const PayloadField& field) {
  return field.kind == Kind::dtype || std::ranges::any_of(field.children, has_dtype);
}

class Walk {
 public:
  Walk(ByteReader& in, ArgumentTags form, DetailSink* sink, PayloadParts* parts)
      : in_(in), walk_{in, form, sink}, parts_(parts) {}

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

  struct Count {
    std::string_view label;
    std::uint64_t value;
  };

  Detail* add(Detail& to) { return walk_.sink->add(to); }

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
        GANTRY_TRY(const auto text, in_.read_string(named("str")));
        set_text(out, text);
        return {};
      }
      case Kind::bytes: {
        GANTRY_TRY(const auto data, in_.read_string(named("bytes")));
        set_size(out, data.size());
        if (out != nullptr) data_format_ = data_format_of(data);
        return {};
      }
      case Kind::format:
        return walk_format(walk_, named("format"), out);
      case Kind::literal:
        return walk_text(walk_, named("text"), field.text, out);
      case Kind::ndarray:
        GANTRY_CHECK(walk_array(walk_, named("array"), out));
        add_part(PayloadPart::Kind::array, at);
        return {};
      case Kind::funcinfo:
        GANTRY_CHECK(walk_kernel(walk_, out));
        add_part(PayloadPart::Kind::kernel, at);
        return {};
      case Kind::vec:
        return list(field, out);
      case Kind::map:
        return map(field, out);
      case Kind::group:
        return group(field.children, out);
      case Kind::repeat:
        return repeat(field, out);
      case Kind::sized: {
        GANTRY_TRY(const std::uint64_t size, in_.read_u64(named("size")));
        return within(field, size, out);
      }
      case Kind::rest:
        set_size(out, in_.left());
        return in_.skip(in_.left(), "rest");
    }
    return bug("payload field of kind ", static_cast<int>(field.kind));
  }

  Status within(const PayloadField& field, std::uint64_t size, Detail* out) {
    GANTRY_TRY(ByteReader inside, in_.sub_reader(size, name_of_field(field, "sized")));
    std::swap(in_, inside);
    ++sized_;
    Status walked = one(field.children[0], out);
    --sized_;
    std::swap(in_, inside);
    if (walked.ok() && !inside.at_end()) {
      return malformed(inside.offset(), name_of_field(field, "sized"), " has ", size, " bytes, ",
                       inside.left(), " of them after its content");
    }
    return walked;
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

  // Precondition: count * min_bytes(item) <= left.
  Status items(const PayloadField& field, std::uint64_t count, Detail* out) {
    const PayloadField& item = field.children[0];
    if (out != nullptr) out->kind = Detail::Kind::list;
    const bool is_skipped = out == nullptr && (parts_ == nullptr || !has_dtype(item));
    if (const std::uint64_t size = fixed_bytes(item); size != 0 && is_skipped) {
      return in_.skip(count * size, name_of_field(field, "array"));
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      const std::size_t outside = counts_.size();
      GANTRY_CHECK(one(item, shown));
      if (counts_.size() != outside) counts_.resize(outside);
      if (shown != nullptr) take_name(*shown);
    }
    return {};
  }

  Status map(const PayloadField& field, Detail* out) {
    const PayloadField& key = field.children[0];
    const PayloadField& value = field.children[1];
    const std::uint64_t at = in_.offset();
    // The records of a table are no parts of their own.
    const bool is_table = key.kind == Kind::str && value.kind == Kind::funcinfo;
    PayloadParts* const parts = is_table ? std::exchange(parts_, nullptr) : parts_;
    GANTRY_TRY(const std::uint64_t count,
               in_.read_count(min_bytes(key) + min_bytes(value), name_of_field(field, "map")));
    if (out != nullptr) out->kind = Detail::Kind::list;
    for (std::uint64_t i = 0; i < count; ++i) {
      Detail* shown = out == nullptr ? nullptr : add(*out);
      Detail name;
      GANTRY_CHECK(one(key, shown == nullptr ? nullptr : &name));
      const std::size_t outside = counts_.size();
      GANTRY_CHECK(one(value, shown));
      if (counts_.size() != outside) counts_.resize(outside);
      if (shown != nullptr) shown->name = std::move(name.value);
    }
    parts_ = parts;
    if (is_table) add_part(PayloadPart::Kind::kernel_table, at);
    return {};
  }

  ByteReader& in_;
  PayloadWalk walk_;
  // may be NULL
  PayloadParts* parts_;
  // number of `sized` fields around the current one
  int sized_ = 0;
  // format of the last `bytes` field that was added to the sink; may be empty
  std::string_view data_format_;
  // unsigned numbers with a label, innermost group last
  std::vector<Count> counts_;
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
