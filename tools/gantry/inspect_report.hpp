// SPDX-License-Identifier: Apache-2.0
//
// Everything that `inspect` tells of a file, gathered without executing it.
//
//     file's bytes -> inspect_report.hpp -> inspect_text.hpp, inspect_json.hpp
#pragma once

#include "tools/gantry/common/archive_members.hpp"
#include "tools/gantry/common/file_kind.hpp"
#include "tools/gantry/common/import_graph.hpp"

#include "core/blob/container.hpp"
#include "core/blob/details.hpp"
#include "core/elf/mapped_file.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// One module of the container.
struct ModuleReport {
  Entry entry;
  std::string sha256;  // of the payload; empty for `_lib`
  std::vector<std::size_t> imports;
  std::optional<std::string> served_by;  // plugin id
  Detail details;
};

// One array of a parameter or numpy file.
struct ArrayReport {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t size = 0;  // bytes of data
};

struct InspectReport {
  std::string file;  // as it was given
  std::uint64_t size = 0;
  FileKind kind = FileKind::unknown;
  std::shared_ptr<const MappedFile> bytes;  // what views in here point into

  std::string machine;  // empty: none
  std::string soname;
  std::vector<std::string> needed;
  std::optional<std::string> entry;  // the text of __tvm_main__

  Container container;
  std::vector<ModuleReport> modules;
  std::vector<std::string> functions;  // sorted
  std::vector<ArchiveMember> members;
  std::vector<ArrayReport> arrays;
  std::vector<std::string> warnings;

  bool has_modules() const { return !modules.empty(); }
  std::vector<ImportNode> import_graph() const;
};

// Who serves a type key; nothing where nobody does. Opens no plugin.
using ServedBy = std::function<std::optional<std::string>(std::string_view type_key)>;

struct InspectOptions {
  const PayloadLayouts* layouts = nullptr;  // built in and from manifests
  ServedBy served_by;
  bool quiet = false;  // no progress bar
};

// returns  what opening the file says; malformed, unsupported as its readers find; unsupported, reason
//          FILE_KIND, for a file of unknown kind, with its first bytes
Result<InspectReport> inspect_file(const std::string& path, const InspectOptions& options);

}  // namespace gantry::cli
