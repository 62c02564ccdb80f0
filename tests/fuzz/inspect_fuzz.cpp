// SPDX-License-Identifier: Apache-2.0
//
// `gantry inspect` whole: a file of any kind, its report, and the report as text and as JSON.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "tools/gantry/common/escape.hpp"
#include "tools/gantry/inspect_json.hpp"
#include "tools/gantry/inspect_text.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A file without a name: `inspect` opens paths.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(memfd_create("input", 0)) {
    expect(descriptor_ >= 0, "a file in memory can be made");
    expect(write(descriptor_, data, size) == static_cast<ssize_t>(size), "and written");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const MemoryFile file(data, size);
  const std::string path = file.path();
  // Reading keeps 8 times the input (bulk_fuzz.cpp). A report is longer than what it is about: 20 bytes of a container
  // are a module of 250 bytes here, of 80 in the text and of 1 KiB in the JSON document.
  const Budget budget(size, {.bytes_per_input_byte = 128, .bytes_for_free = 4 << 20});
  const cli::InspectOptions options{.layouts = &layouts,
                                    .served_by = [](std::string_view) { return std::nullopt; },
                                    .quiet = true};
  const auto report = cli::inspect_file(path, options);
  if (!report.ok()) {
    expect(!has_control(cli::escaped_lines(report.error().message)),
           "a refusal is safe for a terminal");
    return expect_refusal(report.error(), no_offset);
  }
  const std::string text = cli::inspect_text(*report, cli::Terminal{});
  expect(!has_control(text), "a report is safe for a terminal");
  (void)cli::document_text(cli::inspect_json(*report));
  return 0;
}
