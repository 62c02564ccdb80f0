// SPDX-License-Identifier: Apache-2.0
//
// The identity in the ELF note of a plugin's library (gantry/note.h), which is read before any of
// the plugin's code runs. The manifest is a claim, the note is evidence, the query is the proof.
#pragma once

#include "core/formats/elf/elf_file.hpp"
#include "core/plugins/manifest/manifest.hpp"

#include <gantry/note.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace gantry {

struct PluginNote {
  gantry_abi_range abi{};
  // GANTRY_SANITIZER_*, or a number of a newer SDK
  std::uint32_t sanitizer = GANTRY_SANITIZER_NONE;
  // level of the library's machine
  std::uint32_t isa = 1;
  std::string sdk_version, id, version;
};

// Reads the note among the notes of the library's loaded segments.
//
// path     of the library, for errors
// returns  malformed  NOTE_MISSING: no note has the owner GANTRY and the type 1
//                     NOTE_INVALID: two notes, a wrong size, a text without end, no valid id
Result<PluginNote> read_plugin_note(const ElfFile& elf, const std::string& path);

// Reads the content of a note.
//
// path     of the library, for errors
// returns  malformed, NOTE_INVALID
Result<PluginNote> parse_plugin_note(std::span<const std::uint8_t> content,
                                     const std::string& path);

// What a note is compared with.
struct NoteHost {
  gantry_abi_range abi{};
  // of this process
  std::uint32_t sanitizer = GANTRY_SANITIZER;
  // level of this CPU
  std::uint32_t isa = 1;
};
// costs    executes cpuid
NoteHost note_host(const gantry_abi_range& core);

// Checks that the note has the manifest's identity, and that this program and this CPU can run the
// library.
//
// returns  malformed    ID_MISMATCH, VERSION_MISMATCH, ABI_MISMATCH, with both values
//          unsupported  ABI_RANGE, SANITIZER, ISA
Status check_note(const PluginNote& note, const Manifest& manifest, const NoteHost& host);

// "x86-64-v3", "armv8-a", as in `targets.isa` of a manifest
std::string isa_text(std::uint32_t level, ElfMachine machine = host_machine());

}  // namespace gantry
