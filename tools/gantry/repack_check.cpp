// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/repack_check.hpp"

#include "tools/gantry/common/isolated_calls.hpp"
#include "tools/gantry/common/isolated_outcome.hpp"
#include "tools/gantry/session.hpp"

#include "core/engine/embed/objects.hpp"
#include "core/formats/container_symbols.hpp"

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

// Returns the prefixes of the containers of a library besides the one that Runtime::load() reads.
Result<std::vector<std::string>> other_prefixes(const std::filesystem::path& path,
                                                const PayloadLayouts& layouts) {
  std::vector<std::string> others;
  GANTRY_TRY(const ContainerFile first, ContainerFile::open(path, layouts));
  for (const ElfSymbol& symbol : first.elf->symbols()) {
    if (!symbol.defined() || !is_blob_symbol(symbol.name)) continue;
    if (symbol.name == first.container.blob_symbol) continue;
    const auto* const family = std::ranges::find_if(
        container_families, [&](const auto& each) { return symbol.name.ends_with(each.blob); });
    const std::string_view prefix = symbol.name.substr(0, symbol.name.size() - family->blob.size());
    // An empty prefix selects the one that is read.
    if (prefix.empty()) continue;
    GANTRY_TRY(const ContainerFile other, ContainerFile::open(path, layouts, prefix));
    if (other.container.blob_symbol == symbol.name) others.emplace_back(prefix);
  }
  return others;
}

// Adds a warning for each module that no plugin loads.
Status add_missing(const Module& module, std::vector<Message>& warnings) {
  GANTRY_TRY(const std::vector<std::string> missing, module.missing());
  for (const std::string& reason : missing)
    warnings.push_back(
        Message("not loaded: ", std::string_view(reason).substr(0, reason.find('\n'))));
  return {};
}

// As add_missing(), without CPU code, which is not with the bytes of a container.
Status add_missing_of(const Container& container, const Module& module,
                      std::vector<Message>& warnings) {
  GANTRY_TRY(const std::vector<std::string> missing, module.missing());
  for (const std::string& reason : missing) {
    const auto is_cpu_code = [&](const Entry& entry) {
      const auto index = static_cast<std::size_t>(&entry - container.entries.data());
      return entry.is_library() && reason.starts_with(concat("entry ", index, " "));
    };
    if (std::ranges::any_of(container.entries, is_cpu_code)) continue;
    warnings.push_back(
        Message("not loaded: ", std::string_view(reason).substr(0, reason.find('\n'))));
  }
  return {};
}

// others   [in]   containers of the file besides the one that is read
Status load_all(const Runtime& runtime, const std::string& path,
                const std::vector<ContainerFile>& others, std::vector<Message>& warnings) {
  GANTRY_TRY(const Module root, runtime.load(path, {.allow_missing = true}));
  GANTRY_CHECK(add_missing(root, warnings));
  for (const ContainerFile& other : others) {
    const std::string name = concat("container at symbol ", other.container.blob_symbol);
    GANTRY_TRY(const Module module,
               runtime.load_bytes(other.container.bytes, name, {.allow_missing = true}));
    GANTRY_CHECK(add_missing_of(other.container, module, warnings));
  }
  return {};
}

}  // namespace

Result<IsolatedCall> load_isolated(const IsolatedCommand& command, const Runtime& runtime) {
  const PayloadLayouts& layouts = state_of(runtime.get())->layouts;
  std::vector<ContainerFile> others;
  for (const std::string& prefix : command.prefixes) {
    GANTRY_TRY(others.emplace_back(), ContainerFile::open(command.file, layouts, prefix));
  }
  return [&command, runtime, others = std::move(others)](std::size_t) {
    IsolatedOutcome outcome;
    outcome.status =
        guard([&] { return load_all(runtime, command.file, others, outcome.warnings); });
    return text_of(outcome);
  };
}

Result<LoadCheck> check_loading(const Globals& globals, const PayloadLayouts& layouts,
                                const ContainerFile& source, PackForm form,
                                const std::filesystem::path& path) {
  LoadCheck check;
  IsolatedCommand command{.work = "load", .globals = globals, .file = path.native()};
  if (form == PackForm::library) {
    if (source.elf->machine() != host_machine()) {
      check.warnings.push_back(Message("the CPU code is for ", name_of(source.elf->machine()),
                                       ", so that the result is not loaded on this machine"));
      return check;
    }
    GANTRY_TRY(command.prefixes, other_prefixes(path, layouts));
  }
  GANTRY_TRY(const ProgramStart program, start_of(command));
  GANTRY_TRY(const IsolatedAnswer answer, call_isolated(program, max_load_time, "its code"));
  // Standard output has the artifact or a document.
  if (!answer.failure) std::fwrite(answer.printed.data(), 1, answer.printed.size(), stderr);
  IsolatedOutcome outcome = answer.failure ? IsolatedOutcome() : read_outcome(answer.answer);
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
