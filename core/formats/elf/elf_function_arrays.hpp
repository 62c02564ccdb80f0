// SPDX-License-Identifier: Apache-2.0
//
// The arrays of functions that the system's linker calls when it opens and closes a library:
// DT_PREINIT_ARRAY, DT_INIT_ARRAY and DT_FINI_ARRAY. Their entries are addresses that relocations
// write.
#pragma once

#include "core/formats/elf/elf_dynamic.hpp"
#include "core/formats/elf/elf_memory.hpp"

#include <gantry/result.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gantry {

class FunctionArrays {
 public:
  // Checks that the arrays are inside the file parts of segments.
  //
  // memory   of that image; must outlive the result
  static Result<FunctionArrays> of(const ElfImage& image, const DynamicSegment& dynamic,
                                   ElfMemory& memory);

  // True if the bytes may be those of an entry.
  bool may_overlap(std::uint64_t address, std::uint64_t size) const {
    return address < end_ && address + size > begin_;
  }

  // Checks what a relocation writes.
  //
  // address  of the 8 bytes that are written, not necessarily in an array
  // value    address in the library; nullopt if the relocation finds the function in another one
  // at       file offset of the relocation, for errors
  Status relocate(std::uint64_t address, std::optional<std::uint64_t> value, std::uint64_t at);
  // The same for a relocation whose value is the content of the entry.
  Status relocate_in_place(std::uint64_t address, std::uint64_t at);
  // Rejects other bytes that a relocation writes, if they are in an array.
  Status refuse(std::uint64_t address, std::uint64_t size, std::uint64_t at) const;
  // Checks that every entry is relocated; in a library with a fixed address, it may contain the
  // address of code.
  Status check_complete();

 private:
  struct Array {
    std::string_view name;
    std::uint64_t address = 0;
    // file offset
    std::uint64_t at = 0;
    std::span<const std::uint8_t> bytes;
    std::vector<bool> is_relocated;
  };
  struct Entry {
    Array* array;
    std::size_t index;
  };
  explicit FunctionArrays(ElfMemory& memory) : memory_(&memory) {}
  // Returns nullopt if the bytes are in no array.
  Result<std::optional<Entry>> find(std::uint64_t address, std::uint64_t at);

  ElfMemory* memory_;
  std::vector<Array> arrays_;
  // addresses of the first array's begin and the last one's end
  std::uint64_t begin_ = UINT64_MAX, end_ = 0;
  bool has_fixed_address_ = false;
};

}  // namespace gantry
