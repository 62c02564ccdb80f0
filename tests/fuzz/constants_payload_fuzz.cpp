// SPDX-License-Identifier: Apache-2.0
//
// The payload of a module of constants, read by the plugin, written with aligned data and read again.
#include "tests/fuzz/payload_frame.hpp"

#include "plugins/const_loader/payload.hpp"

#include <gantry/aligned_record.hpp>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A constant of 56 bytes has a name, a record, and an index in two lists.
constexpr Cost cost{.bytes_per_input_byte = 16};

bool same_constant(const const_loader::Constant& a, const const_loader::Constant& b) {
  return a.name == b.name && a.array.shape == b.array.shape &&
         same_dtype(a.array.dtype, b.array.dtype) && std::ranges::equal(a.array.data, b.array.data);
}

bool same_symbol(const const_loader::Symbol& a, const const_loader::Symbol& b) {
  return a.name == b.name && a.constants == b.constants;
}

void check_written(const const_loader::Payload& payload, std::uint64_t position) {
  const std::vector<std::uint8_t> bytes =
      written_by([&](const Sink& sink) { return const_loader::write_payload(payload, sink); },
                 record_data_alignment, position);
  const auto again = test::read_whole(test::payload_blob(bytes), const_loader::read_payload);
  expect(again.ok(), "what was written can be read");
  expect(std::ranges::equal(payload.constants, again->constants, same_constant),
         "constants are read back unchanged");
  expect(std::ranges::equal(payload.symbols, again->symbols, same_symbol),
         "symbols are read back unchanged");
  for (const const_loader::Constant& each : again->constants) {
    expect((position + each.array.data_at) % record_data_alignment == 0, "data are aligned");
  }
}

void check_constants(std::span<const std::uint8_t> input, std::uint64_t position) {
  const auto payload = test::read_whole(test::payload_blob(input), const_loader::read_payload);
  if (!payload.ok()) {
    expect_refusal(payload.error(), input.size());
    return;
  }
  for (std::size_t i = 0; i < payload->symbols.size(); ++i) {
    const const_loader::Symbol& symbol = payload->symbols[i];
    expect(payload->find(symbol.name) == i, "a symbol is found by its name");
    for (const std::uint32_t constant : symbol.constants)
      expect(constant < payload->constants.size(), "a symbol uses constants that exist");
  }
  for (const const_loader::Constant& constant : payload->constants) {
    expect_lies_in(input, constant.array.data.data(), constant.array.data.size(),
                   "data are inside the payload");
  }
  check_written(*payload, position);
}

}  // namespace

// One byte: where it is written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> input(data + 1, size - 1);
  {
    const Budget budget(size, cost);
    (void)test::read_whole(test::payload_blob(input), const_loader::read_payload);
  }
  check_constants(input, data[0]);
  return 0;
}
