// SPDX-License-Identifier: Apache-2.0
//
// Cases 2, 12, 13 and 15: the note, the digest and the other files of the package.
#include "core/base/digest/digest.hpp"
#include "core/base/sanitizer.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/trust/signature_file.hpp"
#include "tools/conformance/static/check_case.hpp"

#include <gantry/directory.hpp>
#include <gantry/join.hpp>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCoreLibrary = "libgantry.so";
// Files of one package that are examined.
constexpr std::size_t kMaxPackageFiles = 4096;

// True if bytes [at, at + size) of the file are in a segment of the type.
bool is_in_segment(const ElfFile& elf, std::uint32_t type, std::uint64_t at, std::uint64_t size) {
  const auto& segments = elf.image().segments();
  return std::any_of(segments.begin(), segments.end(), [&](const ElfSegment& segment) {
    return segment.type == type && at >= segment.offset && size <= segment.file_size &&
           at - segment.offset <= segment.file_size - size;
  });
}

bool is_core_library(const fs::path& path) {
  if (path.filename().native().starts_with(kCoreLibrary)) return true;
  const auto file = MappedFile::open(path);
  if (!file.ok() || !has_elf_magic((*file)->bytes())) return false;
  const auto elf = ElfFile::parse((*file)->bytes());
  return elf.ok() && elf->soname().starts_with(kCoreLibrary);
}

// Appends the core's libraries in a directory and in those below it; links to directories are not
// followed.
void find_core_libraries(const fs::path& directory, std::size_t& files_left,
                         std::vector<std::string>& found) {
  std::error_code failed;
  for (const std::string& name : names_in(directory, failed)) {
    if (files_left == 0) return;
    --files_left;
    const fs::path path = directory / name;
    const fs::file_status status = fs::symlink_status(path, failed);
    if (fs::is_directory(status)) {
      find_core_libraries(path, files_left, found);
    } else if (is_core_library(path)) {
      found.push_back(path.string());
    }
  }
}

}  // namespace

namespace check_case {

CaseResult identity(const CheckSubject& subject) {
  if (!subject.note.ok()) return CaseResult::failed(subject.note.error().message);
  const Manifest& manifest = subject.manifest;
  const PluginNote& note = *subject.note;
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view what, const std::string& claimed,
                           const std::string& found) {
    if (claimed != found) {
      differences.push_back(
          concat(what, " is ", claimed, " in the manifest, ", found, " in the note"));
    }
  };
  compare("id", manifest.id, note.id);
  compare("version", manifest.version.text, note.version);
  compare("ABI", describe({manifest.abi.major, manifest.abi.min_minor, manifest.abi.max_minor, 0}),
          describe(note.abi));
  const std::string isa = isa_text(note.isa, subject.elf.machine());
  if (!manifest.targets.isa.empty()) compare("CPU level", manifest.targets.isa, isa);
  if (!differences.empty()) {
    return CaseResult::failed(join(differences, "\n"),
                              ": generate the manifest from the build that makes the library");
  }
  return CaseResult::passed(note.id, " ", note.version, ", ABI ", describe(note.abi), ", ", isa,
                            ", ", sanitizer_text(note.sanitizer), ", SDK ", note.sdk_version);
}

CaseResult digest(const CheckSubject& subject) {
  const std::string& claimed = subject.manifest.sha256;
  const auto signature = read_signature_file(signature_path(subject.manifest.file));
  if (!signature.ok()) return CaseResult::failed(signature.error().message);
  if (claimed.empty()) {
    if (!*signature) return CaseResult::skipped("the manifest has no sha256 and no signature");
    return CaseResult::failed(subject.manifest.file,
                              " is signed and has no sha256 of its library, so the signature does ",
                              "not cover the library: add sha256, then sign");
  }
  const std::string found = hex_text(sha256(subject.elf.bytes()));
  if (claimed == found) {
    const std::string key = *signature ? text_of((*signature)->number) : "";
    return CaseResult::passed("sha256 is that of the library",
                              key.empty() ? "" : "; the manifest is signed with key ", key);
  }
  return CaseResult::failed("sha256 is ", claimed, " in the manifest, ", found,
                            " of the library: write the digest after the last step that changes "
                            "the library, for example strip");
}

CaseResult loaded_note(const CheckSubject& subject) {
  for (const ElfNote& note : subject.elf.notes()) {
    if (note.owner != GANTRY_NOTE_OWNER || note.type != GANTRY_NOTE_TYPE) continue;
    const std::uint64_t at = subject.elf.offset_in_file(note.content);
    if (is_in_segment(subject.elf, segment_type::load, at, note.content.size())) {
      return CaseResult::passed("in a loaded segment, which strip keeps");
    }
  }
  return CaseResult::failed(
      "no loaded segment contains the note, so strip removes it: define it with GANTRY_PLUGIN or "
      "GANTRY_NOTE, and keep the section .note.gantry in linker scripts");
}

CaseResult core_library(const CheckSubject& subject) {
  for (const std::string_view soname : subject.elf.needed()) {
    if (soname.starts_with(kCoreLibrary)) {
      return CaseResult::failed("the library needs ", soname,
                                ": do not link the core, use the host table");
    }
  }
  // the manifest is in another directory if `library` is absolute
  const fs::path library = fs::path(subject.path).parent_path();
  const fs::path manifest = fs::path(subject.manifest.file).parent_path();
  const bool together = !fs::path(subject.manifest.library).is_absolute();
  const fs::path directory = together ? manifest : library;
  std::vector<std::string> found;
  std::size_t files_left = kMaxPackageFiles;
  find_core_libraries(directory.empty() ? fs::path(".") : directory, files_left, found);
  if (found.empty()) return CaseResult::passed("none in ", directory.native());
  return CaseResult::failed(join(found, ", ", {}, kMaxCheckedNames),
                            ": a package has no copy of the core, remove it");
}

}  // namespace check_case
}  // namespace gantry
