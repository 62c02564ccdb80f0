// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/artifact.hpp"

#include "core/format/details.hpp"

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
    const PayloadDetails details = describe_payload(entry, artifact.container.facts, layouts);
    const Detail* name = details.root.find("module_name");
    if (name == nullptr || name->kind != Detail::Kind::text) continue;
    if (std::find(names.begin(), names.end(), name->value) == names.end()) {
      names.push_back(name->value);
    }
  }
  return names;
}

}  // namespace gantry::cli
