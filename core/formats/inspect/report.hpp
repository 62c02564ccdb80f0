// SPDX-License-Identifier: Apache-2.0
//
// Everything that `inspect` reports about a file, collected without executing it, except for
// `declarations`.
//
//     file's bytes -> report.cpp -> report_json.cpp, and the text of tools/gantry
#pragma once

#include "core/base/warning_list.hpp"
#include "core/formats/archive/archive_members.hpp"
#include "core/formats/inspect/aot.hpp"
#include "core/formats/inspect/declared_functions.hpp"
#include "core/formats/kind/file_kind.hpp"

#include "core/base/digest/digest.hpp"
#include "core/base/json_writer.hpp"
#include "core/base/mapped_file.hpp"
#include "core/formats/container.hpp"
#include "core/formats/detail.hpp"
#include "core/formats/weight_directory.hpp"

#include <gantry/tensor.h>
#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {

// The id of the plugin that serves a type key; nothing if there is none. Opens no plugin.
using ServedBy = std::function<std::optional<std::string>(std::string_view type_key)>;

// Searches for the installed plugins. Returns the built-in layouts and those of manifests.
using FindLayouts = std::function<Result<const PayloadLayouts*>()>;

// Returns the code of a module of the file, see payload_text.hpp. Opens the plugin that serves it.
using CodeOf = std::function<Result<std::string>(std::size_t module)>;

// Returns what the code of the file declares about its functions. Runs it.
using DeclarationsOf = std::function<Result<std::vector<FunctionDeclaration>>()>;

struct InspectOptions {
  // called if the file has a container
  FindLayouts find_layouts;
  // called after it
  ServedBy served_by;
  // What has a function that the file looks up by name: the id of a plugin, or "gantry" for the runtime's
  // own; nothing if there is none. Opens no plugin.
  ServedBy offered_by;
  // called for each part of a payload or shard that was digested: bytes, and those of all; may be
  // empty
  std::function<void(std::uint64_t done, std::uint64_t total)> digested = {};
  // compute digests, which JSON requires; the text contains them, and filler parameters
  bool verbose = false;
  // compare the checksums that the index of a directory of weights states
  bool verify = false;
  // called for each executable of a virtual machine; empty: the report has no code
  CodeOf code_of = {};
  // called if the file has functions with metadata or a doc string; empty: they are only counted
  DeclarationsOf declarations_of = {};
};

// One array of a parameter or numpy file.
struct ArrayReport {
  std::string name;
  gantry_dtype dtype{};
  std::vector<std::int64_t> shape;
  // bytes of data
  std::uint64_t size = 0;
};

// Facts about the whole file. Details of a module are computed when they are written, because a
// file of one megabyte can contain 40,000 modules.
struct InspectReport {
  // path as given
  std::string file;
  std::uint64_t size = 0;
  FileKind kind = FileKind::unknown;
  // owns the bytes that views in this report refer to
  std::shared_ptr<const MappedFile> bytes;

  // empty: not an ELF file
  std::string machine;
  std::string soname;
  std::vector<std::string_view> needed;
  // name of the entry function, the text at __tvm_main__
  std::optional<std::string> entry;

  Container container;
  // those that the container was read with; NULL: the file has none
  const PayloadLayouts* layouts = nullptr;
  // of each entry's payload; zeros if it has none. Empty unless InspectOptions::verbose
  std::vector<Sha256> digests;
  // lines without empty ones, of the executables of virtual machines, by module; empty unless
  // InspectOptions::code_of
  std::map<std::size_t, std::vector<std::string>> code;
  // NULL: no model is compiled ahead of time
  std::shared_ptr<const AotReport> aot;
  // sorted
  std::vector<std::string_view> functions;
  // those of `functions` about which the code of the file declares something
  std::vector<DeclaredFunction> declared;
  // by name; empty unless InspectOptions::declarations_of
  std::map<std::string, FunctionDeclaration, std::less<>> declarations;
  // names that CPU code looks up, sorted; see required_functions.hpp
  std::vector<std::string_view> looked_up;
  std::vector<ArchiveMember> members;
  std::vector<ArrayReport> arrays;

  std::optional<WeightDirectory> weights;
  // about its shards
  std::vector<Message> weight_warnings;
  // shards whose checksum is that of the index; nullopt: InspectOptions::verify is not set
  std::optional<std::size_t> verified_shards;

  bool has_modules() const { return !container.entries.empty(); }
  // The module's code, or NULL.
  const std::vector<std::string>* code_of(std::size_t module) const {
    const auto found = code.find(module);
    return found != code.end() ? &found->second : nullptr;
  }
  // What the file's code declares about a function, or NULL.
  const FunctionDeclaration* declaration_of(std::string_view function) const {
    const auto found = declarations.find(function);
    return found != declarations.end() ? &found->second : nullptr;
  }
};

// True if the entry's bytes are its payload. `_lib` has none, and if the end of a payload is
// unknown, the bytes include those of the entries after it.
inline bool has_payload(const Entry& entry) {
  return !entry.is_library() && entry.boundary != Boundary::unknown;
}

// The contents of one module's payload.
//
// warnings  [out]  receives a warning for each part that could not be decoded
Detail details_of(const InspectReport& report, std::size_t module, WarningList& warnings);

// returns  MALFORMED, reason WEIGHT_CHECKSUM, and INVALID of verify_weights(); errors of opening the file; malformed or unsupported from the reader of its format; those
//          of find_layouts; unsupported, reason FILE_KIND, with the first bytes of a file of unknown kind
Result<InspectReport> inspect_file(const std::string& path, const InspectOptions& options);

// Writes the document of `inspect --json`, which begins with the inputs and outputs of signatures.hpp.
// Later versions may add keys and remove none. A key that does not apply is null or empty; only `members`
// (archives), `arrays` (array files), `code` of modules (--code), `signatures` (--signatures), `index`, `shards`,
// `weights` and `totals` (directories of weights), and `verified_shards` (--verify) are left out.
void write_inspect_json(const InspectReport& report, const InspectOptions& options,
                        const JsonWriter::Sink& sink);

}  // namespace gantry
