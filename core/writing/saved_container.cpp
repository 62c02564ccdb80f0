// SPDX-License-Identifier: Apache-2.0
#include "core/writing/saved_container.hpp"

#include "core/writing/carrying_stream.hpp"

#include <gantry/quoted.hpp>

namespace gantry {

Result<Generation> form_of(const Container& container) {
  const GenerationFacts& facts = generation_facts(container.facts.generation);
  if (facts.written_as != Generation::none) return facts.written_as;
  if (container.layout == ContainerLayout::none) return unsupported("file has no container");
  return unsupported("container is of generation ", facts.name, ", known forms are G1 to G5");
}

Result<std::vector<ContainerModule>> listed_modules(const Container& container,
                                                    const std::shared_ptr<const MappedFile>& file) {
  std::vector<ContainerModule> modules;
  for (std::size_t e = 0; e < container.entries.size(); ++e) {
    const Entry& entry = container.entries[e];
    if (entry.boundary == Boundary::unknown) {
      return unsupported(
          "payload of entry ", e, " ", quoted(entry.type_key),
          " has no known length; the manifest of its plugin must declare its layout");
    }
    const auto children = container.tree.children_of(e);
    ContainerModule& module = modules.emplace_back();
    module.imports.assign(children.begin(), children.end());
    if (entry.is_library()) continue;
    module.type_key = entry.type_key;
    module.write_payload = [file, payload = entry.payload](Pieces& out) -> Status {
      CarryingStream(file, out).write(payload);
      return {};
    };
  }
  return modules;
}

}  // namespace gantry
