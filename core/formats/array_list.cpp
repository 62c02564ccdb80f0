// SPDX-License-Identifier: Apache-2.0
#include "core/formats/array_list.hpp"

#include "core/formats/type_key.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gantry {
namespace {

constexpr ArrayListForm graph_arrays{true, true, false};
constexpr ArrayListForm aot_arrays{false, true, false};
constexpr ArrayListForm constant_arrays{false, false, true};

template <class... Parts>
Failure refuse_list(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

Status read_names(ByteReader& in, const ArrayListForm& form, std::vector<NamedArray>& arrays) {
  std::uint64_t count = 0;
  const std::uint64_t count_at = in.offset();
  if (form.has_count_first) {
    GANTRY_TRY(count, in.read_u64("array count"));
  }
  const std::uint64_t names_at = in.offset();
  GANTRY_TRY(const std::uint64_t names, in.read_count(sizeof(std::uint64_t), "names"));
  if (form.has_count_first && names != count) {
    return refuse_list(names_at, "names are ", names, ", the array count at ", Hex{count_at},
                       " is ", count);
  }
  arrays.resize(names);
  for (NamedArray& each : arrays) {
    GANTRY_TRY(each.name, in.read_string("name"));
  }
  if (form.has_count_first) return {};
  const std::uint64_t arrays_at = in.offset();
  GANTRY_TRY(count, in.read_u64("array count"));
  if (names == count) return {};
  return refuse_list(arrays_at, "array count is ", count, ", the names at ", Hex{names_at}, " are ",
                     names);
}

Status check_users(ByteReader& in) {
  GANTRY_TRY(const std::uint64_t symbols, in.read_count(sizeof(std::uint64_t), "symbols"));
  for (std::uint64_t i = 0; i < symbols; ++i) GANTRY_CHECK(in.read_string("symbol"));
  GANTRY_TRY(const std::uint64_t lists, in.read_count(sizeof(std::uint64_t), "wanted names"));
  for (std::uint64_t i = 0; i < lists; ++i) {
    GANTRY_TRY(const std::uint64_t names, in.read_count(sizeof(std::uint64_t), "wanted names"));
    for (std::uint64_t name = 0; name < names; ++name) {
      const std::uint64_t at = in.offset();
      GANTRY_TRY(const std::string_view wanted, in.read_string("wanted name"));
      if (is_filler(wanted)) {
        return refuse_list(at, "symbol ", i, " uses constant ", quoted(wanted), ", but names with ",
                           quoted(filler_prefix), " are those of fillers");
      }
    }
  }
  return {};
}

}  // namespace

const ArrayListForm* array_list_form(std::string_view type_key) {
  switch (content_of(type_key)) {
    case PayloadContent::graph:
      return &graph_arrays;
    case PayloadContent::ahead_of_time:
      return &aot_arrays;
    case PayloadContent::constants:
      return &constant_arrays;
    default:
      return nullptr;
  }
}

Result<ArrayList> read_array_list(ByteReader& in, const ArrayListForm& form) {
  ArrayList list;
  if (form.has_graph) {
    GANTRY_TRY(list.graph_json, in.read_string("graph_json"));
  }
  GANTRY_CHECK(read_names(in, form, list.arrays));
  for (std::size_t i = 0; i < list.arrays.size(); ++i) {
    NamedArray& each = list.arrays[i];
    auto array = read_array_record(in, "array");
    if (!array.ok()) return std::move(array).error().at("in array ", i, " ", quoted(each.name));
    each.array = std::move(*array);
  }
  if (!form.has_users) {
    GANTRY_TRY(list.module_name, in.read_string("module_name"));
    return list;
  }
  ByteReader users = in;
  GANTRY_CHECK(check_users(in));
  GANTRY_TRY(list.users, users.read_bytes(in.offset() - users.offset(), "users"));
  return list;
}

}  // namespace gantry
