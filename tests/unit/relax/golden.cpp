// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax/golden.hpp"

#include "core/base/mapped_file.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/support/files.hpp"
#include "tests/support/payload_blob.hpp"

#include <algorithm>
#include <filesystem>

namespace gantry::relax::test {
namespace {

std::vector<GoldenExecutable> read_all() {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  std::vector<GoldenExecutable> found;
  for (const char* const directory : {"relax", "tvm-0.25"}) {
    for (const auto& file : std::filesystem::directory_iterator(gantry::test::golden(directory))) {
      if (file.path().extension() != ".so") continue;
      const auto mapped = MappedFile::open(file.path()).value();
      const ElfFile elf = ElfFile::parse(mapped).value();
      const Container container = read_container(elf, layouts).value();
      for (const Entry& entry : container.entries) {
        if (entry.type_key != "relax.VMExecutable") continue;
        found.push_back({file.path().stem().string(),
                         {entry.payload.begin(), entry.payload.end()},
                         static_cast<std::uint32_t>(container.facts.numbering),
                         describe_payload(entry, container.facts, layouts)});
      }
    }
  }
  std::ranges::sort(found, {}, &GoldenExecutable::name);
  return found;
}

}  // namespace

gantry_blob GoldenExecutable::blob() const {
  gantry_blob blob = gantry::test::payload_blob(payload, 5);
  blob.numbering = numbering;
  return blob;
}

const std::vector<GoldenExecutable>& golden_executables() {
  static const std::vector<GoldenExecutable> all = read_all();
  return all;
}

const GoldenExecutable& golden_executable(std::string_view name) {
  const auto& all = golden_executables();
  return *std::ranges::find(all, name, &GoldenExecutable::name);
}

}  // namespace gantry::relax::test
