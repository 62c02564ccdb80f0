// SPDX-License-Identifier: Apache-2.0
#include "core/plugins/library/inspect.hpp"

#include "core/base/reason.hpp"
#include "core/formats/elf/elf_machine.hpp"
#include "core/plugins/library/compatible.hpp"
#include "core/plugins/library/imports.hpp"
#include "core/plugins/library/library_file.hpp"
#include "core/plugins/library/linker.hpp"
#include "core/plugins/manifest/machine_traits.hpp"

#include <gantry/join.hpp>

#include <algorithm>
#include <filesystem>

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kQuery = "gantry_plugin_query_v1";
// Bytes that glibc reserves for libraries opened after the start, by default.
// source   glibc manual, tunable glibc.rtld.optional_static_tls, and elf/dl-tls.c
constexpr std::uint64_t kStaticTlsReserve = 1664;
// listed in a message
constexpr std::size_t kMaxNames = 5;

Status check_host(const ElfFile& elf, const std::string& path) {
  if (elf.machine() != host_machine()) {
    return unsupported(path, " is built for ", name_of(elf.machine()), ", this host is ",
                       name_of(host_machine()))
        .with_reason(reason::wrong_machine.tag);
  }
  if (const std::uint64_t alignment = alignment_below_page(elf); alignment != 0)
    return unsupported(path, page_text(alignment)).with_reason(reason::page_size.tag);
  if (const std::string_view cause = executable_stack_cause(elf); !cause.empty()) {
    return unsupported(path, " ", cause,
                       ", which newer systems reject; link it with -Wl,-z,noexecstack")
        .with_reason(reason::exec_stack.tag);
  }
  return {};
}

bool is_of_core(std::string_view symbol) {
  return symbol.starts_with("gantry_") || symbol.starts_with("_ZN6gantry") ||
         symbol.starts_with("_ZNK6gantry");
}

Status check_symbols(const ElfFile& elf, const std::string& path) {
  std::vector<std::string_view> exported;
  bool has_query = false;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.defined()) {
      if (symbol.binding != SymbolBinding::global || !is_of_core(symbol.name)) continue;
      return unsupported(path, " imports ", symbol_text(symbol.name),
                         ": plugins must not import core symbols, use the host table instead")
          .with_reason(reason::symbol_missing.tag);
    }
    if (!symbol.exported()) continue;
    has_query = has_query || symbol.name == kQuery;
    exported.push_back(symbol.name);
  }
  if (has_query) return {};
  return malformed(no_offset, path, " does not export ", kQuery, ", found ",
                   exported.empty() ? "no symbol" : join(exported, ", ", {}, kMaxNames),
                   ": it is not a gantry plugin of ABI 1")
      .with_reason(reason::query_missing.tag);
}

// Returns the version in a library's real name: "535.104.05" for libcuda.so.1 ->
// libcuda.so.535.104.05.
std::string version_in_name(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  const std::string name = (failed ? fs::path(path) : real).filename().string();
  const std::size_t at = name.find(".so.");
  return at == std::string::npos ? "" : name.substr(at + 4);
}

// Compares a version with as many numbers of the minimum as it has: a file that is named
// libacme.so.1 may be any version 1.
bool is_older(std::string_view version, std::string_view min) {
  auto numbers = std::ranges::count(version, '.') + 1;
  std::size_t end = min.find('.');
  while (end != std::string_view::npos && --numbers > 0) end = min.find('.', end + 1);
  return !version.empty() && version_less(version, min.substr(0, end));
}

// Adds what a driver library lacks.
void check_driver(const ManifestSoname& library, const std::string& found,
                  std::vector<Error>& problems) {
  const auto too_old = [&](const Message& why) {
    problems.push_back(unavailable("driver library ", found, " ", why, ": install a newer driver")
                           .with_reason(reason::driver_too_old.tag));
  };
  if (const std::string version = version_in_name(found); is_older(version, library.min_version)) {
    too_old({"is version ", version, " by the name of its file, minimum is ", library.min_version});
  }
  if (library.symbols.empty() || found.empty()) return;
  auto mapped = MappedFile::open(found);
  auto elf = mapped.ok() ? ElfFile::parse(*std::move(mapped)) : Result<ElfFile>(mapped.error());
  if (!elf.ok()) return too_old({"cannot be read: ", elf.error().message});
  std::vector<std::string> missing;
  for (const std::string& symbol : library.symbols) {
    const ElfSymbol* const defined = elf->find(symbol);
    if (defined == nullptr || !defined->defined()) missing.push_back(symbol);
  }
  if (!missing.empty())
    too_old(
        {"does not define ", join(missing, ", ", {}, kMaxNames), ", which the plugin requires"});
}

// Returns all that is missing.
std::vector<Error> required_problems(const ManifestRequires& needs, const ElfFile& elf,
                                     const std::string& path) {
  std::vector<Error> problems;
  std::error_code ignored;
  for (const std::string& node : needs.device_nodes) {
    if (fs::exists(node, ignored)) continue;
    problems.push_back(
        unavailable("device node ", node,
                    " does not exist: the driver is not loaded or the device is absent; in a ",
                    "container it must be passed in")
            .with_reason(reason::no_device_node.tag));
  }
  for (const std::string& file : needs.files) {
    if (fs::exists(file, ignored)) continue;
    problems.push_back(
        unavailable("required file ", file, " does not exist; in a container it must be mounted")
            .with_reason(reason::file_missing.tag));
  }
  if (needs.libraries.empty()) return problems;
  const Linker linker;
  for (const ManifestSoname& library : needs.libraries) {
    if (const std::optional<std::string> found = linker.find(library.soname, elf, path)) {
      check_driver(library, *found, problems);
    } else {
      problems.push_back(unavailable("driver library ", library.soname, " is not found; ",
                                     linker.describe_search(library.soname, &elf, path))
                             .with_reason(reason::driver_missing.tag));
    }
  }
  return problems;
}

Status check_static_tls(const ElfFile& elf, const std::string& path) {
  if (!elf.flags().static_tls || elf.tls_size() <= kStaticTlsReserve) return {};
  return unsupported(
             path, " requires ", elf.tls_size(), " bytes of static thread-local storage, ",
             kStaticTlsReserve,
             " are reserved for libraries opened later; build it with -ftls-model=global-dynamic")
      .with_reason(reason::static_tls.tag);
}

}  // namespace

Result<Inspection> inspect_plugin(const Manifest& manifest, const gantry_abi_range& core,
                                  Depth depth, const LibraryRules& rules) {
  const gantry_abi_range claimed{manifest.abi.major, manifest.abi.min_minor, manifest.abi.max_minor,
                                 0};
  GANTRY_CHECK(negotiate({manifest.id, manifest.version.text}, claimed, core));

  const std::string& path = manifest.library_path;
  GANTRY_TRY(const LibraryFile library, open_library_file(manifest, rules));
  Inspection inspection{library.file, {}, {}};
  const ElfFile& elf = library.elf;
  GANTRY_CHECK(check_host(elf, path));
  GANTRY_CHECK(check_symbols(elf, path));
  GANTRY_TRY(inspection.note, read_plugin_note(elf, path));
  GANTRY_CHECK(check_note(inspection.note, manifest, note_host(core)));

  if (rules.trust != nullptr) {
    Ownership ownership = rules.trust->ownership();
    GANTRY_CHECK(check_search_paths(elf, path, ownership));
  }
  std::vector<Error> missing = required_problems(manifest.needs, elf, path);
  if (depth == Depth::dependencies) {
    for (Error& problem : needed_problems(elf, path, Linker()))
      missing.push_back(std::move(problem));
  }
  GANTRY_CHECK(combined(std::move(missing)));
  if (depth == Depth::dependencies) GANTRY_CHECK(check_static_tls(elf, path));
  if (elf.flags().text_relocations) {
    inspection.warnings.push_back(Message(
        path, " has text relocations, which hardened systems reject; build it with ", "-fPIC"));
  }
  return inspection;
}

}  // namespace gantry
