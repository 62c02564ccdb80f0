// SPDX-License-Identifier: Apache-2.0
//
// Shaders for tests, instruction by instruction, and payloads around them.
#pragma once

#include "plugins/vulkan/payload.hpp"
#include "tests/support/words.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::vulkan::test {

// Words of a shader. Every instruction remembers where it begins, by its name.
class Spirv {
 public:
  explicit Spirv(std::uint32_t version = 0x00010000) : words_{spirv_magic, version, 0, 100, 0} {}

  Spirv& op(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands);
  // An instruction that ends in a text.
  Spirv& op(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands,
            std::string_view text);
  Spirv& word(std::uint32_t raw) {
    words_.push_back(raw);
    return *this;
  }

  std::size_t size() const { return words_.size(); }
  std::vector<std::uint32_t>& words() { return words_; }
  ShaderBytes bytes() const {
    return {reinterpret_cast<const std::uint8_t*>(words_.data()), 4 * words_.size()};
  }

  // What compilers write around a kernel: capability, entry point %1, local size 64.
  Spirv& head(std::string_view entry);
  // A storage buffer at a binding: variable `id`, in the old form (Uniform, BufferBlock) of type %20.
  Spirv& buffer(std::uint32_t id, std::uint32_t binding);
  // The block of scalars %30 of struct %31, one member for each offset.
  Spirv& scalars(std::initializer_list<std::uint32_t> offsets, bool uniform,
                 std::uint32_t binding = 0);
  Spirv& end() { return op(54, {2, 1, 0, 3}).op(253, {}).op(56, {}); }

 private:
  std::vector<std::uint32_t> words_;
};

// Entry "add", buffers at 0 and 1, two scalars 8 bytes apart in push constants.
Spirv add_shader();

constexpr gantry_dtype handle_type{3, 64, 1};
constexpr gantry_dtype int32_type{0, 32, 1};
constexpr gantry_dtype int64_type{0, 64, 1};
constexpr gantry_dtype float32_type{2, 32, 1};

struct KernelSpec {
  std::string name;
  std::vector<gantry_dtype> parameters;
  std::vector<std::string_view> tags;
  std::vector<std::uint32_t> words;
  std::uint32_t flags = 0;
};
// The kernel of add_shader().
KernelSpec add_kernel();

enum class Form {
  // up to v0.20: no argument tags, no length in front of a shader
  bare,
  // v0.21 to v0.23: argument tags
  tags,
  // v0.24 and later: both
  sized,
};
std::vector<std::uint8_t> payload_bytes(const std::vector<KernelSpec>& kernels, Form form);

KernelInfo info_of(const KernelSpec& kernel);
Shader shader_of(const KernelSpec& kernel);

// The vulkan payload of a golden artifact, with what follows it: "tvm-0.12/axpy2_vulkan.so".
std::vector<std::uint8_t> golden_payload(std::string_view file);

}  // namespace gantry::vulkan::test
