// SPDX-License-Identifier: Apache-2.0
//
// The payload of CUDA kernels, read by the plugin: the code for the driver is inside the payload,
// the same bytes are written, and core/formats finds the same end. Input: payload_frame.hpp.
#include "tests/fuzz/payload_frame.hpp"

#include "plugins/cuda/payload.hpp"
#include "tests/support/fake_host.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static test::FakeHost host;
  const Budget budget(size, device_payload_cost);
  const gantry_blob blob = device_blob({data, size});
  std::uint64_t consumed = 0;
  const auto payload = test::read_whole(blob, cuda::read_payload, &consumed);
  if (!payload.ok()) return expect_refusal(payload.error(), blob.size);

  const auto bytes = expect_end("cuda", blob, consumed, payload->kernels);
  expect_written(bytes, [&](const Sink& sink) { return cuda::write_payload(*payload, sink); });
  expect(payload->calls.size() == payload->kernels.size(), "every kernel has a call");
  if (payload->is_source()) {
    expect_lies_in(bytes, reinterpret_cast<const std::uint8_t*>(payload->source.data()),
                   payload->source.size(), "the source is inside the payload");
    expect(payload->source.find('\0') == std::string_view::npos, "source has no NUL");
    return 0;
  }
  const cuda::Image& image = payload->image;
  expect_lies_in(bytes, image.code.data(), image.code.size(), "the code is inside the payload");
  expect(image.kind == cuda::Image::Kind::fatbin || image.parts.size() == 1,
         "PTX and a cubin are for one architecture");
  expect(!image.text().empty(), "an image can be described");
  return 0;
}
