// SPDX-License-Identifier: Apache-2.0
#include "core/mlf/function_names.hpp"

#include "core/elf/elf_file.hpp"

namespace gantry {

const MlfFunctions::Symbols& MlfFunctions::symbols_of(const ArchiveMember& member,
                                                      bool is_library) {
  const auto [at, is_new] = symbols_.try_emplace(member.name);
  Symbols& symbols = at->second;
  if (!is_new) return symbols;
  const Result<ElfFile> file = ElfFile::parse(member.content);
  if (!file.ok()) {
    findings_.error(member.name, file.error().message);
    symbols.is_readable = false;
    return symbols;
  }
  if (file->type() != (is_library ? ElfType::shared : ElfType::relocatable)) {
    findings_.error(member.name, "is no ", is_library ? "shared library" : "relocatable object");
  }
  for (const ElfSymbol& symbol : file->symbols()) {
    if (symbol.defined() && symbol.binding != SymbolBinding::local) {
      symbols.names.push_back(symbol.name);
    }
  }
  return symbols;
}

MlfFunctionNames MlfFunctions::of(std::size_t model) {
  const MlfModel& described = archive_.metadata.models[model];
  const MlfModelFiles& files = archive_.model_files[model];
  MlfFunctionNames names;
  names.is_complete = files.sources.empty() && described.blobs.empty();
  const auto add = [&](const ArchiveMember* member, bool is_library) {
    if (member == nullptr) return;
    const Symbols& symbols = symbols_of(*member, is_library);
    names.defined.insert(symbols.names.begin(), symbols.names.end());
    names.is_complete &= symbols.is_readable;
  };
  for (const std::string& object : files.objects) add(archive_.files.find(object), false);
  if (described.library) add(archive_.files.find(described.library->path), true);
  return names;
}

}  // namespace gantry
