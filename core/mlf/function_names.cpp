// SPDX-License-Identifier: Apache-2.0
#include "core/mlf/function_names.hpp"

#include "core/elf/elf_file.hpp"

namespace gantry {
namespace {

void add_symbols(const ArchiveMember& member, ElfType expected, MlfFunctionNames& names,
                 Findings& findings) {
  const Result<ElfFile> file = ElfFile::parse(member.content);
  if (!file.ok()) {
    findings.error(member.name, file.error().message);
    names.is_complete = false;
    return;
  }
  if (file->type() != expected) {
    findings.error(member.name, "is no ",
                   expected == ElfType::shared ? "shared library" : "relocatable object");
  }
  for (const ElfSymbol& symbol : file->symbols()) {
    if (symbol.defined() && symbol.binding != SymbolBinding::local) {
      names.defined.emplace(symbol.name);
    }
  }
}

}  // namespace

MlfFunctionNames function_names_of(const ModelLibrary& archive, std::size_t model,
                                   Findings& findings) {
  const MlfModel& described = archive.metadata.models[model];
  const MlfModelFiles& files = archive.model_files[model];
  MlfFunctionNames names;
  names.is_complete = files.sources.empty() && described.blobs.empty();
  for (const std::string& object : files.objects) {
    add_symbols(*archive.files.find(object), ElfType::relocatable, names, findings);
  }
  if (described.library) {
    const ArchiveMember* library = archive.files.find(described.library->path);
    if (library != nullptr) add_symbols(*library, ElfType::shared, names, findings);
  }
  return names;
}

}  // namespace gantry
