// SPDX-License-Identifier: Apache-2.0
//
// Builds shaders from instructions, and payloads that contain them.
#pragma once

#include "plugins/vulkan/payload.hpp"
#include "tests/support/words.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::vulkan::test {

// Words of a shader.
class Spirv {
 public:
  explicit Spirv(std::uint32_t version = 0x00010000) : words_{spirv_magic, version, 0, 100, 0} {}

  Spirv& op(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands);
  // Adds an instruction whose last operand is a string.
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

  // Adds the instructions before a kernel's types: capability, entry point %1, local size 64.
  Spirv& head(std::string_view entry);
  // Adds a storage buffer: variable `id` of type %20, in the old form (Uniform, BufferBlock).
  Spirv& buffer(std::uint32_t id, std::uint32_t binding);
  // Adds the block of scalars %30 of struct %31, with a member for each offset.
  Spirv& scalars(std::initializer_list<std::uint32_t> offsets, bool uniform,
                 std::uint32_t binding = 0);
  Spirv& end() { return op(54, {2, 1, 0, 3}).op(253, {}).op(56, {}); }

 private:
  std::vector<std::uint32_t> words_;
};

// Returns a shader with entry point "add", buffers at 0 and 1, and two scalars in push constants.
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
  // Up to v0.20: no argument tags, no length before a shader.
  bare,
  // v0.21 to v0.23: argument tags.
  tags,
  // v0.24 and later: both.
  sized,
};
std::vector<std::uint8_t> payload_bytes(const std::vector<KernelSpec>& kernels, Form form);

KernelInfo info_of(const KernelSpec& kernel);
Shader shader_of(const KernelSpec& kernel);

// Returns the vulkan payload of a golden artifact, with the bytes after it.
//
// file     [in]   "tvm-0.12/axpy2_vulkan.so"
std::vector<std::uint8_t> golden_payload(std::string_view file);

}  // namespace gantry::vulkan::test
