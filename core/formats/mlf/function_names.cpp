// SPDX-License-Identifier: Apache-2.0
#include "core/formats/mlf/function_names.hpp"

#include "core/formats/elf/elf_file.hpp"

namespace gantry {

bool MlfFunctionNames::contains(std::string_view name) const {
  return (objects != nullptr && objects->names.contains(name)) ||
         (library != nullptr && library->names.contains(name));
}

std::vector<std::string_view> MlfFunctionNames::all() const {
  std::vector<std::string_view> names;
  for (const MlfSymbols* symbols : {objects, library}) {
    if (symbols != nullptr) names.insert(names.end(), symbols->names.begin(), symbols->names.end());
  }
  return names;
}

void MlfFunctions::read(const ArchiveMember& member, bool is_library, MlfSymbols& symbols) {
  const Result<ElfFile> file = ElfFile::parse(member.content);
  if (!file.ok()) {
    findings_.error(member.name, file.error().message);
    symbols.is_readable = false;
    return;
  }
  if (file->type() != (is_library ? ElfType::shared : ElfType::relocatable)) {
    findings_.error(member.name, "is no ", is_library ? "shared library" : "relocatable object");
  }
  for (const ElfSymbol& symbol : file->symbols()) {
    if (symbol.defined() && symbol.binding != SymbolBinding::local) {
      symbols.names.insert(symbol.name);
    }
  }
}

MlfFunctionNames MlfFunctions::of(std::size_t model) {
  const MlfModel& described = archive_.metadata.models[model];
  const MlfModelFiles& files = archive_.model_files[model];
  MlfFunctionNames names;
  names.is_complete = files.sources.empty() && described.blobs.empty();
  if (!files.objects.empty()) {
    const auto [at, is_new] = objects_.try_emplace(files.objects.front());
    for (std::size_t i = 0; is_new && i < files.objects.size(); ++i) {
      read(*archive_.files.find(files.objects[i]), false, at->second);
    }
    names.objects = &at->second;
    names.is_complete &= at->second.is_readable;
  }
  const ArchiveMember* library =
      described.library ? archive_.files.find(described.library->path) : nullptr;
  if (library != nullptr) {
    const auto [at, is_new] = libraries_.try_emplace(library->name);
    if (is_new) read(*library, true, at->second);
    names.library = &at->second;
    names.is_complete &= at->second.is_readable;
  }
  return names;
}

}  // namespace gantry
