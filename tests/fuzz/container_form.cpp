// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/container_form.hpp"

#include "core/formats/container.hpp"

#include <string_view>

namespace gantry::fuzz {
namespace {

void put(std::vector<std::uint8_t>& to, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    to.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}
void put(std::vector<std::uint8_t>& to, std::string_view text) {
  put(to, text.size());
  to.insert(to.end(), text.begin(), text.end());
}
void put(std::vector<std::uint8_t>& to, const std::vector<std::uint64_t>& numbers) {
  put(to, numbers.size());
  for (const std::uint64_t number : numbers) put(to, number);
}

}  // namespace

std::optional<ContainerForm> ContainerForm::read(std::span<const std::uint8_t> bytes) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto container = read_container_bytes(bytes, layouts);
  if (!container.ok() || container->layout == ContainerLayout::none) return std::nullopt;

  ContainerForm form;
  form.tree_first = container->layout == ContainerLayout::two;
  const bool flat = container->facts.generation == Generation::g1 ||
                    container->facts.generation == Generation::g0;
  form.has_tree = !flat;
  // The root of a container without a tree has no entry.
  for (std::size_t i = flat ? 1 : 0; i < container->entries.size(); ++i) {
    const Entry& entry = container->entries[i];
    form.entries.push_back(
        {std::string(entry.type_key), {entry.payload.begin(), entry.payload.end()}, std::nullopt});
  }
  form.rows.assign(container->tree.rows().begin(), container->tree.rows().end());
  form.children.assign(container->tree.edges().begin(), container->tree.edges().end());
  return form;
}

std::vector<std::uint8_t> ContainerForm::bytes() const {
  std::vector<std::uint8_t> all;
  put(all, std::uint64_t{0});
  if (tree_first) {
    put(all, rows);
    put(all, children);
  } else {
    put(all, count.value_or(entries.size() + (has_tree ? 1 : 0)));
  }
  for (const FormEntry& entry : entries) {
    put(all, entry.key);
    if (entry.key == library_key) continue;
    if (tree_first) put(all, entry.length.value_or(entry.payload.size()));
    all.insert(all.end(), entry.payload.begin(), entry.payload.end());
  }
  if (!tree_first && has_tree) {
    put(all, std::string_view("_import_tree"));
    put(all, rows);
    put(all, children);
  }
  all.insert(all.end(), behind.begin(), behind.end());
  const std::uint64_t length = header.value_or(all.size() - 8);
  for (int i = 0; i < 8; ++i)
    all[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(length >> (8 * i));
  return all;
}

void ContainerForm::make_star() {
  rows.assign(1, 0);
  children.clear();
  for (std::uint64_t i = 0; i < entries.size(); ++i) {
    if (i != 0) children.push_back(i);
    rows.push_back(0);
  }
  for (std::size_t i = 1; i < rows.size(); ++i) rows[i] = children.size();
}

}  // namespace gantry::fuzz
