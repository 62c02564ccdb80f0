// SPDX-License-Identifier: Apache-2.0
#include "core/formats/inspect/report.hpp"

#include "core/base/text.hpp"
#include "core/formats/arrays/array_file.hpp"
#include "core/formats/details.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/function_symbol.hpp"
#include "core/formats/inspect/required_functions.hpp"
#include "core/formats/inspect/weights.hpp"
#include "core/formats/kind/unpacked_file.hpp"
#include "core/formats/type_key.hpp"
#include "core/formats/vm_details.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace gantry {
namespace {

constexpr std::string_view entry_symbol = "__tvm_main__";
constexpr std::size_t max_entry_bytes = 256;

std::vector<std::string_view> functions_of(const ElfFile& elf, const ExporterFacts& facts) {
  std::vector<std::string_view> names;
  for (const ElfSymbol& symbol : elf.symbols()) {
    const bool code = symbol.type == SymbolType::function || symbol.type == SymbolType::ifunc;
    if (!code || !symbol.exported()) continue;
    const std::string_view name = function_of_symbol(symbol.name, facts);
    if (!name.empty()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Compilers store the name of the entry function as a text at this symbol. If the symbol is a
// function, it is the entry function itself.
std::optional<std::string> entry_of(const ElfFile& elf) {
  const ElfSymbol* symbol = elf.find(entry_symbol);
  if (symbol == nullptr || symbol->type != SymbolType::object) return std::nullopt;
  const auto bytes = elf.bytes_from(*symbol);
  if (!bytes.ok()) return std::nullopt;
  const std::string_view text = as_text(*bytes).substr(0, max_entry_bytes);
  return std::string(text.substr(0, text.find('\0')));
}

void digest_payloads(InspectReport& report, const InspectOptions& options) {
  const std::vector<Entry>& entries = report.container.entries;
  report.digests.resize(entries.size());
  std::uint64_t total = 0;
  for (const Entry& entry : entries) total += has_payload(entry) ? entry.payload.size() : 0;
  const auto advance = [&](std::size_t digested) {
    if (options.digested) options.digested(digested, total);
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (has_payload(entries[i])) report.digests[i] = sha256(entries[i].payload, advance);
  }
}

Status read_code(InspectReport& report, const InspectOptions& options) {
  if (!options.code_of) return {};
  for (std::size_t i = 0; i < report.container.entries.size(); ++i) {
    if (!is_virtual_machine(report.container.entries[i].type_key)) continue;
    GANTRY_TRY(const std::string code, options.code_of(i));
    std::vector<std::string>& lines = report.code[i];
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = std::min(code.find('\n', at), code.size());
      if (end != at) lines.push_back(code.substr(at, end - at));
      at = end + 1;
    }
  }
  return {};
}

Status read_declarations(InspectReport& report, const InspectOptions& options) {
  if (!options.declarations_of || report.declared.empty()) return {};
  GANTRY_TRY(std::vector<FunctionDeclaration> read, options.declarations_of());
  for (FunctionDeclaration& each : read) {
    std::string name = each.name;
    report.declarations.insert_or_assign(std::move(name), std::move(each));
  }
  // Those beyond the limit.
  for (const DeclaredFunction& each : report.declared) {
    std::string name(each.name);
    report.declarations.try_emplace(
        name, FunctionDeclaration{.name = name,
                                  .problem = concat("not known: the texts of all functions have "
                                                    "more than ",
                                                    max_declarations_bytes, " bytes")});
  }
  std::erase_if(report.declarations, [&](const auto& each) {
    return !std::ranges::binary_search(report.declared, each.first, {}, &DeclaredFunction::name);
  });
  return {};
}

Status inspect_elf(InspectReport& report, const InspectOptions& options) {
  GANTRY_TRY(const ElfFile elf, ElfFile::parse(report.bytes));
  GANTRY_CHECK(elf.check_complete());
  if (elf.is_program()) report.kind = FileKind::program;
  report.machine = name_of(elf.machine());
  report.soname = elf.soname();
  report.needed.assign(elf.needed().begin(), elf.needed().end());
  report.entry = entry_of(elf);
  GANTRY_TRY(const ContainerLocation location, locate_container(elf));
  if (location.room) {
    GANTRY_TRY(report.layouts, options.find_layouts());
  }
  const PayloadLayouts none;
  GANTRY_TRY(report.container, read_container(location, report.layouts ? *report.layouts : none));
  report.functions = functions_of(elf, report.container.facts);
  report.declared = declared_functions(elf, report.container.facts, report.functions);
  GANTRY_CHECK(read_declarations(report, options));
  report.looked_up = functions_of_cells(elf);
  report.aot = inspect_aot(elf, report.container);
  if (options.verbose) digest_payloads(report, options);
  return read_code(report, options);
}

Status inspect_container(InspectReport& report, const InspectOptions& options) {
  GANTRY_TRY(report.layouts, options.find_layouts());
  GANTRY_TRY(report.container, read_container_bytes(report.bytes->bytes(), *report.layouts));
  if (options.verbose) digest_payloads(report, options);
  return read_code(report, options);
}

// Reads headers only: a megabyte of compressed zeros expands to a gigabyte.
Status inspect_arrays(InspectReport& report) {
  GANTRY_TRY(const ArrayFile file, ArrayFile::parse(report.bytes->bytes()));
  for (std::size_t i = 0; i < file.names().size(); ++i) {
    GANTRY_TRY(ArrayHeader header, file.header(i));
    report.arrays.push_back(
        {std::string(file.names()[i]), header.dtype, std::move(header.shape), header.data_bytes});
  }
  return {};
}

Status inspect_archive(InspectReport& report) {
  const auto bytes = report.bytes->bytes();
  GANTRY_TRY(report.members,
             report.kind == FileKind::archive ? read_ar_members(bytes) : read_tar_members(bytes));
  return {};
}

Status inspect_by_kind(InspectReport& report, const InspectOptions& options) {
  switch (report.kind) {
    case FileKind::shared_library:
    case FileKind::program:
    case FileKind::object:
    case FileKind::elf:
      return inspect_elf(report, options);
    case FileKind::container:
      return inspect_container(report, options);
    case FileKind::archive:
    case FileKind::tar:
    case FileKind::model_library:
      return inspect_archive(report);
    case FileKind::parameters:
    case FileKind::npy:
    case FileKind::npz:
      return inspect_arrays(report);
    // not determined from bytes
    case FileKind::weights:
    case FileKind::unknown:
      break;
  }
  return not_an_artifact(report.file, report.bytes->bytes());
}

}  // namespace

Detail details_of(const InspectReport& report, std::size_t module, WarningList& warnings) {
  const Entry& entry = report.container.entries[module];
  if (entry.is_library()) return {};
  PayloadDetails details = describe_payload(entry, report.container.facts, *report.layouts);
  for (const Message& warning : details.warnings) {
    warnings.add(Message("module ", module, " ", quoted(entry.type_key), ": ", warning));
  }
  if (report.aot && entry.type_key == aot_factory_key) add_aot_details(*report.aot, details.root);
  return std::move(details.root);
}

Result<InspectReport> inspect_file(const std::string& path, const InspectOptions& options) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    GANTRY_TRY(WeightDirectory weights, WeightDirectory::open(path));
    std::optional<std::size_t> verified;
    if (options.verify) {
      auto count = verify_weights(weights, options.digested);
      if (!count.ok()) return std::move(count).error().at("in ", quoted(path));
      verified = *count;
    }
    InspectReport report = inspect_weights(std::move(weights));
    report.verified_shards = verified;
    return report;
  }
  InspectReport report;
  report.file = path;
  GANTRY_TRY(report.bytes, MappedFile::open(path));
  report.size = report.bytes->bytes().size();
  GANTRY_TRY(report.bytes, unpacked(std::move(report.bytes)));
  report.kind = kind_of(report.bytes->bytes());
  Status status = inspect_by_kind(report, options);
  if (!status.ok()) {
    if (report.kind == FileKind::unknown) return std::move(status).error();
    return std::move(status).error().at("in ", quoted(path), ", ", words_for(report.kind));
  }
  return report;
}

}  // namespace gantry
