// SPDX-License-Identifier: Apache-2.0
//
// Damages every byte that the system's linker reads of an artifact, one at a time. The linker must
// open each file that passes the checks, or report an error: it must not end the process, except at
// the places that core/formats/elf/elf_link.hpp lists.
#include "core/formats/elf/elf_link.hpp"
#include "core/formats/elf/elf_symbols.hpp"
#include "tests/support/files.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace gantry {
namespace {

struct Range {
  std::string name;
  std::uint64_t begin, size;
  // bytes of a record, and which of them lead to other code or data if they are damaged
  std::uint64_t record_bytes = 1;
  std::vector<std::uint64_t> leads_elsewhere;
};

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> all;
  for (; first < end; ++first) all.push_back(first);
  return all;
}

std::vector<Range> ranges_of(const ElfFile& elf) {
  const DynamicSegment& dynamic = elf.dynamic();
  const auto at = [&](std::uint64_t tag) {
    const DynamicValue* const entry = dynamic.find(tag);
    return elf.offset_in_file(bytes_behind(elf.image(), *entry, "table").value());
  };
  const auto& segments = elf.image().segments();
  std::vector<Range> ranges{{"ELF header", 0, 64},
                            {"program headers", segments.front().at, 56 * segments.size()}};
  for (const ElfSegment& segment : segments) {
    if (segment.type != segment_type::dynamic) continue;
    std::vector<std::uint64_t> functions;
    for (const std::uint64_t tag : {dynamic_tag::init, dynamic_tag::fini}) {
      const std::uint64_t value_at = dynamic.find(tag)->at - segment.offset;
      for (std::uint64_t i = 0; i < 8; ++i) functions.push_back(value_at + i);
    }
    ranges.push_back({"dynamic segment", segment.offset, segment.file_size, segment.file_size,
                      std::move(functions)});
  }
  // The address that is written, the symbol and the addend.
  std::vector<std::uint64_t> targets = from_to(0, 8);
  for (const std::uint64_t i : from_to(12, 24)) targets.push_back(i);
  ranges.push_back({"DT_RELA", at(dynamic_tag::relocations),
                    dynamic.value(dynamic_tag::relocation_bytes), 24, targets});
  ranges.push_back({"DT_JMPREL", at(dynamic_tag::plt_relocations),
                    dynamic.value(dynamic_tag::plt_relocation_bytes), 24, targets});
  const std::uint64_t symbols = elf.symbols().size() + 1;
  // The type and the value.
  std::vector<std::uint64_t> values = from_to(8, 16);
  values.push_back(4);
  ranges.push_back(
      {"DT_SYMTAB", at(dynamic_tag::symbols), symbol_bytes * symbols, symbol_bytes, values});
  ranges.push_back({"DT_GNU_HASH", at(dynamic_tag::gnu_hash),
                    at(dynamic_tag::symbols) - at(dynamic_tag::gnu_hash)});
  ranges.push_back({"DT_VERSYM", at(dynamic_tag::versions), 2 * symbols});
  ranges.push_back({"DT_VERNEED", at(dynamic_tag::version_needs),
                    at(dynamic_tag::relocations) - at(dynamic_tag::version_needs)});
  return ranges;
}

bool passes(std::span<const std::uint8_t> bytes) {
  const auto elf = ElfFile::parse(bytes);
  return elf.ok() && elf->type() == ElfType::shared && elf->machine() == host_machine() &&
         elf->check_complete().ok() && check_link(*elf).ok();
}

// Opens and closes the library in a child; returns false if that ends the child.
bool can_be_opened(std::span<const std::uint8_t> bytes) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    // The linker reports a failed assertion.
    dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
    const int file = memfd_create("damaged", 0);
    if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) _exit(2);
    void* const opened = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW);
    if (opened != nullptr) dlclose(opened);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

TEST(DamagedLibrary, IsRejectedOrOpened) {
  std::vector<std::uint8_t> bytes = test::read_file(test::golden("tvm-0.12/digits_mlp_c.so"));
  ASSERT_TRUE(passes(bytes) && can_be_opened(bytes));
  const std::vector<std::uint8_t> whole = bytes;
  std::size_t rejected = 0, opened = 0;
  for (const Range& range : ranges_of(ElfFile::parse(whole).value())) {
    for (std::uint64_t i = 0; i < range.size; ++i) {
      const auto& excluded = range.leads_elsewhere;
      const bool is_stated =
          std::find(excluded.begin(), excluded.end(), i % range.record_bytes) != excluded.end();
      std::uint8_t& byte = bytes[range.begin + i];
      const std::uint8_t was = byte;
      for (const int value : {0, 0xff, was ^ 1, was + 8}) {
        byte = static_cast<std::uint8_t>(value);
        if (byte == was) continue;
        if (!passes(bytes)) {
          ++rejected;
        } else if (!is_stated) {
          ++opened;
          EXPECT_TRUE(can_be_opened(bytes))
              << range.name << ": byte " << i << ", " << int{was} << " -> " << int{byte};
        }
      }
      byte = was;
    }
  }
  // Damage must reach both.
  EXPECT_GT(rejected, 2000u);
  EXPECT_GT(opened, 1000u);
}

}  // namespace
}  // namespace gantry
