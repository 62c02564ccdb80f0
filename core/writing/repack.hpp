// SPDX-License-Identifier: Apache-2.0
//
// Rewrites the container of an artifact: other modules, another generation, aligned data.
//
//     file -> container -> modules -> edits -> other generation -> container -> checked -> output
//                 |                                                   ^
//                 +-- payloads stay in the file until they are written +
//
// The CPU code of a shared library exists nowhere else, so that the new container is appended to a
// copy of it.
#pragma once

#include "core/base/input_files.hpp"
#include "core/base/output_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/writing/module_edits.hpp"
#include "core/writing/pack.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// A file with a container.
struct ContainerFile {
  std::shared_ptr<const MappedFile> file;
  // absent: a bare container
  std::optional<ElfFile> elf;
  Container container;

  // prefix   of the container's symbol in a file with several; empty: the first in byte order, which
  //          loaders read
  // returns  errors of opening the file; malformed or unsupported from the ELF and container
  //          readers; unsupported, reason FILE_KIND: another kind of file; not_found: no container
  //          has the prefix; invalid: a prefix for a bare container
  static Result<ContainerFile> open(const std::filesystem::path& path,
                                    const PayloadLayouts& layouts, std::string_view prefix = {});
  bool is_library() const { return elf && elf->is_shared_library(); }

 private:
  Status read_elf();
};

struct RepackOptions {
  ModuleEdits edits;
  // absent: that of the source. Given payloads must have its form
  std::optional<Generation> generation;
  // align the data of parameters and constants in the file; not together with a generation whose
  // payloads have another form
  bool is_aligned = false;
  // library: the container is appended to a copy of the source, which must be one; the others are
  // the container alone
  PackForm form = PackForm::library;
  // the files that the output must not replace: `source`, and those that the edits name
  InputFiles inputs;
  // The directory of temporary files if the output is a stream, or if another user can change its
  // directory; else the output's directory is.
  std::filesystem::path temporary = "/tmp";
  // Receives a line at the start of each step.
  std::function<void(std::string_view)> progress;
  // Called with the finished file, or with the bare container of an object or a source, before the
  // output is put into its place; nothing is written if it fails.
  std::function<Status(const std::filesystem::path&)> verify;
};

struct RepackedModule {
  // "_lib": CPU code
  std::string type_key;
  // of the container that was read; absent: its payload is that of a given file
  std::optional<std::size_t> entry;
  // of the payload; 0 for CPU code
  std::uint64_t bytes = 0;
};

struct RepackReport {
  Generation from = Generation::g3, to = Generation::g3;
  // of the container
  std::uint64_t bytes = 0;
  std::vector<RepackedModule> modules;
  // those of reading the source, and of converting its modules
  std::vector<Message> warnings;
};

// Writes `output`. After a failure the output is unchanged, and
// nothing is written to a stream; temporary files are always removed. The written file is read
// again, and its modules are compared with those that were meant.
//
// layouts  [in]   with which `source` was read
// output   [in]   not started
// returns  invalid      the edits; the output is an input, a terminal, or exists with another form
//          unsupported  the source has no container; it is no library and the form is; the library
//                       names its container as another generation
//          malformed    a given payload does not match the layout of its type key
//          unavailable  the output cannot be written
//          the failures of edit_modules(), converted_modules(), write_aligned_payload(),
//          append_container() and `verify`
// costs    O(bytes); memory O(modules) and 1 MiB
Result<RepackReport> repack(const ContainerFile& source, const PayloadLayouts& layouts,
                            OutputFile& output, const RepackOptions& options);

}  // namespace gantry
