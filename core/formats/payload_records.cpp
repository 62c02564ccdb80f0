// SPDX-License-Identifier: Apache-2.0
#include "core/formats/payload_records.hpp"

#include "core/formats/dtype_codes.hpp"
#include "core/formats/limits.hpp"

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/kernel_table.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry {
namespace {

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

}  // namespace

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

}  // namespace gantry
