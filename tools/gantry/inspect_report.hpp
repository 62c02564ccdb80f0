// SPDX-License-Identifier: Apache-2.0
//
// Everything that `inspect` tells of a file, gathered without executing it.
//
//     file's bytes -> inspect_report.hpp -> inspect_text.hpp, inspect_json.hpp
#pragma once

#include "tools/gantry/common/archive_members.hpp"
#include "tools/gantry/common/digest.hpp"
#include "tools/gantry/common/file_kind.hpp"
#include "tools/gantry/common/import_graph.hpp"
#include "tools/gantry/common/warning_list.hpp"

#include "core/base/mapped_file.hpp"
#include "core/format/container.hpp"
#include "core/format/detail.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::cli {

// Who serves a type key; nothing where nobody does. Opens no plugin.
using ServedBy = std::function<std::optional<std::string>(std::string_view type_key)>;

struct InspectOptions {
  // built in and from manifests
  const PayloadLayouts* layouts = nullptr;
  ServedBy served_by;
  // no progress bar
  bool quiet = false;
};

// One array of a parameter or numpy file.
struct ArrayReport {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  // bytes of data
  std::uint64_t size = 0;
};

// What is the same for the whole file. What there is to tell of one module is made when it is written: a file of a
// megabyte can hold 40,000 of them.
struct InspectReport {
  // as it was given
  std::string file;
  std::uint64_t size = 0;
  FileKind kind = FileKind::unknown;
  // what views in here point into
  std::shared_ptr<const MappedFile> bytes;

  // empty: none
  std::string machine;
  std::string soname;
  std::vector<std::string_view> needed;
  // the text of __tvm_main__
  std::optional<std::string> entry;

  Container container;
  // of each entry's payload; zeros where it has none
  std::vector<Sha256> digests;
  // sorted
  std::vector<std::string_view> functions;
  std::vector<ArchiveMember> members;
  std::vector<ArrayReport> arrays;

  bool has_modules() const { return !container.entries.empty(); }
  // points into the report
  ImportGraph import_graph() const;
};

// Are the entry's bytes its payload? `_lib` has none, and where nothing says where a payload ends, the bytes are those of
// its successors too.
inline bool has_payload(const Entry& entry) {
  return !entry.is_library() && entry.boundary != Boundary::unknown;
}

// What stands in one module's payload.
//
// warnings   gets what could not be decoded
Detail details_of(const InspectReport& report, std::size_t module, const InspectOptions& options,
                  WarningList& warnings);

// returns  what opening the file says; malformed, unsupported as its readers find; unsupported, reason
//          FILE_KIND, for a file of unknown kind, with its first bytes
Result<InspectReport> inspect_file(const std::string& path, const InspectOptions& options);

}  // namespace gantry::cli
