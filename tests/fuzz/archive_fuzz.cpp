// SPDX-License-Identifier: Apache-2.0
//
// Detects the kind of a file, and reads the members of `ar` and `tar` archives.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "tools/gantry/common/archive_members.hpp"
#include "tools/gantry/common/file_kind.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

void check(const Result<std::vector<cli::ArchiveMember>>& members, std::size_t size) {
  if (!members.ok()) {
    expect_refusal(members.error(), size);
    return;
  }
  for (const cli::ArchiveMember& member : *members) {
    expect(member.size <= size, "a member is inside its archive");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const std::span<const std::uint8_t> bytes(data, size);
  expect(!cli::name_of(cli::kind_of(bytes)).empty(), "every kind has a name");
  expect(!cli::first_bytes_text(bytes).empty(), "the description of the first bytes is not empty");
  check(cli::read_ar_members(bytes), size);
  check(cli::read_tar_members(bytes), size);
  return 0;
}
