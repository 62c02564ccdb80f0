// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/plugin_note.hpp"

#include "core/base/reason.hpp"
#include "core/base/sanitizer.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

// Sizes of version 1.0; a note may be longer.
constexpr std::uint64_t kNoteBytes = 272;
constexpr std::uint64_t kSdkBytes = 32, kIdBytes = 72, kVersionBytes = 136;

template <class... Part>
Failure invalid_note(const std::string& path, const Part&... part) {
  return malformed(no_offset, "the note of ", path, " ", part..., ": build it with gantry/note.h")
      .with_reason(reason::note_invalid.tag);
}

// Reads a text that ends with a NUL in a field of `size` bytes.
Result<std::string> read_text(ByteReader& in, std::uint64_t size, const char* field,
                              const std::string& path) {
  GANTRY_TRY(const auto bytes, in.read_bytes(size, field));
  const auto end = std::find(bytes.begin(), bytes.end(), 0);
  if (end == bytes.end()) return invalid_note(path, "has member ", field, " without an end");
  return std::string(bytes.begin(), end);
}

}  // namespace

Result<PluginNote> read_plugin_note(const ElfFile& elf, const std::string& path) {
  const ElfNote* found = nullptr;
  for (const ElfNote& note : elf.notes()) {
    if (note.owner != GANTRY_NOTE_OWNER || note.type != GANTRY_NOTE_TYPE) continue;
    if (found != nullptr) return invalid_note(path, "exists twice");
    found = &note;
  }
  if (found == nullptr) {
    return malformed(no_offset, path, " has no note with a plugin's identity among its ",
                     elf.notes().size(), " notes: build it with GANTRY_PLUGIN or, in C, with ",
                     "GANTRY_NOTE of gantry/note.h")
        .with_reason(reason::note_missing.tag);
  }
  return parse_plugin_note(found->content, path);
}

Result<PluginNote> parse_plugin_note(std::span<const std::uint8_t> content,
                                     const std::string& path) {
  if (content.size() < kNoteBytes) {
    return invalid_note(path, "has ", ByteCount(content.size()), ", minimum is ", kNoteBytes);
  }
  ByteReader in(content);
  PluginNote note;
  GANTRY_TRY(const std::uint32_t struct_size, in.read_u32("struct_size"));
  if (struct_size < kNoteBytes || struct_size > content.size()) {
    return invalid_note(path, "has struct_size ", struct_size, ", expected ", kNoteBytes, " to ",
                        content.size());
  }
  GANTRY_CHECK(in.skip(4, "flags"));
  GANTRY_TRY(note.abi.major, in.read_u32("major"));
  GANTRY_TRY(note.abi.min_minor, in.read_u32("min_minor"));
  GANTRY_TRY(note.abi.max_minor, in.read_u32("max_minor"));
  GANTRY_CHECK(in.skip(4, "zero"));
  GANTRY_TRY(note.sanitizer, in.read_u32("sanitizer"));
  GANTRY_TRY(note.isa, in.read_u32("isa"));
  GANTRY_TRY(note.sdk_version, read_text(in, kSdkBytes, "sdk_version", path));
  GANTRY_TRY(note.id, read_text(in, kIdBytes, "id", path));
  GANTRY_TRY(note.version, read_text(in, kVersionBytes, "version", path));
  if (const std::string expected = check_plugin_id(note.id); !expected.empty()) {
    return invalid_note(path, "has id \"", note.id, "\", expected ", expected);
  }
  if (const auto version = Version::parse(note.version); !version.ok()) {
    return invalid_note(path, "has a wrong version: ", version.error().message);
  }
  return note;
}

NoteHost note_host(const gantry_abi_range& core) {
  NoteHost host;
  host.abi = core;
  host.sanitizer = sanitizer_of_process();
  host.isa = static_cast<std::uint32_t>(host_traits().isa.size());
  return host;
}

Status check_note(const PluginNote& note, const Manifest& manifest, const NoteHost& host) {
  const std::string& path = manifest.library_path;
  const auto mismatch = [&](const Reason& why, std::string_view what, std::string_view claimed,
                            std::string_view found) {
    return malformed(no_offset, manifest.file, " declares ", what, " ", claimed, ", the note of ",
                     path, " declares ", found, ": the two belong to different installations")
        .with_reason(why.tag);
  };
  if (manifest.id != note.id) return mismatch(reason::id_mismatch, "id", manifest.id, note.id);
  if (manifest.version.text != note.version) {
    return mismatch(reason::version_mismatch, "version", manifest.version.text, note.version);
  }
  GANTRY_CHECK(negotiate({note.id, note.version}, note.abi, host.abi));
  const gantry_abi_range claimed{manifest.abi.major, manifest.abi.min_minor, manifest.abi.max_minor,
                                 0};
  if (describe(claimed) != describe(note.abi)) {
    return mismatch(reason::abi_mismatch, "ABI", describe(claimed), describe(note.abi));
  }
  // Code without a sanitizer runs in every program.
  if (note.sanitizer != GANTRY_SANITIZER_NONE && note.sanitizer != host.sanitizer) {
    return unsupported(
               path, " is built with ", sanitizer_text(note.sanitizer), ", this program with ",
               sanitizer_text(host.sanitizer), ": install a build of ", note.id,
               " without a sanitizer, or start the program with the runtime of the sanitizer "
               "(LD_PRELOAD)")
        .with_reason(reason::sanitizer.tag);
  }
  if (note.isa > host.isa) {
    return unsupported(path, " needs a CPU of level ", isa_text(note.isa), ", this CPU has ",
                       isa_text(host.isa), ": install a build of ", note.id, " for ",
                       isa_text(host.isa))
        .with_reason(reason::isa.tag);
  }
  return {};
}

std::string isa_text(std::uint32_t level, ElfMachine machine) {
  if (machine == ElfMachine::x86_64) return concat("x86-64-v", level);
  const std::string base = machine == ElfMachine::aarch64 ? "armv8-a" : name_of(machine);
  return level <= 1 ? base : concat(base, " level ", level);
}

}  // namespace gantry
