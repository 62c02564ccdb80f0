// SPDX-License-Identifier: Apache-2.0
//
// The payload of CUDA kernels, as the plugin reads it: the code that a driver would get lies within the payload; written as
// it was; core/blob finds the same end.
//
//     byte 0   0 to 5: the container's generation; 6: unknown
//     rest     the payload
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/blob/payload_layout.hpp"
#include "plugins/cuda/payload.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/module.h>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes written(const cuda::Payload& payload) {
  Bytes bytes;
  const gantry_sink sink{sizeof sink, 0, &bytes, 0,
                         [](void* self, const void* data, std::uint64_t size, gantry_status*) {
                           const auto* first = static_cast<const std::uint8_t*>(data);
                           auto& to = *static_cast<Bytes*>(self);
                           to.insert(to.end(), first, first + size);
                           return gantry_code{GANTRY_OK};
                         }};
  cuda::write_payload(payload, sink);
  return bytes;
}

// What the plugin reads, the core delimits in the same way.
void compare(std::span<const std::uint8_t> bytes, const cuda::Payload& payload) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto& kernels = payload.kernels.kernels();
  PayloadContext context;
  context.layout = ContainerLayout::two;
  context.extra_tags = !kernels.empty() && kernels.front().argument_tags
                           ? PayloadContext::ExtraTags::yes
                           : PayloadContext::ExtraTags::no;
  const auto measured = layouts.measure("cuda", ByteReader(bytes), context);
  expect(measured.ok() && measured->size == bytes.size(),
         "the core finds the end that the plugin finds");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static test::FakeHost host;
  const Budget budget(size, {.bytes_per_input_byte = 32});
  Choices choices({data, size});
  const std::size_t generation = choices.below(7);
  const auto bytes = choices.rest();
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.generation = generation == 6 ? -1 : static_cast<std::int32_t>(generation);
  std::uint64_t consumed = 0;
  const auto payload = cuda::read_payload(Host(host.table()), blob, &consumed);
  if (!payload.ok()) return expect_refusal(payload.error(), bytes.size());

  expect(consumed >= 1 && consumed <= bytes.size(),
         "a payload has bytes, and no more than there are");
  expect(payload->calls.size() == payload->kernels.size(), "every kernel has a call");
  const cuda::Image& image = payload->image;
  expect(image.code.data() >= bytes.data() &&
             image.code.data() + image.code.size() <= bytes.data() + consumed,
         "the code lies in the payload");
  expect(image.kind == cuda::Image::Kind::fatbin || image.parts.size() == 1,
         "PTX and a cubin are for one architecture");
  expect(!image.text().empty(), "an image can be described");
  expect(std::ranges::equal(written(*payload), bytes.first(consumed)),
         "a payload is written as it was");
  compare(bytes.first(consumed), *payload);
  return 0;
}
