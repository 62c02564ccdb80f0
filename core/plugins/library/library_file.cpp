// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/library_file.hpp"

#include "core/base/reason.hpp"

#include <gantry/byte_count.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace gantry {
namespace {

// Smaller than any library that a linker writes with pages of 4 KiB; larger than any plugin.
constexpr std::uint64_t kMinLibraryBytes = 4096, kMaxLibraryBytes = std::uint64_t{1} << 32;

// Replaces the reason of an error of core/formats/elf or MappedFile by that of a candidate.
Error library_error(Error error, const Manifest& manifest) {
  constexpr std::pair<std::string_view, const Reason*> reasons[] = {
      {"FILE_NOT_FOUND", &reason::library_missing},
      {"FILE_KIND", &reason::not_a_file},
      {"FILE_EMPTY", &reason::not_elf},
      {reason::not_elf.tag, &reason::not_elf},
      {"ELF_TRUNCATED", &reason::truncated},
      {"ELF_CLASS", &reason::wrong_machine},
      {"ELF_DATA", &reason::wrong_machine}};
  const auto at = std::find_if(std::begin(reasons), std::end(reasons),
                               [&](const auto& pair) { return pair.first == error.reason; });
  if (at != std::end(reasons)) {
    error.reason = at->second->tag;
  } else if (error.code == Code::exhausted) {
    error.reason = reason::exhausted.tag;
  } else if (error.code == Code::unavailable || error.code == Code::invalid) {
    // of MappedFile, without a reason
    error.reason = reason::library_unreadable.tag;
  } else {
    error.reason = reason::elf_broken.tag;
  }
  error.at("library \"", manifest.library, "\" of ", manifest.file, ", resolved to ",
           manifest.library_path);
  if (error.reason == reason::library_missing.tag) {
    error.at("in a container the library's directory may have to be mounted beside the manifest's");
  }
  return error;
}

// Also rejects the running program itself, which Boost.DLL would open successfully.
Status check_kind(const ElfFile& elf, const MappedFile& file) {
  struct stat self {};
  if (::stat("/proc/self/exe", &self) == 0 && identity_of(self) == file.identity()) {
    return malformed(no_offset, file.path().native(),
                     " is this program itself, expected a shared library")
        .with_reason(reason::executable.tag);
  }
  if (elf.is_shared_library()) return {};
  return malformed(no_offset, no_library_text(file.path().native(), elf))
      .with_reason(elf.is_program() ? reason::executable.tag : reason::elf_broken.tag);
}

Status check_size(const MappedFile& file) {
  const std::uint64_t size = file.bytes().size();
  if (size >= kMinLibraryBytes && size <= kMaxLibraryBytes) return {};
  return malformed(no_offset, file.path().native(), " has ", ByteCount(size), ", expected ",
                   kMinLibraryBytes, " to ", kMaxLibraryBytes)
      .with_reason(reason::library_size.tag);
}

}  // namespace

Status LibraryRules::check(const Manifest& manifest, const MappedFile& library) const {
  if (opened != nullptr) GANTRY_CHECK(opened->check(manifest, library));
  return trust != nullptr ? trust->check_library(manifest, library) : Status();
}

Result<LibraryFile> open_library_file(const Manifest& manifest, const LibraryRules& rules) {
  auto opened = MappedFile::open(manifest.library_path);
  if (!opened.ok()) return library_error(std::move(opened).error(), manifest);
  GANTRY_CHECK(rules.check(manifest, **opened));
  auto parsed = ElfFile::parse(*opened);
  if (!parsed.ok()) return library_error(std::move(parsed).error(), manifest);
  if (Status complete = parsed->check_complete(); !complete.ok()) {
    return library_error(std::move(complete).error(), manifest);
  }
  GANTRY_CHECK(check_kind(*parsed, **opened));
  GANTRY_CHECK(check_size(**opened));
  return LibraryFile{std::move(*opened), std::move(*parsed)};
}

}  // namespace gantry
