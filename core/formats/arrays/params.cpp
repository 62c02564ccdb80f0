// SPDX-License-Identifier: Apache-2.0
#include "core/formats/arrays/params.hpp"

#include <gantry/quoted.hpp>

#include <set>

namespace gantry {
namespace {

template <class... Parts>
Failure refuse_params(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("PARAMS");
}

// names    [in]   views of `bytes`, each behind its length
Status check_unique(std::span<const std::uint8_t> bytes, std::span<const std::string_view> names) {
  std::set<std::string_view> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (known.insert(names[i]).second) continue;
    const auto* const first = reinterpret_cast<const std::uint8_t*>(names[i].data());
    const auto at = static_cast<std::uint64_t>(first - bytes.data()) - sizeof(std::uint64_t);
    return refuse_params(at, "params name ", i, " ", quoted(names[i]), " occurs twice");
  }
  return {};
}

}  // namespace

Result<std::vector<Param>> read_params(std::span<const std::uint8_t> bytes) {
  ByteReader in(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));
  GANTRY_CHECK(check_unique(bytes, names));
  std::vector<Param> params;
  params.reserve(names.size());
  for (const std::string_view name : names) {
    GANTRY_TRY(ArrayRecord array, read_array_record(in, concat("parameter ", quoted(name))));
    params.push_back({name, std::move(array)});
  }
  if (!in.at_end())
    return refuse_params(in.offset(), in.left(), " bytes follow the last parameter");
  return params;
}

}  // namespace gantry
