// SPDX-License-Identifier: Apache-2.0
//
// The payload of Vulkan kernels, as the plugin reads it: every kernel has its shader within the payload, whose bindings
// and scalars are the kernel's; core/blob finds the same end.
//
//     byte 0   0 to 5: the container's generation; 6: unknown
//     rest     the payload
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/blob/payload_layout.hpp"
#include "plugins/vulkan/payload.hpp"

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// What the plugin reads, the core delimits in the same way.
void compare(std::span<const std::uint8_t> bytes, const vulkan::Payload& payload) {
  static const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto& kernels = payload.table.kernels();
  PayloadContext context;
  context.layout = ContainerLayout::two;
  context.extra_tags = !kernels.empty() && kernels.front().argument_tags
                           ? PayloadContext::ExtraTags::yes
                           : PayloadContext::ExtraTags::no;
  const auto measured = layouts.measure("vulkan", ByteReader(bytes), context);
  expect(measured.ok() && measured->size == bytes.size(),
         "the core finds the end that the plugin finds");
}

void check(const vulkan::Kernel& kernel) {
  for (const std::uint32_t binding : kernel.shader.storage_bindings)
    expect(binding < kernel.buffer_count, "a binding is one of the kernel's buffers");
  std::size_t scalars = 0;
  for (std::size_t i = 0; i < kernel.call.parameter_count(); ++i) {
    if (kernel.call.parameter(i) != ParameterKind::pointer) ++scalars;
  }
  expect(kernel.shader.scalar_offsets.size() == scalars, "every scalar has a place");
  for (const std::uint32_t offset : kernel.shader.scalar_offsets)
    expect(offset + 4 <= kernel.scalar_bytes, "a scalar lies in the block");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Budget budget(size, {.bytes_per_input_byte = 32});
  Choices choices({data, size});
  const std::size_t generation = choices.below(7);
  const auto bytes = choices.rest();
  gantry_blob blob{};
  blob.struct_size = sizeof blob;
  blob.data = bytes.data();
  blob.size = bytes.size();
  blob.generation = generation == 6 ? -1 : static_cast<std::int32_t>(generation);
  const auto payload = vulkan::read_payload(blob);
  if (!payload.ok()) return expect_refusal(payload.error(), bytes.size());

  expect(payload->size >= 1 && payload->size <= bytes.size(),
         "a payload has bytes, and no more than there are");
  for (const vulkan::Shader& shader : payload->shaders) {
    expect(shader.words.data() == bytes.data() + shader.words_at &&
               shader.words_at + shader.words.size() <= payload->size,
           "words lie in the payload");
    expect(payload->shader_of(shader.kernel) == &shader, "a shader is found by its name");
  }
  for (const KernelInfo& info : payload->table.kernels()) {
    const auto kernel = vulkan::make_kernel(info, *payload->shader_of(info.name));
    if (kernel.ok())
      check(*kernel);
    else
      expect_refusal(kernel.error(), bytes.size());
  }
  compare(bytes.first(payload->size), *payload);
  return 0;
}
