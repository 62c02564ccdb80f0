// SPDX-License-Identifier: Apache-2.0
//
// Aligns the arrays of payloads with a list of names and a list of arrays in the same order.
#include "core/format/aligned_output.hpp"

#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <vector>

namespace gantry {
namespace {

// Keys, and what differs between them.
struct ListForm {
  std::string_view key;
  // begins with a text, the graph
  bool has_graph;
  // u64 n ; vec<str> names ; n arrays, instead of   vec<str> names ; u64 n ; n arrays
  bool has_count_first;
  // ends with the names that functions use, instead of the name of a module:
  // vec<str> symbols ; vec<vec<str>> wanted
  bool has_users;
};

constexpr ListForm list_forms[] = {
    {"GraphExecutorFactory", true, true, false},
    {"GraphRuntimeFactory", true, true, false},
    {"AotExecutorFactory", false, true, false},
    {"const_loader", false, false, true},
    {"metadata", false, false, true},
};

const ListForm* form_of(std::string_view type_key) {
  const auto* const found = std::ranges::find(list_forms, type_key, &ListForm::key);
  return found != std::end(list_forms) ? found : nullptr;
}

template <class... Parts>
Failure refuse_list(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("BLOB_FORMAT");
}

struct NamedArray {
  std::string_view name;
  // offsets of header and data, and the end of the data
  std::uint64_t begin = 0, data = 0, end = 0;
};

// An array list without its fillers.
struct ArrayList {
  // before the names and their count, and after the arrays
  std::span<const std::uint8_t> before, after;
  std::vector<NamedArray> arrays;
};

Status read_names(ByteReader& in, const ListForm& form, std::vector<NamedArray>& arrays) {
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
  for (std::uint64_t i = 0; i < names; ++i) {
    GANTRY_TRY(arrays[i].name, in.read_string("name"));
  }
  if (form.has_count_first) return {};
  const std::uint64_t arrays_at = in.offset();
  GANTRY_TRY(count, in.read_u64("array count"));
  if (names == count) return {};
  return refuse_list(arrays_at, "array count is ", count, ", the names at ", Hex{names_at}, " are ",
                     names);
}

// A name with the prefix of fillers is not used; its array is omitted.
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

Result<ArrayList> read_list(std::span<const std::uint8_t> payload, const ListForm& form) {
  ByteReader in(payload);
  ArrayList list;
  if (form.has_graph) GANTRY_CHECK(in.read_string("graph_json"));
  list.before = payload.first(in.offset());
  GANTRY_CHECK(read_names(in, form, list.arrays));
  for (std::size_t i = 0; i < list.arrays.size(); ++i) {
    NamedArray& array = list.arrays[i];
    array.begin = in.offset();
    const auto record = read_array_record(in, "array");
    if (!record.ok()) {
      return Error(record.error()).at("in array ", i, " ", quoted(array.name));
    }
    array.data = record->data_at;
    array.end = in.offset();
  }
  list.after = payload.subspan(in.offset());
  if (form.has_users) {
    GANTRY_CHECK(check_users(in));
  } else {
    GANTRY_CHECK(in.read_string("module_name"));
  }
  if (!in.at_end()) {
    return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
        .with_reason("BLOB_TRAILING");
  }
  std::erase_if(list.arrays, [](const NamedArray& array) { return is_filler(array.name); });
  return list;
}

}  // namespace

bool is_array_list(std::string_view type_key) { return form_of(type_key) != nullptr; }

Status write_aligned_list(std::string_view type_key, std::span<const std::uint8_t> payload,
                          AlignedOutput& out) {
  const ListForm& form = *form_of(type_key);
  GANTRY_TRY(const ArrayList list, read_list(payload, form));
  // Each has a filler.
  const std::uint64_t count = 2 * list.arrays.size();
  out.write(list.before);
  if (form.has_count_first) out.Write<std::uint64_t>(count);
  out.Write<std::uint64_t>(count);
  for (std::size_t i = 0; i < list.arrays.size(); ++i) {
    out.write_text(filler_name(i));
    out.write_text(list.arrays[i].name);
  }
  if (!form.has_count_first) out.Write<std::uint64_t>(count);
  for (const NamedArray& array : list.arrays) {
    out.fill({array.data - array.begin, array.end - array.data});
    out.write(payload.subspan(array.begin, array.data - array.begin));
    out.write(payload.subspan(array.data, array.end - array.data));
  }
  out.write(list.after);
  return {};
}

}  // namespace gantry
