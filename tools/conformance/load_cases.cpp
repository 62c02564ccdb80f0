// SPDX-License-Identifier: Apache-2.0
//
// Cases 16 to 20: the library is opened from its place and from others; its sanitizer.
#include "tools/conformance/case_process.hpp"
#include "tools/conformance/cases.hpp"
#include "tools/conformance/scratch.hpp"
#include "tools/conformance/subject.hpp"

#include "core/base/sanitizer.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/plugins/library/library_handle.hpp"
#include "core/plugins/library/plugin_note.hpp"

#include <gantry/descriptor.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace gantry::kit {
namespace {

namespace fs = std::filesystem;

// 16
Status opens(Subject& subject) {
  const auto plugin = open_plugin(subject.manifest(), core_info());
  if (!plugin.ok()) return plugin.error();
  return {};
}

// 17
Status opens_elsewhere(Subject& subject) {
  GANTRY_TRY(const auto here, subject.plugin());
  const Manifest& manifest = subject.manifest();
  const fs::path library = manifest.library_path;
  GANTRY_TRY(const Scratch scratch, Scratch::create());
  // With the files beside it, which its RUNPATH may name.
  GANTRY_CHECK(scratch.copy_from(library.parent_path()));
  std::error_code failed;
  const fs::path renamed = scratch.path() / "renamed_by_the_kit.so";
  fs::rename(scratch.path() / library.filename(), renamed, failed);
  if (failed) return not_run("cannot rename the copy of the library: ", failed.message());
  Manifest moved = manifest;
  moved.library_path = renamed.string();
  const auto plugin = open_plugin(moved, core_info());
  if (!plugin.ok()) return plugin.error();
  return {};
}

// 18, in another process
std::string open_in_place(Subject& subject, const std::string&) {
  return subject.plugin().ok() ? "p" : "n";
}

// 18
Status opens_by_its_directory(Subject& subject) {
  // In another process, because the linker finds a file that is open already by its inode.
  GANTRY_TRY(const PartEnd here, run_part(subject, 18, "open"));
  if (here.report != "p") return not_run("the plugin cannot be opened, see case 16");
  const fs::path library = subject.manifest().library_path;
  const Descriptor directory(
      ::open(library.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return not_run("cannot open ", library.parent_path().string());
  Manifest moved = subject.manifest();
  moved.library_path = concat("/proc/self/fd/", directory.get(), "/", library.filename().string());
  const auto plugin = open_plugin(moved, core_info());
  if (!plugin.ok()) return plugin.error();
  return {};
}

// 19
Status opens_from_memory(Subject& subject) {
  const Manifest& manifest = subject.manifest();
  if (!manifest.self_contained) return skipped("the manifest is not self_contained");
  GANTRY_TRY(const auto here, subject.plugin());
  GANTRY_TRY(const auto file, MappedFile::open(manifest.library_path));
  const Descriptor memory(::memfd_create("gantry-conformance", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::span<const std::uint8_t> left = file->bytes();
  while (!left.empty()) {
    const ssize_t written = ::write(memory.get(), left.data(), left.size());
    if (written <= 0) return not_run("cannot create a file in memory: ", std::strerror(errno));
    left = left.subspan(static_cast<std::size_t>(written));
  }
  ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  Manifest moved = manifest;
  moved.library_path = concat("/proc/self/fd/", memory.get());
  const auto plugin = open_plugin(moved, core_info());
  if (!plugin.ok()) return plugin.error();
  return {};
}

// 20
Status has_the_sanitizer_of_its_note(Subject& subject) {
  const std::string& path = subject.manifest().library_path;
  GANTRY_TRY(const auto file, MappedFile::open(path));
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(file));
  const auto note = read_plugin_note(elf, path);
  if (!note.ok()) return not_run("the note cannot be read, see case 2");
  std::uint32_t found = GANTRY_SANITIZER_NONE;
  for (const auto& [symbol, sanitizer] : sanitizer_starts) {
    if (elf.find(symbol) != nullptr) found = sanitizer;
  }
  if (found == note->sanitizer) return {};
  return bug("the library is built with ", sanitizer_text(found), ", its note has ",
             sanitizer_text(note->sanitizer));
}

constexpr Case kLoadCases[] = {
    {16, Level::L, Weight::must, "opens",
     "the library opens with RTLD_NOW and RTLD_LOCAL, and its tables match the manifest",
     "see the text; build with gantry_add_plugin(), which links with -z defs and writes the "
     "manifest from the same numbers",
     opens},
    {17, Level::L, Weight::must, "opens-elsewhere",
     "the library opens with another name in another directory, with the same id",
     "find files by $ORIGIN or the option of a manifest, not by the library's name or directory",
     opens_elsewhere},
    {18, Level::L, Weight::must, "opens-by-its-directory",
     "the library opens as /proc/self/fd/N/NAME, where N is its directory",
     "find files by $ORIGIN of the linker, not by the path that dladdr() returns",
     opens_by_its_directory, "", open_in_place},
    {19, Level::L, Weight::must, "opens-from-memory",
     "a self_contained library opens from a sealed file in memory",
     "use no file beside the library, or remove self_contained from the manifest",
     opens_from_memory},
    {20, Level::L, Weight::should, "sanitizer",
     "the library is built with the sanitizer of its note, or without one",
     "compile the source that has the note with the options of the others",
     has_the_sanitizer_of_its_note},
};

}  // namespace

std::span<const Case> load_cases() { return kLoadCases; }

}  // namespace gantry::kit
