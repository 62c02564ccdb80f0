// SPDX-License-Identifier: Apache-2.0
//
// Aligns the arrays of payloads with a list of names and a list of arrays in the same order.
#include "core/formats/aligned_output.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <string_view>
#include <vector>

namespace gantry {
namespace {

// Fillers are written anew.
Status check_users(const ArrayList& list) {
  for (std::size_t i = 0; i < list.users.size(); ++i) {
    for (const ArrayList::Name& name : list.users[i].uses) {
      if (!is_filler(name.text)) continue;
      return malformed(name.at, "symbol ", i, " uses constant ", quoted(name.text),
                       ", but names with ", quoted(filler_prefix), " are those of fillers")
          .with_reason("BLOB_FORMAT");
    }
  }
  return {};
}

Result<ArrayList> read_whole_list(std::span<const std::uint8_t> payload,
                                  const ArrayListForm& form) {
  ByteReader in(payload);
  GANTRY_TRY(ArrayList list, read_array_list(in, form));
  if (!in.at_end()) {
    return malformed(in.offset(), "payload has ", in.left(), " bytes after its last field")
        .with_reason("BLOB_TRAILING");
  }
  GANTRY_CHECK(check_users(list));
  return list;
}

}  // namespace

Status write_aligned_list(const ArrayListForm& form, std::span<const std::uint8_t> payload,
                          AlignedOutput& out) {
  GANTRY_TRY(ArrayList list, read_whole_list(payload, form));
  std::erase_if(list.arrays, [](const NamedArray& each) { return is_filler(each.name); });
  std::vector<std::string_view> names;
  for (const NamedArray& each : list.arrays) names.push_back(each.name);
  write_array_names(out, form, list.graph_json, names_with_fillers(names));
  for (const NamedArray& each : list.arrays) {
    out.fill({record_header_bytes(each.array.shape.size()), each.array.data.size()});
    write_array_record(out, each.array);
  }
  write_array_list_end(out, form, list);
  return {};
}

}  // namespace gantry
