// SPDX-License-Identifier: Apache-2.0
#include "core/writing/free_program_header.hpp"

#include "core/formats/elf/elf_symbols.hpp"

#include <gantry/concat.hpp>
#include <gantry/join.hpp>

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace gantry {
namespace {

// Lower is dropped first.
enum class Loss : std::uint8_t { nothing, reserve, notes, table_address };

struct NamedType {
  std::uint32_t type;
  std::string_view name;
};
constexpr NamedType named_types[] = {{PT_LOAD, "PT_LOAD"},
                                     {PT_DYNAMIC, "PT_DYNAMIC"},
                                     {PT_INTERP, "PT_INTERP"},
                                     {PT_NOTE, "PT_NOTE"},
                                     {PT_TLS, "PT_TLS"},
                                     {PT_GNU_EH_FRAME, "PT_GNU_EH_FRAME"},
                                     {PT_GNU_STACK, "PT_GNU_STACK"},
                                     {PT_GNU_RELRO, "PT_GNU_RELRO"},
                                     {0x6474e553, "PT_GNU_PROPERTY"}};

std::string name_of_type(std::uint32_t type) {
  const auto* const known = std::ranges::find(named_types, type, &NamedType::type);
  if (known == std::end(named_types)) return concat(Hex{type});
  return std::string(known->name);
}

bool has_properties(const ElfNote& note) {
  return note.owner == "GNU" && note.type == NT_GNU_PROPERTY_TYPE_0;
}

bool has_property_header(const ElfImage& image) {
  return std::ranges::any_of(image.segments(), [](const ElfSegment& segment) {
    return segment.type == segment_type::gnu_property;
  });
}

// Returns what the library loses with a segment's header; nullopt if it needs that.
Result<std::optional<Loss>> loss_of(const ElfImage& image, std::size_t index) {
  const std::uint32_t type = image.segments()[index].type;
  if (type == PT_NULL) return std::optional(Loss::nothing);
  if (type == PT_PHDR) return std::optional(Loss::table_address);
  if (type != PT_NOTE) return std::optional<Loss>();
  GANTRY_TRY(const auto bytes, image.bytes_of_segment(index));
  std::vector<ElfNote> notes;
  append_notes(bytes, notes);
  if (std::ranges::any_of(notes, has_properties) && !has_property_header(image)) {
    return std::optional<Loss>();
  }
  const bool is_reserve = !notes.empty() && std::ranges::all_of(notes, [](const ElfNote& note) {
    return note.owner == reserve_note_owner;
  });
  return std::optional(is_reserve ? Loss::reserve : Loss::notes);
}

}  // namespace

Result<std::size_t> find_free_program_header(const ElfImage& image) {
  std::optional<std::size_t> best;
  Loss least{};
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    GANTRY_TRY(const std::optional<Loss> loss, loss_of(image, i));
    if (!loss || (best && *loss >= least)) continue;
    best = i;
    least = *loss;
  }
  if (best) return *best;
  const auto name = [](const ElfSegment& segment) { return name_of_type(segment.type); };
  return unsupported("library has no free program header for the container; it has ",
                     join(image.segments(), ", ", name),
                     "; link it again with -Wl,--build-id, which adds one")
      .with_reason("ELF_NO_HEADER");
}

}  // namespace gantry
