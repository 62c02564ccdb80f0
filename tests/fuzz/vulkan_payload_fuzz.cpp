// SPDX-License-Identifier: Apache-2.0
//
// The payload of Vulkan kernels, read by the plugin: the shader of every kernel is inside the
// payload, its bindings and scalars are those of the kernel, and core/formats finds the same end.
// Input: payload_frame.hpp.
#include "tests/fuzz/payload_frame.hpp"

#include "plugins/vulkan/payload.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

void check(const vulkan::Kernel& kernel) {
  for (const std::uint32_t binding : kernel.shader.storage_bindings)
    expect(binding < kernel.buffer_count, "a binding is one of the kernel's buffers");
  std::size_t scalars = 0;
  for (std::size_t i = 0; i < kernel.call.parameter_count(); ++i) {
    if (kernel.call.parameter(i) != ParameterKind::pointer) ++scalars;
  }
  expect(kernel.shader.scalar_offsets.size() == scalars, "every scalar has an offset");
  for (const std::uint32_t offset : kernel.shader.scalar_offsets)
    expect(offset + 4 <= kernel.scalar_bytes, "a scalar is inside the block");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, device_payload_cost);
  const gantry_blob blob = device_blob({data, size});
  std::uint64_t consumed = 0;
  const auto payload = test::read_whole(blob, vulkan::read_payload, &consumed);
  if (!payload.ok()) return expect_refusal(payload.error(), blob.size);

  const auto bytes = expect_end("vulkan", blob, consumed, payload->table);
  expect_written(bytes, [&](const Sink& sink) { return vulkan::write_payload(*payload, sink); });
  for (const vulkan::Shader& shader : payload->shaders) {
    expect_lies_in(bytes, shader.words.data(), shader.words.size(), "words are inside the payload");
    expect(shader.words.data() == bytes.data() + shader.words_at, "words are at words_at");
    expect(payload->shader_of(shader.kernel) == &shader, "a shader is found by its name");
  }
  for (const KernelInfo& info : payload->table.kernels()) {
    const auto kernel = vulkan::make_kernel(info, *payload->shader_of(info.name));
    if (kernel.ok())
      check(*kernel);
    else
      expect_refusal(kernel.error(), blob.size);
  }
  return 0;
}
