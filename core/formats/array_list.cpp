// SPDX-License-Identifier: Apache-2.0
#include "core/formats/array_list.hpp"

#include "core/formats/type_key.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace gantry {
namespace {

constexpr ArrayListForm graph_arrays{.has_graph = true,
                                     .has_count_first = true,
                                     .names = "names",
                                     .name = "name",
                                     .count = "array count",
                                     .counted = "array count",
                                     .array = "array"};
constexpr ArrayListForm aot_arrays{.has_count_first = true,
                                   .names = "parameter names",
                                   .name = "parameter name",
                                   .count = "parameter count",
                                   .counted = "count",
                                   .array = "parameter"};
constexpr ArrayListForm constant_arrays{.has_users = true,
                                        .names = "constant names",
                                        .name = "constant name",
                                        .count = "count",
                                        .counted = "constants",
                                        .array = "constant"};

// Bytes of an empty text or list: its length.
constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);

template <class... Parts>
Failure refuse_list(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

// Reads the number of items of a list, which must be that of an earlier one.
Status read_same_count(ByteReader& in, const char* field, std::string_view what,
                       std::size_t expected, std::string_view earlier) {
  const std::uint64_t at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_u64(field));
  if (count == expected) return {};
  return refuse_list(at, what, " are ", count, ", the ", earlier, " are ", expected);
}

Error in_array(Error error, const ArrayListForm& form, std::size_t i, std::string_view name) {
  if (form.has_users) {
    error.message = Message(form.array, ' ', i, error.message);
    return error;
  }
  error.message = Message(form.array, error.message);
  return error.at("in ", form.has_graph ? concat("array ", i, ' ') : std::string(), quoted(name));
}

Result<ArrayList::Name> read_name(ByteReader& in, const char* field) {
  ArrayList::Name name{{}, in.offset()};
  GANTRY_TRY(name.text, in.read_string(field));
  return name;
}

Status read_users(ByteReader& in, std::vector<ArrayList::User>& users) {
  GANTRY_TRY(const std::uint64_t symbols, in.read_count(length_bytes, "symbols"));
  users.resize(symbols);
  for (ArrayList::User& user : users) {
    GANTRY_TRY(user.symbol, read_name(in, "symbol"));
  }
  GANTRY_CHECK(read_same_count(in, "count", "lists of constants", symbols, "symbols"));
  for (ArrayList::User& user : users) {
    GANTRY_TRY(const std::uint64_t names, in.read_count(length_bytes, "constants of a symbol"));
    user.uses.resize(names);
    for (ArrayList::Name& name : user.uses) {
      GANTRY_TRY(name, read_name(in, "constant of a symbol"));
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

Result<ArrayList> read_array_names(ByteReader& in, const ArrayListForm& form) {
  ArrayList list;
  if (form.has_graph) {
    GANTRY_TRY(list.graph_json, in.read_string("graph_json"));
  }
  std::uint64_t count = 0;
  const std::uint64_t count_at = in.offset();
  if (form.has_count_first) {
    GANTRY_TRY(count, in.read_u64(form.count));
  }
  const std::uint64_t names_at = in.offset();
  GANTRY_TRY(const std::uint64_t names, in.read_count(length_bytes, form.names));
  if (form.has_count_first && names != count) {
    return refuse_list(names_at, form.names, " are ", names, ", the ", form.counted, " at ",
                       Hex{count_at}, " is ", count);
  }
  list.names_at = in.offset();
  list.arrays.resize(names);
  for (NamedArray& each : list.arrays) {
    GANTRY_TRY(each.name, in.read_string(form.name));
  }
  if (!form.has_count_first) {
    GANTRY_CHECK(read_same_count(in, form.count, form.counted, names, form.names));
  }
  return list;
}

Result<ArrayList> read_array_list(ByteReader& in, const ArrayListForm& form) {
  GANTRY_TRY(ArrayList list, read_array_names(in, form));
  for (std::size_t i = 0; i < list.arrays.size(); ++i) {
    NamedArray& each = list.arrays[i];
    auto array = read_array_record(in, "");
    if (!array.ok()) return in_array(std::move(array).error(), form, i, each.name);
    each.array = std::move(*array);
  }
  if (form.has_users) {
    GANTRY_CHECK(read_users(in, list.users));
  } else {
    GANTRY_TRY(list.module_name, in.read_string("module_name"));
  }
  return list;
}

}  // namespace gantry
