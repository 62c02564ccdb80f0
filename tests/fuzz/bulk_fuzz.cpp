// SPDX-License-Identifier: Apache-2.0
//
// Files of up to 1 MiB that repeat one small piece: finds the maximum cost of a byte of input.
//
//     byte 0   kind of repetition, see Bulk
//     byte 1   size of the file: 1 KiB to 1 MiB
//     byte 2   type key
//     byte 3   for items: length of the start of the piece, which is not repeated
//     rest     the piece
//
// The target checks the budget of memory and time of `inspect`.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/container_form.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/inspected.hpp"

#include "core/formats/payload_layout.hpp"
#include "tests/support/elf_builder.hpp"

#include <algorithm>
#include <string>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Piece = std::span<const std::uint8_t>;

enum class Bulk {
  // the piece itself
  bytes,
  // entries of layout one, the piece their payload
  entries_one,
  // entries of layout two, the piece their payload
  entries_two,
  // one payload: the start of the piece, a count, and that many copies of the rest
  items,
  // entries without payload
  libraries,
  // every module imports all later ones
  edges,
  // every module imports the next
  chain,
  // an unknown payload that looks like known keys
  keys,
  // symbols of an ELF file
  functions,
  // symbols that share one long name
  names,
  kinds
};

std::uint64_t entries_for(std::size_t size, std::size_t bytes_each) {
  return std::max<std::uint64_t>(1, size / bytes_each);
}

Bytes bytes_of_form(ContainerForm form, std::size_t max) {
  Bytes bytes = form.bytes();
  bytes.resize(std::min(bytes.size(), max));
  return bytes;
}

Bytes entries(bool tree_first, std::string_view key, Piece piece, std::size_t size) {
  ContainerForm form;
  form.tree_first = tree_first;
  const FormEntry entry{std::string(key), {piece.begin(), piece.end()}, std::nullopt};
  form.entries.assign(entries_for(size, 40 + key.size() + piece.size()), entry);
  form.make_star();
  return bytes_of_form(std::move(form), size);
}

Bytes items(std::string_view key, Piece head, Piece item, std::size_t size) {
  ContainerForm form;
  form.tree_first = true;
  Bytes payload(head.begin(), head.end());
  const std::uint64_t count = item.empty() ? 0 : entries_for(size - size / 16, item.size());
  for (int shift = 0; shift < 64; shift += 8) {
    payload.push_back(static_cast<std::uint8_t>(count >> shift));
  }
  for (std::uint64_t i = 0; i < count; ++i) payload.insert(payload.end(), item.begin(), item.end());
  form.entries.push_back({std::string(key), std::move(payload), std::nullopt});
  form.make_star();
  return bytes_of_form(std::move(form), size);
}

Bytes modules(Bulk bulk, std::size_t size) {
  ContainerForm form;
  form.tree_first = size % 2 == 0;
  std::uint64_t count = entries_for(size, 36);
  if (bulk == Bulk::edges) {
    count = 1;
    while ((count + 1) * count / 2 * 8 + count * 24 < size) ++count;
  }
  form.entries.assign(count, {"_lib", {}, std::nullopt});
  form.make_star();
  if (bulk != Bulk::libraries) {
    form.rows.assign(1, 0);
    form.children.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t last = bulk == Bulk::edges ? count : std::min(i + 2, count);
      for (std::uint64_t j = i + 1; j < last; ++j) form.children.push_back(j);
      form.rows.push_back(form.children.size());
    }
  }
  return bytes_of_form(std::move(form), size);
}

Bytes keys(std::string_view key, Piece piece, std::size_t size) {
  ContainerForm inner;
  inner.has_tree = false;
  inner.entries.assign(entries_for(size - size / 16, 8 + key.size() + piece.size()),
                       {std::string(key), {piece.begin(), piece.end()}, std::nullopt});
  ContainerForm form;
  form.entries = {{"_lib", {}, std::nullopt},
                  {"acme_unknown", inner.bytes(), std::nullopt},
                  {"cuda", {}, std::nullopt}};
  form.make_star();
  return bytes_of_form(std::move(form), size);
}

Bytes functions(Piece piece, std::size_t size, bool shared) {
  std::string name(text_of(piece.data(), piece.size()));
  std::erase(name, '\0');
  test::ElfBuilder builder;
  const std::size_t count = entries_for(size - size / 8, 40 + (shared ? 0 : name.size() + 6));
  if (shared) builder.function(std::string(size / 8, 'a'));
  for (std::size_t i = 0; i < count; ++i) builder.function(shared ? "a" : name + std::to_string(i));
  Bytes bytes = builder.build();
  bytes.resize(std::min(bytes.size(), size));
  return bytes;
}

Bytes build(Bulk bulk, std::string_view key, Piece head, Piece piece, std::size_t size) {
  switch (bulk) {
    case Bulk::entries_one:
    case Bulk::entries_two:
      return entries(bulk == Bulk::entries_two, key, piece, size);
    case Bulk::items:
      return items(key, head, piece, size);
    case Bulk::libraries:
    case Bulk::edges:
    case Bulk::chain:
      return modules(bulk, size);
    case Bulk::keys:
      return keys(key, piece, size);
    case Bulk::functions:
    case Bulk::names:
      return functions(piece, size, bulk == Bulk::names);
    default:
      break;
  }
  Bytes bytes;
  while (!piece.empty() && bytes.size() < size) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  bytes.resize(std::min(bytes.size(), size));
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  static const std::vector<std::string_view> known = layouts.keys();
  Choices choices({data, size});
  const auto bulk = static_cast<Bulk>(choices.below(static_cast<std::size_t>(Bulk::kinds)));
  // 15/16 of a power of two: below 1 MiB.
  const std::size_t bytes = (std::size_t{1} << (10 + choices.below(11))) * 15 / 16;
  const std::size_t which = choices.below(known.size() + 1);
  const std::string_view key = which == known.size() ? "a" : known[which];
  const Piece head = choices.take_bytes(choices.below(256));
  const Bytes file = build(bulk, key, head, choices.take_bytes(256), bytes);

  const Budget budget(file.size(), payload_cost);
  inspect_whole(file);
  return 0;
}
