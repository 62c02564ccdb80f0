// SPDX-License-Identifier: Apache-2.0
//
// The content of a plugin's note (gantry/note.h), for ElfBuilder. Tests change a copy of the record.
#pragma once

#include <gantry/note.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/elf_builder.hpp"

namespace gantry::test {

// The note that matches fake_manifest().
inline gantry_note note_record(std::string_view id = "test.fake",
                               std::string_view version = "1.0.0") {
  gantry_note note{};
  note.struct_size = sizeof note;
  note.abi = {GANTRY_ABI_MAJOR, 0, GANTRY_ABI_MINOR, 0};
  note.isa = 1;
  std::string("0.1.0").copy(note.sdk_version, sizeof note.sdk_version - 1);
  id.copy(note.id, sizeof note.id - 1);
  version.copy(note.version, sizeof note.version - 1);
  return note;
}

inline std::vector<std::uint8_t> bytes_of(const gantry_note& note) {
  std::vector<std::uint8_t> bytes(sizeof note);
  std::memcpy(bytes.data(), &note, sizeof note);
  return bytes;
}

// A library with a note and the query, which is inspected and never opened.
inline ElfBuilder plugin_elf(const std::vector<std::uint8_t>& note = bytes_of(note_record())) {
  return ElfBuilder()
      .function("gantry_plugin_query_v1")
      .note(GANTRY_NOTE_OWNER, GANTRY_NOTE_TYPE, note)
      .at_least(4096);
}

}  // namespace gantry::test
