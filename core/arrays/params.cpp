// SPDX-License-Identifier: Apache-2.0
#include "core/arrays/params.hpp"

#include <gantry/quoted.hpp>

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

}  // namespace gantry
