// SPDX-License-Identifier: Apache-2.0
//
// The payload of OpenCL kernels, read by the plugin: the code of every kernel is inside the
// payload, the same bytes are written, and core/formats finds the same end. Input:
// payload_frame.hpp.
#include "tests/fuzz/payload_frame.hpp"

#include "plugins/opencl/payload.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, device_payload_cost);
  const gantry_blob blob = device_blob({data, size});
  std::uint64_t consumed = 0;
  const auto payload = test::read_whole(blob, opencl::read_payload, &consumed);
  if (!payload.ok()) return expect_refusal(payload.error(), blob.size);

  const auto bytes = expect_end("opencl", blob, consumed, payload->table);
  expect_written(bytes, [&](const Sink& sink) { return opencl::write_payload(*payload, sink); });
  expect(payload->calls.size() == payload->table.size() &&
             payload->program_of.size() == payload->table.size(),
         "every kernel has a call and a program");
  for (std::size_t i = 0; i < payload->calls.size(); ++i) {
    expect(payload->table.index_of(payload->calls[i].name()) == i, "a kernel is found by its name");
    expect(payload->program_of[i] < payload->programs.size(), "a kernel's program exists");
  }
  for (const opencl::Program& program : payload->programs)
    expect_lies_in(bytes, program.code.data(), program.code.size(), "code is inside the payload");
  return 0;
}
