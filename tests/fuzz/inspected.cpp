// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/inspected.hpp"

#include "tests/fuzz/fuzz.hpp"
#include "tools/gantry/inspect_text.hpp"

#include <gantry/utf8.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace gantry::fuzz {
namespace {

// A file in memory with a path, because `inspect` opens paths.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : descriptor_(memfd_create("input", 0)) {
    expect(descriptor_ >= 0, "a file in memory can be created");
    expect(write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "a file in memory can be written");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = decode_utf8(text, at);
    if (character.size == 0) return true;
    if (text[at] != '\n' && is_text_control(character.number)) return true;
    at += character.size;
  }
  return false;
}

InspectOptions options() {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  return {.find_layouts = []() -> Result<const PayloadLayouts*> { return &layouts; },
          .served_by = [](std::string_view) { return std::nullopt; },
          .offered_by = [](std::string_view) { return std::nullopt; },
          .verbose = true};
}

}  // namespace

void inspect_whole(std::span<const std::uint8_t> bytes) {
  const MemoryFile file(bytes);
  const std::string path = file.path();
  const auto report = inspect_file(path, options());
  if (!report.ok()) {
    expect(!has_control(report.error().message), "a refusal is safe for a terminal");
    expect_refusal(report.error(), no_offset);
    return;
  }
  write_whole(*report);
}

void write_whole(const InspectReport& report) {
  const InspectOptions how = options();
  bool safe = true;
  cli::write_inspect_text(report, how, cli::Terminal{},
                          [&](std::string_view piece) { safe = safe && !has_control(piece); });
  expect(safe, "a report is safe for a terminal");
  write_inspect_json(report, how, [](std::string_view) {});
}

}  // namespace gantry::fuzz
