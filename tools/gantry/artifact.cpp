// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/artifact.hpp"

#include "core/blob/details.hpp"
#include "core/host/dialect.hpp"
#include "core/host/library_imports.hpp"

#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry::cli {

Result<Artifact> read_artifact(const std::string& path, const PayloadLayouts& layouts) {
  GANTRY_TRY(auto file, MappedFile::open(path));
  GANTRY_TRY(ElfFile elf, ElfFile::parse(file));
  GANTRY_TRY(Container container, read_container(elf, layouts));
  return Artifact{std::move(file), std::move(elf), std::move(container)};
}

std::vector<std::string> model_names(const Artifact& artifact, const PayloadLayouts& layouts) {
  std::vector<std::string> names;
  for (const Entry& entry : artifact.container.entries) {
    const PayloadDetails details = describe_payload(entry, artifact.container.context, layouts);
    const Detail* name = details.root.find("module_name");
    if (name == nullptr || name->kind != Detail::Kind::text) continue;
    if (std::find(names.begin(), names.end(), name->value) == names.end()) {
      names.push_back(name->value);
    }
  }
  return names;
}

Status check_host_code(const Artifact& artifact) {
  const ElfFile& elf = artifact.elf;
  if (elf.type() != ElfType::shared || elf.flags().pie) {
    return unsupported("it is no shared library").because("FILE_KIND");
  }
  if (elf.machine() != host_machine()) {
    return unavailable("it is ", name_of(elf.machine()), ", this host is ", name_of(host_machine()))
        .because("BLOB_ARCH");
  }
  if (const DialectFound found = dialect_of(elf); found.dialect == HostDialect::ffi) {
    return unsupported("it is of the ffi dialect (", quoted(found.symbol), ": written by ",
                       found.writer,
                       "); this version runs the packed dialect of TVM 0.20 and older")
        .because("DIALECT_FFI");
  }
  GANTRY_CHECK(check_tvm_imports(elf, "it"));
  return {};
}

}  // namespace gantry::cli
