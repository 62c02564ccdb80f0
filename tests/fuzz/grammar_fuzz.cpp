// SPDX-License-Identifier: Apache-2.0
//
// A payload layout in the syntax of a manifest, one field up to a newline; then a payload that is
// measured, described and divided with it. A group contains all types but `rest`.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/details.hpp"
#include "core/formats/limits.hpp"
#include "core/formats/payload_parts.hpp"

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A layout of 64 fields is 64 nodes of 300 bytes each; layouts come from manifests, not from
// artifacts. A byte of the payload can be an item of as many fields, all but one of which have no
// bytes.
Cost cost_of(std::string_view layout) {
  const auto fields = std::min<std::int64_t>(std::ranges::count(layout, ',') + 1,
                                             static_cast<std::int64_t>(limits::layout_fields));
  return {.bytes_per_input_byte = 512, .nanoseconds_per_input_byte = 150 + 100 * fields};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = text_of(data, size);
  const std::size_t newline = text.find('\n');
  const Budget budget(size, cost_of(text.substr(0, newline)));
  const std::vector<std::string> fields = {std::string(text.substr(0, newline))};
  const auto layout = parse_payload_layout(fields);
  if (!layout.ok()) return expect_refusal(layout.error(), size);

  const std::string written = layout->text();
  const std::vector<std::string> again = {written};
  const auto second = parse_payload_layout(again);
  expect(second.ok(), "the text of a layout can be parsed");
  expect(second->text() == written, "the text of a layout parses to the same layout");

  if (newline == std::string_view::npos) return 0;
  const auto payload = std::span(data, size).subspan(newline + 1);
  PayloadLayouts layouts;
  layouts.add("acme", *layout);
  for (const PayloadEnd end : {PayloadEnd::unknown, PayloadEnd::known}) {
    const auto measured = layouts.measure("acme", ByteReader(payload), end, ArgumentTags::unknown);
    if (!measured.ok()) {
      expect_refusal(measured.error(), payload.size());
      continue;
    }
    expect(measured->size <= payload.size(), "a payload ends inside the input");
    if (end == PayloadEnd::unknown) continue;
    const auto whole = payload.first(measured->size);
    const auto parts = find_parts(whole, *measured);
    expect(parts.ok(), "a payload that is measured can be divided");
    std::uint64_t at = 0;
    for (const PayloadPart& part : parts->parts) {
      expect(part.at >= at && part.size <= measured->size - part.at, "parts do not overlap");
      at = part.at + part.size;
    }
    (void)describe_payload({"acme", 0, whole, Boundary::laid_out}, {}, layouts);
  }
  return 0;
}
