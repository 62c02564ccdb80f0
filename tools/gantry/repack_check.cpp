// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/repack_check.hpp"

#include "tools/gantry/common/forked_outcome.hpp"
#include "tools/gantry/common/forked_work.hpp"

#include "core/format/container_symbols.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/concat.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace gantry::cli {
namespace {

constexpr std::chrono::minutes max_load_time{10};

// Returns the containers of a library besides the one that Runtime::load() reads.
Result<std::vector<ContainerFile>> other_containers(const std::filesystem::path& path,
                                                    const PayloadLayouts& layouts) {
  std::vector<ContainerFile> others;
  GANTRY_TRY(const ContainerFile first, ContainerFile::open(path, layouts));
  for (const ElfSymbol& symbol : first.elf->symbols()) {
    if (!symbol.defined() || !is_blob_symbol(symbol.name)) continue;
    if (symbol.name == first.container.blob_symbol) continue;
    const auto* const family = std::ranges::find_if(
        container_families, [&](const auto& each) { return symbol.name.ends_with(each.blob); });
    const std::string_view prefix = symbol.name.substr(0, symbol.name.size() - family->blob.size());
    // An empty prefix selects the one that is read.
    if (prefix.empty()) continue;
    GANTRY_TRY(ContainerFile other, ContainerFile::open(path, layouts, prefix));
    if (other.container.blob_symbol == symbol.name) others.push_back(std::move(other));
  }
  return others;
}

// Adds a warning for each module that no plugin loads.
void add_missing(const Module& module, std::vector<Message>& warnings) {
  for (const std::string& reason : module.missing())
    warnings.push_back(
        Message("not loaded: ", std::string_view(reason).substr(0, reason.find('\n'))));
}

// As add_missing(), without host code, which is not with the bytes of a container.
void add_missing_of(const Container& container, const Module& module,
                    std::vector<Message>& warnings) {
  for (const std::string& reason : module.missing()) {
    const auto is_host_code = [&](const Entry& entry) {
      const auto index = static_cast<std::size_t>(&entry - container.entries.data());
      return entry.is_library() && reason.starts_with(concat("entry ", index, " "));
    };
    if (std::ranges::any_of(container.entries, is_host_code)) continue;
    warnings.push_back(
        Message("not loaded: ", std::string_view(reason).substr(0, reason.find('\n'))));
  }
}

Status load_all(Runtime& runtime, const std::filesystem::path& path,
                const std::vector<ContainerFile>& others, std::vector<Message>& warnings) {
  GANTRY_TRY(const Module root, runtime.load(path.native(), {.allow_missing = true}));
  add_missing(root, warnings);
  for (const ContainerFile& other : others) {
    const std::string name = concat("container at symbol ", other.container.blob_symbol);
    GANTRY_TRY(const Module module,
               runtime.load_bytes(other.container.bytes, name, {.allow_missing = true}));
    add_missing_of(other.container, module, warnings);
  }
  return {};
}

}  // namespace

Result<LoadCheck> check_loading(Runtime& runtime, const PayloadLayouts& layouts,
                                const ContainerFile& source, PackForm form,
                                const std::filesystem::path& path) {
  LoadCheck check;
  std::vector<ContainerFile> others;
  if (form == PackForm::library) {
    if (source.elf->machine() != host_machine()) {
      check.warnings.push_back(Message("the host code is for ", name_of(source.elf->machine()),
                                       ", so that the result is not loaded on this machine"));
      return check;
    }
    GANTRY_TRY(others, other_containers(path, layouts));
  }
  const auto load = [&] {
    ForkedOutcome outcome;
    outcome.status = guard([&] { return load_all(runtime, path, others, outcome.warnings); });
    return text_of(outcome);
  };
  GANTRY_TRY(const ForkedAnswer answer, call_forked(max_load_time, load, "its code"));
  // Standard output has the artifact or a document.
  if (!answer.failure) std::fwrite(answer.printed.data(), 1, answer.printed.size(), stderr);
  ForkedOutcome outcome = answer.failure ? ForkedOutcome() : read_outcome(answer.answer);
  if (answer.failure)
    outcome.status = unavailable("the result cannot be loaded: ", answer.failure->text);
  Status& loaded = outcome.status;
  for (Message& text : outcome.warnings) check.warnings.push_back(std::move(text));
  if (!loaded.ok()) {
    return std::move(loaded).failure().at("while loading the result; --no-load writes it anyway");
  }
  check.is_loaded = true;
  return check;
}

}  // namespace gantry::cli
