// SPDX-License-Identifier: Apache-2.0
#include "core/formats/exporter_facts.hpp"

#include "core/formats/import_tree.hpp"

#include <cstddef>

namespace gantry {

std::string_view name_of(Generation generation) {
  constexpr std::string_view names[] = {"none", "G0", "G1",  "G2", "G3",
                                        "G3x",  "G4", "G4x", "G5", "unknown"};
  return names[static_cast<std::size_t>(generation)];
}

std::string_view name_of(Dialect dialect) {
  constexpr std::string_view names[] = {"packed", "ffi", "ffi", "unknown"};
  return names[static_cast<std::size_t>(dialect)];
}

void ExporterFacts::set_generation(Generation proven) {
  generation = proven;
  const bool is_old =
      proven == Generation::g0 || proven == Generation::g1 || proven == Generation::g2;
  look_up_start = is_old ? LookUpStart::root : LookUpStart::library;
  device_numbering = is_old ? DeviceNumbering::up_to_v0_7 : DeviceNumbering::since_v0_8;
}

void ExporterFacts::add_tree(std::uint64_t libraries, const ImportTree* tree) {
  if (generation != Generation::g3 && generation != Generation::g3x) return;
  if (tree == nullptr) {
    set_generation(Generation::g1);
  } else if (libraries > 1 || tree->has_child_before_parent()) {
    set_generation(Generation::g2);
  }
}

}  // namespace gantry
