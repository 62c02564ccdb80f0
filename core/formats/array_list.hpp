// SPDX-License-Identifier: Apache-2.0
//
// Payloads with a list of names and a list of arrays in the same order: parameters of executors,
// and constants.
//
//   bytes graph_json ; u64 n ; vec<str> names ; n ndarrays ; str module_name      graph
//   u64 n ; vec<str> names ; n ndarrays ; str module_name                         AOT
//   vec<str> names ; vec<ndarray> ; vec<str> symbols ; vec<vec<str>> uses         constants
//
//     GANTRY_TRY(ArrayList list, read_array_list(in, *array_list_form("GraphExecutorFactory")));
//     write_array_list(out, *array_list_form("GraphExecutorFactory"), list);    // the same bytes
#pragma once

#include <gantry/aligned_record.hpp>
#include <gantry/array_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/result.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace gantry {

// What differs between the type keys that have such a list.
struct ArrayListForm {
  bool has_graph = false;
  // The names follow their number; else the arrays do.
  bool has_count_first = false;
  // Ends with the names that functions use, instead of the name of a module.
  bool has_users = false;
  // Words of errors: the list of names, one of them, the number of arrays where it is read and where
  // it is compared, an array.
  const char* names;
  const char* name;
  const char* count;
  const char* counted;
  const char* array;
};

// Returns NULL for other keys.
const ArrayListForm* array_list_form(std::string_view type_key);

struct ArrayList {
  // A name, and its offset in the payload.
  struct Name {
    std::string_view text;
    std::uint64_t at = 0;
  };
  // A function, and the names of arrays that it uses, in its order; they need not exist.
  struct User {
    Name symbol;
    std::vector<Name> uses;
  };

  // Empty for keys without it, as are module_name and users.
  std::string_view graph_json;
  // As in the payload, with fillers (gantry/aligned_record.hpp). Names may be equal.
  std::vector<NamedArray> arrays;
  std::string_view module_name;
  // Symbols may be equal.
  std::vector<User> users;
  // Offset of the first array's name. Names follow each other.
  std::uint64_t names_at = 0;
};

// Reads what is before the first array: the graph and the names, each with an empty array.
//
// in       [in, out] as of read_array_list(); after the names on success
// returns  MALFORMED    at the first wrong field; counts that differ
Result<ArrayList> read_array_names(ByteReader& in, const ArrayListForm& form);

// Reads one payload.
//
// in       [in, out] at the first byte on entry, after the last field on success, undefined after a
//                 failure
// returns  MALFORMED    at the first wrong field; counts that differ
//          UNSUPPORTED  an element type that is not supported in files
// lifetime texts and data view the reader's bytes
// costs    time and memory O(names); neither the graph nor array data are read
// source   apache/tvm src/runtime/graph_executor/graph_executor_factory.cc,
//          src/runtime/aot_executor/aot_executor_factory.cc, src/runtime/const_loader_module.cc
Result<ArrayList> read_array_list(ByteReader& in, const ArrayListForm& form);

// Writes everything before the first array.
//
// names    [in]   of all arrays: texts, or NamedArray
template <class Names>
void write_array_names(OutputStream& out, const ArrayListForm& form, std::string_view graph_json,
                       const Names& names) {
  if (form.has_graph) out.write_text(graph_json);
  if (form.has_count_first) out.Write<std::uint64_t>(names.size());
  out.Write<std::uint64_t>(names.size());
  for (const auto& name : names) {
    if constexpr (requires { name.array; }) {
      out.write_text(name.name);
    } else {
      out.write_text(name);
    }
  }
  if (!form.has_count_first) out.Write<std::uint64_t>(names.size());
}

// Writes everything after the last array.
inline void write_array_list_end(OutputStream& out, const ArrayListForm& form,
                                 const ArrayList& list) {
  if (!form.has_users) {
    out.write_text(list.module_name);
    return;
  }
  out.Write<std::uint64_t>(list.users.size());
  for (const ArrayList::User& user : list.users) out.write_text(user.symbol.text);
  out.Write<std::uint64_t>(list.users.size());
  for (const ArrayList::User& user : list.users) {
    out.Write<std::uint64_t>(user.uses.size());
    for (const ArrayList::Name& name : user.uses) out.write_text(name.text);
  }
}

// Writes a payload from its parts: the bytes that read_array_list() read.
inline void write_array_list(OutputStream& out, const ArrayListForm& form, const ArrayList& list) {
  write_array_names(out, form, list.graph_json, list.arrays);
  for (const NamedArray& each : list.arrays) write_array_record(out, each.array);
  write_array_list_end(out, form, list);
}

}  // namespace gantry
