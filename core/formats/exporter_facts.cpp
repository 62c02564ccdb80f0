// SPDX-License-Identifier: Apache-2.0
#include "core/formats/exporter_facts.hpp"

#include "core/formats/import_tree.hpp"

namespace gantry {

void ExporterFacts::add_tree(std::uint64_t libraries, const ImportTree* tree) {
  if (generation != Generation::g3 && generation != Generation::g3x) return;
  if (tree == nullptr) {
    generation = Generation::g1;
  } else if (libraries > 1 || tree->has_child_before_parent()) {
    generation = Generation::g2;
  }
}

}  // namespace gantry
