// SPDX-License-Identifier: Apache-2.0
//
// The description of a model that is compiled ahead of time, in a forged image: nothing is mapped or
// run. The input is the memory of a library, in two ranges.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "core/formats/aot_metadata.hpp"

#include <gantry/dtype_text.hpp>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

constexpr std::uint64_t base = 0x1000;
// Between the ranges: a pointer across them is invalid.
constexpr std::uint64_t gap = 0x100;

void check_tensors(const std::vector<AotTensor>& tensors, std::span<const std::uint8_t> bytes) {
  for (const AotTensor& tensor : tensors) {
    const auto* const name = reinterpret_cast<const std::uint8_t*>(tensor.name.data());
    expect(name >= bytes.data() && name + tensor.name.size() < bytes.data() + bytes.size(),
           "a name and its NUL are in the image");
    const auto size = tensor_bytes(tensor.shape, tensor.dtype);
    expect(size.ok() && *size == tensor.bytes, "a tensor has the bytes of its type");
  }
}

}  // namespace

// One byte: where the second range begins.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // 32 bytes of a tensor become 56, and 256 of a shape; lists grow by doubling. Shapes and names may
  // be shared by all tensors.
  const Budget budget(size, {.bytes_per_input_byte = 40, .nanoseconds_per_input_byte = 2000});
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::size_t first = bytes.size() - bytes.size() * data[0] / 512 / 8 * 8;
  const MemoryImage image({{base, bytes.first(first)}, {base + first + gap, bytes.subspan(first)}});

  // Every word that contains an address of the image, as the linker's relocations list them.
  std::vector<std::uint64_t> pointers;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (!image.bytes_from(word).empty()) pointers.push_back(base + at + (at < first ? 0 : gap));
  }
  const auto found =
      find_aot_metadata(image, pointers, [](std::string_view name) { return name.size() < 99; });
  if (found) expect(read_aot_metadata(image, *found).ok(), "what is found can be read");

  const auto metadata = read_aot_metadata(image, base);
  if (!metadata.ok()) {
    // A pointer, and so the offset, may be any number.
    return expect_refusal(metadata.error(), no_offset);
  }
  check_tensors(metadata->inputs, bytes);
  check_tensors(metadata->outputs, bytes);
  check_tensors(metadata->workspaces, bytes);
  for (const AotConstant& constant : metadata->constants) {
    expect(
        constant.array.data.data() >= bytes.data() &&
            constant.array.data.data() + constant.array.data.size() <= bytes.data() + bytes.size(),
        "data of a constant are in the image");
    expect(constant.offset + constant.array.data.size() <= metadata->constant_bytes,
           "a constant is inside its pool");
  }
  expect(metadata->constant_bytes <= INT32_MAX, "the pool of constants is limited");
  return 0;
}
