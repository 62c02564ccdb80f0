// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_function_arrays.hpp"

#include <gantry/byte_reader.hpp>

#include <algorithm>

namespace gantry {
namespace {

constexpr std::uint64_t entry_bytes = 8;

std::uint64_t content_of(std::span<const std::uint8_t> array, std::size_t index) {
  return ByteReader(array.subspan(index * entry_bytes)).read_u64("function address").value();
}

}  // namespace

Result<FunctionArrays> FunctionArrays::of(const ElfImage& image, const DynamicSegment& dynamic,
                                          ElfMemory& memory) {
  constexpr SizedTable tables[] = {
      {"DT_PREINIT_ARRAY", "DT_PREINIT_ARRAYSZ", dynamic_tag::preinit_array,
       dynamic_tag::preinit_array_bytes, entry_bytes},
      {"DT_INIT_ARRAY", "DT_INIT_ARRAYSZ", dynamic_tag::init_array, dynamic_tag::init_array_bytes,
       entry_bytes},
      {"DT_FINI_ARRAY", "DT_FINI_ARRAYSZ", dynamic_tag::fini_array, dynamic_tag::fini_array_bytes,
       entry_bytes}};
  FunctionArrays arrays(memory);
  for (const SizedTable& table : tables) {
    GANTRY_TRY(const auto bytes, sized_table(image, dynamic, table));
    if (bytes.empty()) continue;
    const std::uint64_t address = dynamic.value(table.address_tag);
    arrays.arrays_.push_back({table.name, address, image.offset_in_file(bytes), bytes,
                              std::vector<bool>(bytes.size() / entry_bytes)});
    arrays.begin_ = std::min(arrays.begin_, address);
    arrays.end_ = std::max(arrays.end_, address + bytes.size());
  }
  for (const ElfSegment& segment : image.segments()) {
    if (segment.type != segment_type::load) continue;
    arrays.has_fixed_address_ = segment.address != 0;
    break;
  }
  return arrays;
}

Result<std::optional<FunctionArrays::Entry>> FunctionArrays::find(std::uint64_t address,
                                                                  std::uint64_t at) {
  for (Array& array : arrays_) {
    if (address + entry_bytes <= array.address || address >= array.address + array.bytes.size()) {
      continue;
    }
    if ((address - array.address) % entry_bytes != 0) {
      return malformed(at, "relocation writes to address ", Hex{address},
                       ", which is not an entry ", "of ", array.name, " at ", Hex{array.address});
    }
    return std::optional<Entry>({&array, (address - array.address) / entry_bytes});
  }
  return std::optional<Entry>();
}

Status FunctionArrays::relocate(std::uint64_t address, std::optional<std::uint64_t> value,
                                std::uint64_t at) {
  GANTRY_TRY(const std::optional<Entry> entry, find(address, at));
  if (!entry) return {};
  entry->array->is_relocated[entry->index] = true;
  if (!value || memory_->is_code(*value)) return {};
  return malformed(at, "relocation writes ", Hex{*value}, " to entry ", entry->index, " of ",
                   entry->array->name, ", which is not inside an executable segment");
}

Status FunctionArrays::relocate_in_place(std::uint64_t address, std::uint64_t at) {
  GANTRY_TRY(const std::optional<Entry> entry, find(address, at));
  if (!entry) return {};
  return relocate(address, content_of(entry->array->bytes, entry->index), at);
}

Status FunctionArrays::refuse(std::uint64_t address, std::uint64_t size, std::uint64_t at) const {
  for (const Array& array : arrays_) {
    if (address + size <= array.address || address >= array.address + array.bytes.size()) continue;
    return malformed(at, "relocation writes ", size, " bytes to address ", Hex{address}, " in ",
                     array.name, ", which are not the address of a function");
  }
  return {};
}

Status FunctionArrays::check_complete() {
  for (const Array& array : arrays_) {
    for (std::size_t i = 0; i < array.is_relocated.size(); ++i) {
      if (array.is_relocated[i]) continue;
      const std::uint64_t content = content_of(array.bytes, i);
      if (has_fixed_address_ && memory_->is_code(content)) continue;
      return malformed(array.at + i * entry_bytes, "entry ", i, " of ", array.name, " is ",
                       Hex{content}, ", no relocation makes it the address of a function");
    }
  }
  return {};
}

}  // namespace gantry
