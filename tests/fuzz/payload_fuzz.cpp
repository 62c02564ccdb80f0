// SPDX-License-Identifier: Apache-2.0
//
// One payload of a known type key: measures and describes it, with and without a known end, and
// with all facts about its exporter.
//
//     byte 0   type key
//     byte 1   bit 0 end known, bits 1-2 argument tags, bit 3 private float codes,
//              bits 4-5 numbering of constants
//     rest     payload
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/details.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  static const std::vector<std::string_view> keys = layouts.keys();
  const Budget budget(size, payload_cost);
  Choices choices({data, size});
  const std::string_view key = keys[choices.below(keys.size())];
  const auto flags = choices.take<std::uint8_t>();
  const PayloadEnd end = (flags & 1) != 0 ? PayloadEnd::known : PayloadEnd::unknown;
  // The corpus depends on this order.
  constexpr ArgumentTags tags[] = {ArgumentTags::no, ArgumentTags::yes, ArgumentTags::unknown};
  ExporterFacts facts;
  facts.argument_tags = tags[(flags >> 1) % 3];
  facts.has_private_float_codes = (flags & 8) != 0;
  facts.numbering = static_cast<Numbering>((flags >> 4) % 4);

  const auto payload = choices.rest();
  const auto measured = layouts.measure(key, ByteReader(payload), end, facts.argument_tags);
  if (measured.ok()) {
    expect(measured->size <= payload.size(), "a payload ends inside the input");
    expect(measured->layout != nullptr, "a measured payload has a layout");
  } else {
    expect_refusal(measured.error(), payload.size());
  }
  // The entry contains the measured bytes. A payload that breaks its layout is described up to the
  // error.
  Entry entry;
  entry.type_key = key;
  entry.payload = measured.ok() ? payload.first(measured->size) : payload;
  (void)describe_payload(entry, facts, layouts);
  return 0;
}
