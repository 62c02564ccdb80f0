// SPDX-License-Identifier: Apache-2.0
#include "core/format/layout2.hpp"

#include <gantry/quoted.hpp>

namespace gantry {

Result<Modules> read_layout2(ByteReader in) {
  Modules out;
  GANTRY_TRY(out.tree, ImportTree::parse(in));
  const std::uint64_t count = out.tree->module_count();
  // The shortest entry is a key of one character; checked before anything is kept for the entries.
  if (count > in.left() / (8 + 1)) {
    return malformed(in.offset(), "entry count ", count, " of the import tree, room for ",
                     in.left() / (8 + 1))
        .with_reason("BLOB_TRUNCATED");
  }
  out.entries.reserve(count);
  std::uint64_t empty_payloads = 0, first_empty = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const auto key, read_type_key(in, i));
    if (key == library_key) {
      out.entries.push_back({key, in.offset(), {}, Boundary::exact});
      continue;
    }
    const auto payload = in.read_string("payload");
    if (!payload.ok()) {
      return Error(payload.error()).at("while reading entry ", i, " ", quoted(key));
    }
    const std::uint64_t at = in.offset() - payload->size();
    if (payload->empty() && empty_payloads++ == 0) first_empty = i;
    out.entries.push_back(
        {key,
         at,
         {reinterpret_cast<const std::uint8_t*>(payload->data()), payload->size()},
         Boundary::exact});
  }
  if (empty_payloads != 0) {
    const std::string more =
        empty_payloads == 1 ? " has" : concat(" and ", empty_payloads - 1, " more have");
    out.warnings.push_back(concat("entry ", first_empty, " ",
                                  quoted(out.entries[first_empty].type_key), more,
                                  " an empty payload, which TVM's own loader refuses"));
  }
  if (!in.at_end()) {
    out.warnings.push_back(concat(in.left(), " bytes follow the last entry"));
  }
  return out;
}

}  // namespace gantry
