// SPDX-License-Identifier: Apache-2.0
//
// A shared library that gets another container: program headers, sections and symbol tables are
// read and rewritten.
//
//     the input is the library; the container's symbol is the first with a container's name, else
//     its first variable
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/memory_file.hpp"

#include "core/formats/container_symbols.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "core/formats/elf/elf_link.hpp"
#include "core/writing/appended_container.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// The library is mapped, and written up to three times to vectors that double.
constexpr Cost append_cost{.bytes_per_input_byte = 32,
                           .bytes_for_free = std::size_t{4} << 20,
                           .nanoseconds_per_input_byte = 1'000,
                           .nanoseconds_for_free = 20'000'000};
// The container and its section follow the library at a page of the machine; up to 64 KiB.
constexpr std::size_t max_added_bytes = (64 << 10) + 4096;

std::string chosen_symbol(const ElfFile& elf) {
  const auto is_container = [](const ElfSymbol& symbol) {
    return symbol.defined() && is_blob_symbol(symbol.name);
  };
  const auto is_variable = [](const ElfSymbol& symbol) {
    return symbol.defined() && symbol.type == SymbolType::object;
  };
  const auto& symbols = elf.symbols();
  auto found = std::ranges::find_if(symbols, is_container);
  if (found == symbols.end()) found = std::ranges::find_if(symbols, is_variable);
  return found == symbols.end() ? "__tvm_dev_mblob" : std::string(found->name);
}

Pieces container_of(std::string_view text) {
  Pieces container;
  container.Write(text.data(), text.size());
  return container;
}

Result<std::vector<std::uint8_t>> appended(std::span<const std::uint8_t> library,
                                           std::string_view symbol, std::string_view container) {
  MemoryStream out;
  const Status done = append_container(mapped(library), symbol, container_of(container), out);
  if (done.ok()) return std::move(out.bytes);
  expect(out.bytes.empty(), "nothing is written of a library that is refused");
  return done.error();
}

// Compares the new library with the old one.
void expect_kept(const ElfFile& before, const ElfFile& after, std::string_view symbol,
                 std::string_view container) {
  expect(after.check_complete().ok(), "the library is complete");
  if (check_link(before).ok())
    expect(check_link(after).ok(), "the system's linker can open the library as before");
  const ElfSymbol* const old = before.find(symbol);
  const ElfSymbol* const now = after.find(symbol);
  expect(old != nullptr && now != nullptr, "the symbol is found");
  const auto bytes = after.bytes_of(*now);
  expect(bytes.ok() && std::ranges::equal(*bytes, container), "the symbol has the new container");
  expect(before.symbols().size() == after.symbols().size(), "no symbol is added or removed");
  for (std::size_t i = 0; i < before.symbols().size(); ++i) {
    const ElfSymbol& was = before.symbols()[i];
    const ElfSymbol& is = after.symbols()[i];
    const bool is_moved = was.name == symbol && was.value == old->value;
    expect(was.name == is.name && (is_moved || was.value == is.value),
           "other symbols keep their names and values");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> library(data, size);
  if (size == 0) return 0;
  const Budget budget(size, append_cost);
  const auto before = ElfFile::parse(library);
  if (!before.ok()) return expect_refusal(before.error(), size);
  const std::string symbol = chosen_symbol(*before);
  constexpr std::string_view container = "a new container", other = "another new container";

  const auto once = appended(library, symbol, container);
  if (!once.ok()) return expect_refusal(once.error(), size);

  expect(once->size() <= 2 * size + max_added_bytes, "little is added to the library");
  const auto after = ElfFile::parse(*once);
  expect(after.ok(), "the result is a library");
  expect_kept(*before, *after, symbol, container);
  const auto twice = appended(*once, symbol, other);
  // A damaged library may have no program header left for a second segment.
  if (!twice.ok()) return expect_refusal(twice.error(), once->size());
  const auto thrice = appended(*twice, symbol, container);
  expect(thrice.ok() && *thrice == *once, "the same container gives the same library");
  return 0;
}
