// SPDX-License-Identifier: Apache-2.0
//
// What kind of file this is, and the members of a linker's archive and of a tar.
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
    expect(member.size <= size, "a member lies in its archive");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const std::span<const std::uint8_t> bytes(data, size);
  expect(!cli::name_of(cli::kind_of(bytes)).empty(), "every kind has a name");
  expect(!cli::first_bytes_text(bytes).empty(), "first bytes are told in words");
  check(cli::read_ar_members(bytes), size);
  check(cli::read_tar_members(bytes), size);
  return 0;
}
