// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/params.hpp"

#include <gantry/quoted.hpp>

#include <dmlc/io.h>
#include <dmlc/memory_io.h>

#include <set>

namespace gantry {
namespace {

// Size of an empty name in the file.
constexpr std::uint64_t min_name_bytes = 8;

template <class... Parts>
Failure refuse_params(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("PARAMS");
}

Result<std::vector<std::string_view>> read_names(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t count, in.read_count(min_name_bytes, "params names"));
  std::vector<std::string_view> names;
  std::set<std::string_view> known;
  names.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = in.offset();
    GANTRY_TRY(const std::string_view name, in.read_string(concat("params name ", i).c_str()));
    if (!known.insert(name).second) {
      return refuse_params(at, "params name ", i, " ", quoted(name), " occurs twice");
    }
    names.push_back(name);
  }
  return names;
}

Status check(const Param& param) {
  const ArrayRecord& array = param.array;
  if (array.dtype.lanes != 1) {
    return invalid("parameter ", quoted(param.name), ": type is ", dtype_text(array.dtype),
                   ", several lanes cannot be stored");
  }
  if (array.shape.size() > max_array_dimensions) {
    return invalid("parameter ", quoted(param.name), ": rank is ", array.shape.size(),
                   ", maximum is ", max_array_dimensions);
  }
  const Result<std::uint64_t> size = tensor_bytes(array.shape, array.dtype);
  if (!size.ok()) return invalid("parameter ", quoted(param.name), ": ", size.error().message);
  if (*size != array.data.size()) {
    return invalid("parameter ", quoted(param.name), ": data are ", array.data.size(),
                   " bytes, dtype and shape require ", *size);
  }
  return {};
}

void write_record(dmlc::Stream& out, const ArrayRecord& array) {
  out.Write<std::uint64_t>(array_record_magic);
  out.Write<std::uint64_t>(0);
  // Device type and id: always the CPU.
  out.Write<std::int32_t>(1);
  out.Write<std::int32_t>(0);
  out.Write<std::int32_t>(static_cast<std::int32_t>(array.shape.size()));
  out.Write<std::uint8_t>(array.dtype.code);
  out.Write<std::uint8_t>(array.dtype.bits);
  out.Write<std::uint16_t>(array.dtype.lanes);
  for (const std::int64_t extent : array.shape) out.Write<std::int64_t>(extent);
  out.Write<std::int64_t>(static_cast<std::int64_t>(array.data.size()));
  if (!array.data.empty()) out.Write(array.data.data(), array.data.size());
}

}  // namespace

Result<std::vector<Param>> read_params(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  GANTRY_TRY(const std::uint64_t magic, in.read_u64("params magic"));
  if (magic != params_magic) {
    return refuse_params(0, "params magic is ", Hex{magic}, ", expected ", Hex{params_magic});
  }
  GANTRY_CHECK(in.read_u64("params reserved word"));
  GANTRY_TRY(const std::vector<std::string_view> names, read_names(in));
  const std::uint64_t count_at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_u64("params array count"));
  if (count != names.size()) {
    return refuse_params(count_at, "params have ", count, " arrays, name count is ", names.size());
  }
  std::vector<Param> params;
  params.reserve(count);
  for (const std::string_view name : names) {
    GANTRY_TRY(ArrayRecord array, read_array_record(in, concat("parameter ", quoted(name))));
    params.push_back({name, std::move(array)});
  }
  if (!in.at_end())
    return refuse_params(in.offset(), in.left(), " bytes follow the last parameter");
  return params;
}

Result<std::string> params_bytes(std::span<const Param> params) {
  std::set<std::string_view> known;
  for (const Param& param : params) {
    GANTRY_CHECK(check(param));
    if (!known.insert(param.name).second) {
      return invalid("parameter ", quoted(param.name), " occurs twice");
    }
  }
  std::string bytes;
  dmlc::MemoryStringStream stream(&bytes);
  dmlc::Stream& out = stream;
  out.Write<std::uint64_t>(params_magic);
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(params.size());
  for (const Param& param : params) out.Write(std::string(param.name));
  out.Write<std::uint64_t>(params.size());
  for (const Param& param : params) write_record(out, param.array);
  return bytes;
}

}  // namespace gantry
