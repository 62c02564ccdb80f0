// SPDX-License-Identifier: Apache-2.0
//
// Any module graph in any generation and any file: core/writing writes it, core/formats/elf and core/formats
// read it, and the modules, imports and payloads must be those that were written.
//
//     u8 generation, u8 file; u8 modules; for each: u8 kind, u8 imports, u8 import..., and for device
//     modules u8 bytes, byte...; the rest: bytes of another container
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/memory_file.hpp"

#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/writing/appended_container.hpp"
#include "core/writing/container.hpp"
#include "core/writing/elf_object.hpp"
#include "tests/support/elf_builder.hpp"

#include <algorithm>
#include <memory>
#include <set>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

struct GraphModule {
  // empty: CPU code
  std::string key;
  std::vector<std::size_t> imports;
  std::vector<std::uint8_t> payload;
};

// Keys whose payload has any content after its length.
constexpr std::string_view payload_keys[] = {"", "", "VMExecutable", "examplejson"};

// Most imports are of later modules, so that few graphs have a cycle.
std::size_t import_from(Choices& choices, std::size_t module, std::size_t count) {
  constexpr std::size_t any = 250;
  const std::size_t choice = choices.take<std::uint8_t>();
  if (choice >= any || module + 1 == count) return choices.below(count + 1);
  return module + 1 + choice % (count - module - 1);
}

std::vector<GraphModule> modules_from(Choices& choices) {
  std::vector<GraphModule> modules(choices.below(12) + 1);
  for (std::size_t m = 0; m < modules.size(); ++m) {
    GraphModule& module = modules[m];
    module.key = payload_keys[choices.below(std::size(payload_keys))];
    module.imports.resize(m + 1 == modules.size() ? choices.below(32) / 31 : choices.below(6));
    for (std::size_t& import : module.imports) import = import_from(choices, m, modules.size());
    if (module.key.empty()) continue;
    const auto content = choices.take_bytes(choices.below(64));
    module.payload.assign(content.begin(), content.end());
  }
  return modules;
}

std::vector<ContainerModule> described(const std::vector<GraphModule>& modules) {
  std::vector<ContainerModule> all;
  for (const GraphModule& module : modules) {
    all.push_back({module.key, module.imports, [&module](Pieces& out) -> Status {
                     out.Write(module.payload);
                     return {};
                   }});
  }
  return all;
}

std::vector<std::uint8_t> bytes_of(const Pieces& pieces) {
  MemoryStream out;
  expect(pieces.write_to(out).ok(), "pieces in memory can be written");
  expect(out.bytes.size() == pieces.size(), "the number of written bytes is size()");
  return std::move(out.bytes);
}

// The modules that the root imports, directly or through others, by a search of its own.
std::set<std::size_t> reachable(const std::vector<GraphModule>& modules) {
  std::set<std::size_t> found = {0};
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t module = open.back();
    open.pop_back();
    for (const std::size_t import : modules[module].imports) {
      if (found.insert(import).second) open.push_back(import);
    }
  }
  return found;
}

// A payload with its length, as it is read.
std::vector<std::uint8_t> as_read(const GraphModule& module) {
  Pieces payload;
  payload.Write(module.payload);
  return bytes_of(payload);
}

// Compares what was read with the graph. Entries are matched with modules by key and payload, not by
// the numbering that the writer has computed.
void compare(const Container& container, const std::vector<GraphModule>& modules, bool is_merged) {
  const std::set<std::size_t> expected = reachable(modules);
  std::size_t libraries = 0;
  std::multiset<std::pair<std::string, std::vector<std::uint8_t>>> written, read;
  for (const std::size_t module : expected) {
    if (modules[module].key.empty()) {
      ++libraries;
    } else {
      written.insert({modules[module].key, as_read(modules[module])});
    }
  }
  if (is_merged) libraries = std::min<std::size_t>(libraries, 1);
  for (const Entry& entry : container.entries) {
    if (entry.is_library()) {
      expect(libraries-- > 0, "there is one _lib for each host module, or one for all");
      continue;
    }
    expect(entry.boundary == Boundary::exact || entry.boundary == Boundary::laid_out,
           "the end of a payload is known, not guessed");
    read.insert({std::string(entry.type_key), {entry.payload.begin(), entry.payload.end()}});
  }
  expect(libraries == 0, "each _lib that was written is read");
  expect(read == written, "keys and payloads are read as they were written");
  expect(container.tree.module_count() == container.entries.size(), "every entry has a row");
  expect(container.entries[0].is_library() == modules[0].key.empty(), "the root is module 0");
  if (is_merged) {
    expect(!container.tree.has_child_before_parent(), "a child is after its parent");
    return;
  }
  // Without merging, the number of imports does not change.
  std::size_t imports = 0;
  for (const std::size_t module : expected) imports += modules[module].imports.size();
  expect(container.tree.edges().size() == imports, "every import is an edge");
}

// Reads the container of a file at the symbol of its generation.
void compare_file(std::span<const std::uint8_t> bytes, Generation form,
                  std::span<const std::uint8_t> container, const PayloadLayouts& layouts,
                  const std::vector<GraphModule>& modules) {
  const auto elf = ElfFile::parse(bytes);
  expect(elf.ok(), "the file is ELF");
  const auto found = read_container(*elf, layouts);
  expect(found.ok(), "the container of the file is read");
  expect(found->blob_symbol == generation_facts(form).symbol,
         "its symbol is that of its generation");
  expect(std::ranges::equal(found->bytes, container), "its bytes are those that were written");
  compare(*found, modules, form != Generation::g2);
}

// The library of a linker: with one program header that can be dropped.
std::vector<std::uint8_t> library_with(std::string_view symbol) {
  return test::ElfBuilder()
      .hash(test::ElfBuilder::Hash::both)
      .object(symbol, std::vector<std::uint8_t>(16))
      .note("GNU", 3, std::vector<std::uint8_t>(20))
      .build();
}

std::vector<std::uint8_t> appended(const std::shared_ptr<const MappedFile>& library,
                                   std::string_view symbol, const Pieces& container) {
  MemoryStream out;
  const Status done = append_container(library, symbol, container, out);
  if (!done.ok()) expect(false, "a container is appended: " + done.error().message.text());
  return std::move(out.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  // Twelve modules and three files are larger than the bytes that describe them. A file is created,
  // mapped and removed.
  const Budget budget(size, {.bytes_per_input_byte = 128, .nanoseconds_for_free = 20'000'000});
  Choices choices({data, size});
  constexpr Generation forms[] = {Generation::g2, Generation::g3, Generation::g4, Generation::g5};
  const Generation form = forms[choices.below(std::size(forms))];
  const std::size_t kind = choices.below(3);
  const std::vector<GraphModule> modules = modules_from(choices);
  const auto written = write_container(described(modules), form);
  if (!written.ok()) return expect_refusal(written.error(), no_offset);
  const std::vector<std::uint8_t> container = bytes_of(*written);

  const auto found = read_container_bytes(container, layouts);
  if (!found.ok()) {
    expect(false, "reader refuses what the writer wrote: " + found.error().message.text());
  }
  compare(*found, modules, form != Generation::g2);

  const std::string symbol(generation_facts(form).symbol);
  if (kind == 1) {
    ElfObject object;
    object.symbol = symbol;
    if (choices.below(2) == 1) object.register_function = "register";
    const auto file = write_elf_object(object, *written);
    expect(file.ok(), "an object file is written");
    compare_file(bytes_of(*file), form, container, layouts, modules);
  } else if (kind == 2) {
    const std::vector<std::uint8_t> library = library_with(symbol);
    const std::vector<std::uint8_t> once = appended(mapped(library), symbol, *written);
    const auto elf = ElfFile::parse(once);
    expect(elf.ok() && check_link(*elf).ok(), "the system's linker can open the library");
    compare_file(once, form, container, layouts, modules);
    // Another container, of any bytes, is replaced without a trace.
    Pieces other;
    other.Write(choices.rest().data(), choices.rest().size());
    if (other.size() == 0) return 0;
    const std::vector<std::uint8_t> twice = appended(mapped(once), symbol, other);
    const std::vector<std::uint8_t> thrice = appended(mapped(twice), symbol, *written);
    expect(thrice == once, "a container that is appended again gives the same file");
  }
  return 0;
}
