// SPDX-License-Identifier: Apache-2.0
//
// The payload of OpenCL kernels, as the plugin reads it: every kernel has its code within the payload; written as it was;
// core/blob finds the same end.
//
//     byte 0   0 to 5: the container's generation; 6: unknown
//     rest     the payload
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/blob/payload_layout.hpp"
#include "plugins/opencl/payload.hpp"

#include <gantry/module.h>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes written(const opencl::Payload& payload) {
  Bytes bytes;
  const gantry_sink sink{sizeof sink, 0, &bytes, 0,
                         [](void* self, const void* data, std::uint64_t size, gantry_status*) {
                           const auto* first = static_cast<const std::uint8_t*>(data);
                           auto& to = *static_cast<Bytes*>(self);
                           to.insert(to.end(), first, first + size);
                           return gantry_code{GANTRY_OK};
                         }};
  opencl::write_payload(payload, sink);
  return bytes;
}

bool lies_in(std::string_view part, std::span<const std::uint8_t> whole) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(part.data());
  return part.empty() ||
         (first >= whole.data() && first + part.size() <= whole.data() + whole.size());
}

// What the plugin reads, the core delimits in the same way.
void compare(std::span<const std::uint8_t> bytes, const opencl::Payload& payload) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto& kernels = payload.table.kernels();
  PayloadContext context;
  context.layout = ContainerLayout::two;
  context.extra_tags = !kernels.empty() && kernels.front().argument_tags
                           ? PayloadContext::ExtraTags::yes
                           : PayloadContext::ExtraTags::no;
  const auto measured = layouts.measure("opencl", ByteReader(bytes), context);
  expect(measured.ok() && measured->size == bytes.size(),
         "the core finds the end that the plugin finds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, {.bytes_per_input_byte = 32});
  Choices choices({data, size});
  const std::size_t generation = choices.below(7);
  const auto bytes = choices.rest();
  std::uint64_t consumed = 0;
  const auto payload = opencl::read_payload(
      bytes, generation == 6 ? -1 : static_cast<std::int32_t>(generation), false, consumed);
  if (!payload.ok()) return expect_refusal(payload.error(), bytes.size());

  expect(consumed >= 1 && consumed <= bytes.size(),
         "a payload has bytes, and no more than there are");
  expect(payload->calls.size() == payload->table.size() &&
             payload->program_of.size() == payload->table.size(),
         "every kernel has a call and a program");
  for (std::size_t i = 0; i < payload->calls.size(); ++i) {
    expect(payload->find(payload->calls[i].name()) == i, "a kernel is found by its name");
    expect(payload->program_of[i] < payload->programs.size(), "a kernel's program is there");
  }
  for (const opencl::Program& program : payload->programs)
    expect(lies_in(program.code, bytes), "code lies in the payload");
  expect(std::ranges::equal(written(*payload), bytes.first(consumed)),
         "a payload is written as it was");
  compare(bytes.first(consumed), *payload);
  return 0;
}
