// SPDX-License-Identifier: Apache-2.0
//
// An ELF file: headers, dynamic segment, symbols, needed libraries, the bytes of every symbol, and
// the tables of the system's linker.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

template <class View>
bool lies_in(const View& view, std::span<const std::uint8_t> file) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(view.data());
  return view.empty() || (first >= file.data() && first + view.size() <= file.data() + file.size());
}

void check(const ElfFile& elf, std::span<const std::uint8_t> file) {
  const Status complete = elf.check_complete();
  if (!complete.ok()) expect_refusal(complete.error(), file.size());
  if (complete.ok() && elf.type() == ElfType::shared) {
    const Status linked = check_link(elf);
    if (!linked.ok()) expect_refusal(linked.error(), file.size());
  }
  for (const std::string_view text :
       {elf.interpreter(), elf.soname(), elf.rpath(), elf.runpath()}) {
    expect(lies_in(text, file), "a text is a view of the file");
  }
  for (const std::string_view text : elf.needed()) expect(lies_in(text, file), "a need is a view");
  for (const ElfVersionNeed& need : elf.version_needs()) {
    expect(lies_in(need.file, file) && lies_in(need.version, file), "a version need is a view");
  }
  for (const ElfNote& note : elf.notes()) {
    expect(lies_in(note.owner, file) && lies_in(note.content, file), "a note is a view");
  }
  for (const ElfSymbol& symbol : elf.symbols()) {
    expect(lies_in(symbol.name, file), "a symbol's name is a view");
    const auto bytes = elf.bytes_of(symbol);
    if (bytes.ok()) expect(lies_in(*bytes, file), "a symbol's bytes are a view");
    const auto rest = elf.bytes_from(symbol);
    if (rest.ok()) expect(lies_in(*rest, file), "a symbol's rest is a view");
  }
  for (const std::string_view name : {"", "__tvm_dev_mblob", "__tvm_ffi__library_bin"}) {
    const ElfSymbol* found = elf.find(name);
    expect(found == nullptr || found->name == name, "find returns the symbol of that name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size);
  const auto elf = ElfFile::parse(std::span(data, size));
  if (!elf.ok()) return expect_refusal(elf.error(), size);
  check(*elf, {data, size});
  return 0;
}
