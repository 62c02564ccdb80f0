// SPDX-License-Identifier: Apache-2.0
//
// A bare container: reads all of it, describes every payload and walks the import tree.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/container_mutator.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/container.hpp"
#include "core/formats/details.hpp"
#include "core/formats/limits.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

std::uint64_t items_of(const Detail& root) {
  std::uint64_t count = 0;
  std::vector<const Detail*> open = {&root};
  while (!open.empty()) {
    const Detail* detail = open.back();
    open.pop_back();
    ++count;
    for (const Detail& child : detail->children) open.push_back(&child);
  }
  return count;
}

void check(const Container& container, std::span<const std::uint8_t> input,
           const PayloadLayouts& layouts) {
  expect(container.tree.module_count() == container.entries.size(), "a tree row for each entry");
  expect(container.tree.children_first().size() == container.entries.size(),
         "children_first lists every module");
  expect(container.tree.reachable_from(0).size() <= container.entries.size(),
         "reachable_from lists a module once");
  (void)container.tree.warnings();
  expect(container.bytes.size() <= input.size(), "the container is inside the input");
  for (const Entry& entry : container.entries) {
    if (entry.is_library()) continue;
    const std::uint64_t end = entry.at + entry.payload.size();
    expect(entry.at <= end && end <= container.bytes.size(), "a payload is inside the container");
    expect(entry.payload.empty() || entry.payload.data() == container.bytes.data() + entry.at,
           "a payload is a view at its offset");
    const PayloadDetails details = describe_payload(entry, container.facts, layouts);
    expect(items_of(details.root) <= 4 * limits::max_details, "details are limited");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const Budget budget(size, payload_cost);
  const std::span<const std::uint8_t> input(data, size);
  (void)looks_like_container(input);
  const auto container = read_container_bytes(input, layouts);
  if (!container.ok()) return expect_refusal(container.error(), size);
  check(*container, input, layouts);
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  return mutate_container(data, size, max, seed);
}
