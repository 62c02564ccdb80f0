// SPDX-License-Identifier: Apache-2.0
//
// The content of a plugin's note (gantry/note.h), for ElfBuilder. Tests change a copy of the record.
#pragma once

#include "tests/support/files.hpp"

#include <gantry/note.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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

// Changes id and version in the note of a built library, as if it had been built with them. Its
// table is unchanged, so that it can be inspected and not opened.
inline void set_note(const std::filesystem::path& library, std::string_view id,
                     std::string_view version) {
  std::vector<std::uint8_t> bytes = read_file(library);
  // name size, content size, type, name
  const std::uint32_t header[] = {sizeof GANTRY_NOTE_OWNER, sizeof(gantry_note), GANTRY_NOTE_TYPE};
  std::string start(reinterpret_cast<const char*>(header), sizeof header);
  start += std::string(GANTRY_NOTE_OWNER, sizeof GANTRY_NOTE_OWNER);
  const auto at = std::search(bytes.begin(), bytes.end(), start.begin(), start.end());
  if (at == bytes.end()) std::abort();
  const auto content = static_cast<std::size_t>(at - bytes.begin()) + (start.size() + 3) / 4 * 4;
  gantry_note note{};
  std::memcpy(&note, bytes.data() + content, sizeof note);
  const auto set = [](auto& field, std::string_view text) {
    std::memset(field, 0, sizeof field);
    text.copy(field, sizeof field - 1);
  };
  set(note.id, id);
  set(note.version, version);
  std::memcpy(bytes.data() + content, &note, sizeof note);
  std::filesystem::remove(library);
  write_file(library, bytes);
}

// A library with a note and the query, which is inspected and never opened.
inline ElfBuilder plugin_elf(const std::vector<std::uint8_t>& note = bytes_of(note_record())) {
  return ElfBuilder()
      .function("gantry_plugin_query_v1")
      .note(GANTRY_NOTE_OWNER, GANTRY_NOTE_TYPE, note)
      .at_least(4096);
}

}  // namespace gantry::test
