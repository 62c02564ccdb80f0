// SPDX-License-Identifier: Apache-2.0
#include "core/formats/elf/elf_memory.hpp"

#include <gantry/byte_count.hpp>

#include <bit>

namespace gantry {
namespace {

// The smallest page of any supported machine.
constexpr std::uint64_t page_bytes = 4096;
// Beyond the addresses of processes.
constexpr std::uint64_t max_address = std::uint64_t{1} << 47;
constexpr std::uint64_t header_count_at = 0x38;
constexpr std::uint32_t executable = 1, readable = 4;

// Offsets of fields in a program header.
constexpr std::uint64_t flags_at = 4, offset_at = 8, address_at = 16, file_size_at = 32,
                        memory_size_at = 40, alignment_at = 48;

std::uint64_t page_begin(std::uint64_t address) { return address & ~(page_bytes - 1); }
std::uint64_t page_end(std::uint64_t address) { return page_begin(address + page_bytes - 1); }

}  // namespace

Result<ElfMemory> ElfMemory::of(const ElfImage& image) {
  const auto& segments = image.segments();
  if (segments.size() > max_segments) {
    return malformed(header_count_at, "file has ", segments.size(), " program headers, limit is ",
                     max_segments);
  }
  ElfMemory memory(image);
  GANTRY_CHECK(memory.check_order());
  const ElfSegment* dynamic = nullptr;
  for (const ElfSegment& segment : segments) {
    switch (segment.type) {
      case segment_type::dynamic:
        if (dynamic != nullptr) return malformed(segment.at, "file has two dynamic segments");
        dynamic = &segment;
        GANTRY_CHECK(memory.check_dynamic(segment));
        break;
      case segment_type::tls:
        GANTRY_CHECK(memory.check_tls(segment));
        break;
      case segment_type::gnu_relro:
        GANTRY_CHECK(memory.check_relro(segment));
        break;
      case segment_type::program_headers:
        GANTRY_CHECK(memory.check_program_headers(segment));
        break;
      case segment_type::note:
        GANTRY_CHECK(memory.check_contained(segment, "PT_NOTE", segment.memory_size));
        break;
      case segment_type::gnu_property:
        GANTRY_CHECK(memory.check_contained(segment, "PT_GNU_PROPERTY", segment.memory_size));
        break;
      default:
        break;
    }
  }
  return memory;
}

const ElfSegment* ElfMemory::segment_of(std::uint64_t address, std::uint64_t size) {
  if (last_ != nullptr && last_->contains(address, size)) return last_;
  for (const ElfSegment& segment : image_->segments()) {
    if (segment.type == segment_type::load && segment.contains(address, size)) {
      last_ = &segment;
      return last_;
    }
  }
  return nullptr;
}

bool ElfMemory::is_code(std::uint64_t address) {
  const ElfSegment* const segment = segment_of(address, 1);
  return segment != nullptr && segment->is_executable() &&
         address - segment->address < segment->file_size;
}

Status ElfMemory::check_order() const {
  std::uint64_t end = 0, file_end = 0;
  for (std::size_t i = 0; i < image_->segments().size(); ++i) {
    const ElfSegment& segment = image_->segments()[i];
    if (segment.type != segment_type::load) continue;
    if (segment.address >= max_address || segment.memory_size >= max_address) {
      return malformed(segment.at + (segment.address >= max_address ? address_at : memory_size_at),
                       "segment ", i, " of ", segment.memory_size, " bytes is at address ",
                       Hex{segment.address}, ", limit of both is ", Hex{max_address});
    }
    if (page_begin(segment.address) < end) {
      return malformed(segment.at + address_at, "segment ", i, " is at address ",
                       Hex{segment.address}, ", the pages of the segment before end at ", Hex{end});
    }
    end = page_end(segment.address + segment.memory_size);
    if ((segment.flags & (readable | executable)) == 0) {
      return malformed(segment.at + flags_at, "segment ", i, " is neither readable nor executable");
    }
    if (segment.is_executable() && !segment.is_writable() &&
        segment.file_size != segment.memory_size) {
      return malformed(segment.at + file_size_at, "segment ", i, " has code of ",
                       ByteCount(segment.memory_size), ", ", ByteCount(segment.file_size),
                       " in the file");
    }
    if (segment.file_size != 0) {
      if (segment.offset < file_end) {
        return malformed(segment.at + offset_at, "segment ", i, " is at offset ",
                         Hex{segment.offset}, ", the segment before ends at ", Hex{file_end});
      }
      file_end = segment.offset + segment.file_size;
    } else if (segment.memory_size != 0 && page_begin(segment.address) != segment.address &&
               page_begin(segment.offset) >= image_->bytes().size()) {
      return malformed(segment.at + offset_at, "segment ", i, " shares the page at ",
                       Hex{page_begin(segment.offset)}, " of the file, which ends at ",
                       Hex{image_->bytes().size()});
    }
  }
  return {};
}

Status ElfMemory::check_contained(const ElfSegment& segment, std::string_view name,
                                  std::uint64_t size) {
  if (segment_of(segment.address, size) != nullptr) return {};
  return malformed(segment.at + address_at, name, " of ", size, " bytes is at address ",
                   Hex{segment.address}, ", which is not inside a loaded segment");
}

Status ElfMemory::check_dynamic(const ElfSegment& segment) {
  GANTRY_CHECK(check_contained(segment, "PT_DYNAMIC", segment.file_size));
  const ElfSegment& loaded = *segment_of(segment.address, segment.file_size);
  const std::uint64_t offset = loaded.offset + (segment.address - loaded.address);
  const std::uint64_t end = segment.address - loaded.address + segment.file_size;
  if (offset != segment.offset || end > loaded.file_size) {
    return malformed(segment.at + address_at, "PT_DYNAMIC is at offset ", Hex{segment.offset},
                     ", its address ", Hex{segment.address}, " leads to offset ", Hex{offset});
  }
  // The linker writes to a dynamic segment whose header permits it.
  if (segment.is_writable() && !loaded.is_writable()) {
    return malformed(segment.at + flags_at,
                     "PT_DYNAMIC is writable, the loaded segment that contains it is not");
  }
  return {};
}

Status ElfMemory::check_tls(const ElfSegment& segment) {
  if (segment.file_size > segment.memory_size) {
    return malformed(segment.at + file_size_at, "PT_TLS has ", segment.file_size,
                     " bytes in the file, ", segment.memory_size, " in memory");
  }
  if (segment.memory_size != 0 && !std::has_single_bit(segment.alignment)) {
    return malformed(segment.at + alignment_at, "PT_TLS is aligned to ", segment.alignment,
                     ", expected a power of two");
  }
  if (segment.file_size == 0) return {};
  return check_contained(segment, "PT_TLS", segment.file_size);
}

// Linkers may extend it to the end of a page.
Status ElfMemory::check_relro(const ElfSegment& segment) {
  const ElfSegment* const loaded = segment_of(segment.address, 0);
  const std::uint64_t room =
      loaded ? page_end(loaded->address + loaded->memory_size) - segment.address : 0;
  if (loaded == nullptr || segment.memory_size > room) {
    return check_contained(segment, "PT_GNU_RELRO", segment.memory_size);
  }
  if (loaded->is_writable() && !loaded->is_executable()) return {};
  return malformed(segment.at + address_at, "PT_GNU_RELRO is at address ", Hex{segment.address},
                   ", in a segment that is not writable or is executable");
}

Status ElfMemory::check_program_headers(const ElfSegment& segment) {
  const std::uint64_t size = image_->segments().size() * program_header_bytes;
  GANTRY_CHECK(check_contained(segment, "PT_PHDR", size));
  const ElfSegment& loaded = *segment_of(segment.address, size);
  const std::uint64_t offset = loaded.offset + (segment.address - loaded.address);
  if (offset == image_->segments().front().at) return {};
  return malformed(segment.at + address_at, "PT_PHDR is at address ", Hex{segment.address},
                   ", which leads to offset ", Hex{offset}, ", the program headers are at ",
                   Hex{image_->segments().front().at});
}

}  // namespace gantry
