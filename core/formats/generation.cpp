// SPDX-License-Identifier: Apache-2.0
#include "core/formats/generation.hpp"

#include "core/formats/container_symbols.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace gantry {
namespace {

using Family = ContainerSymbols::Family;

// In the order of the enumeration.
constexpr GenerationFacts generation_rows[] = {
    {.generation = Generation::none, .name = "none"},
    {.generation = Generation::g0,
     .name = "G0",
     .layout = ContainerLayout::one,
     .order = EntryOrder::listed,
     .dialect = Dialect::packed,
     .searches_from_root = true,
     .has_old_device_numbers = true,
     .proven_tags = ArgumentTags::no,
     .argument_tags = ArgumentTags::no,
     .has_private_float_codes = true,
     .numbering = Numbering::packed},
    {.generation = Generation::g1,
     .name = "G1",
     .releases = "v0.2 to v0.6",
     .written_as = Generation::g1,
     .layout = ContainerLayout::one,
     .order = EntryOrder::listed,
     .symbol = container_family(Family::legacy).blob,
     .register_function = packed_register_function,
     .dialect = Dialect::packed,
     .searches_from_root = true,
     .has_old_device_numbers = true,
     .proven_tags = ArgumentTags::no,
     .argument_tags = ArgumentTags::no,
     .has_private_float_codes = true,
     .numbering = Numbering::packed},
    {.generation = Generation::g2,
     .name = "G2",
     .releases = "v0.7",
     .written_as = Generation::g2,
     .layout = ContainerLayout::one,
     .order = EntryOrder::separate,
     .symbol = container_family(Family::legacy).blob,
     .register_function = packed_register_function,
     .dialect = Dialect::packed,
     .searches_from_root = true,
     .has_old_device_numbers = true,
     .proven_tags = ArgumentTags::no,
     .argument_tags = ArgumentTags::no,
     .has_private_float_codes = true,
     .numbering = Numbering::packed},
    {.generation = Generation::g3,
     .name = "G3",
     .releases = "v0.8 to v0.20",
     .written_as = Generation::g3,
     .layout = ContainerLayout::one,
     .symbol = container_family(Family::legacy).blob,
     .register_function = packed_register_function,
     .dialect = Dialect::packed,
     .proven_tags = ArgumentTags::no,
     .argument_tags = ArgumentTags::no,
     .has_webgpu_kernel_names = true,
     .has_private_float_codes = true,
     .numbering = Numbering::packed,
     .has_opencl_markers = true,
     .metal = MetalForm::versioned},
    {.generation = Generation::g3x,
     .name = "G3x",
     .written_as = Generation::g3,
     .layout = ContainerLayout::one,
     .dialect = Dialect::ffi_0_21,
     .proven_tags = ArgumentTags::no,
     .argument_tags = ArgumentTags::no,
     .has_webgpu_kernel_names = true,
     .has_private_float_codes = true,
     .has_opencl_markers = true,
     .metal = MetalForm::versioned},
    {.generation = Generation::g4,
     .name = "G4",
     .releases = "v0.21",
     .written_as = Generation::g4,
     .layout = ContainerLayout::one,
     .symbol = container_family(Family::ffi_first).blob,
     .register_function = packed_register_function,
     .dialect = Dialect::ffi_0_21,
     .argument_tags = ArgumentTags::yes,
     .has_webgpu_kernel_names = true,
     .numbering = Numbering::ffi_0_21,
     .has_opencl_markers = true,
     .metal = MetalForm::versioned},
    {.generation = Generation::g4x,
     .name = "G4x",
     .written_as = Generation::g5,
     .layout = ContainerLayout::two,
     .dialect = Dialect::ffi_0_21,
     .proven_tags = ArgumentTags::yes,
     .argument_tags = ArgumentTags::yes,
     .has_webgpu_kernel_names = true,
     .numbering = Numbering::ffi,
     .has_opencl_markers = true,
     .metal = MetalForm::versioned},
    // Written as v0.24 and later write it.
    {.generation = Generation::g5,
     .name = "G5",
     .releases = "v0.22 and later",
     .written_as = Generation::g5,
     .layout = ContainerLayout::two,
     .symbol = container_family(Family::ffi).blob,
     .register_function = ffi_register_function,
     .dialect = Dialect::ffi,
     .proven_tags = ArgumentTags::yes,
     .argument_tags = ArgumentTags::yes,
     .has_kernel_names = true,
     .has_webgpu_kernel_names = true,
     .flag_prefix = "tirx.",
     .numbering = Numbering::ffi,
     .has_code_length = false,
     .has_memory_scopes = true,
     .has_sized_shaders = true,
     .has_opencl_markers = true,
     .metal = MetalForm::separate_sources,
     .has_hexagon_library = true},
    {.generation = Generation::unknown, .name = "unknown"},
};
static_assert(std::size(generation_rows) == static_cast<std::size_t>(Generation::unknown) + 1);
static_assert(std::ranges::is_sorted(generation_rows, std::ranges::less_equal(),
                                     &GenerationFacts::generation));

}  // namespace

const GenerationFacts& generation_facts(Generation generation) {
  return generation_rows[static_cast<std::size_t>(generation)];
}

std::string_view name_of(Dialect dialect) {
  constexpr std::string_view names[] = {"packed", "ffi", "ffi", "unknown"};
  return names[static_cast<std::size_t>(dialect)];
}

}  // namespace gantry
