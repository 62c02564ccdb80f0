// SPDX-License-Identifier: Apache-2.0
//
// Detects the kind of a file, and reads the members of `ar` and `tar` archives.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/archive/archive_members.hpp"
#include "core/formats/kind/file_kind.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

void check(const Result<std::vector<ArchiveMember>>& members, std::size_t size) {
  if (!members.ok()) {
    expect_refusal(members.error(), size);
    return;
  }
  for (const ArchiveMember& member : *members) {
    expect(member.size <= size, "a member is inside its archive");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const std::span<const std::uint8_t> bytes(data, size);
  expect(!name_of(kind_of(bytes)).empty(), "every kind has a name");
  expect(!first_bytes_text(bytes).empty(), "the description of the first bytes is not empty");
  check(read_ar_members(bytes), size);
  check(read_tar_members(bytes), size);
  return 0;
}
