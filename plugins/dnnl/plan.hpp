// SPDX-License-Identifier: Apache-2.0
//
// A sub-graph as a list of oneDNN primitives and loops, and the memory that they read and write.
//
//     buffers  0 argument 0 | 1 constant | 2 temporary, offset 0 of the arena | 3 argument 1
//     views    0 {buffer 0, float32 ab 1x64} | 1 {buffer 1, float32 AB16b64a 64x64} | ...
//     steps    inner product: src = view 0, weights = view 1, dst = view 2, scratchpad = view 4
//
// A plan never changes after it is built: any number of calls run it at the same time, each with a
// frame of its own (frame.hpp).
#pragma once

#include "loops.hpp"
#include "onednn.hpp"

#include <gantry/result.hpp>
#include <gantry/value.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry::dnnl_plugin {

// Memory of the arena and of constants begins at a multiple of a cache line, the alignment that
// oneDNN's kernels prefer.
constexpr std::size_t memory_alignment = 64;

struct AlignedDelete {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t(memory_alignment));
  }
};
using AlignedBytes = std::unique_ptr<std::byte[], AlignedDelete>;

// returns  EXHAUSTED
Result<AlignedBytes> new_aligned_bytes(std::size_t size);

enum class BufferKind : std::uint8_t {
  // memory of the caller
  argument,
  // read only
  constant,
  // in the arena, valid from its first to its last step
  temporary,
  // in the arena, never reused; zeros where no step writes
  zeroed,
};

struct Buffer {
  BufferKind kind = BufferKind::temporary;
  std::size_t bytes = 0;
  // argument: its index
  std::uint32_t argument = 0;
  // constant: its elements
  const std::byte* data = nullptr;
  // temporary: the steps that use it
  std::uint32_t first_step = 0;
  std::uint32_t last_step = 0;
  // of temporary and zeroed buffers in the arena
  std::size_t offset = 0;
};

// A tensor: one layout of the elements in a buffer, or of a part of them. Empty while a plan is built: an optional tensor that
// is absent.
struct View {
  Desc desc;
  std::uint32_t buffer = 0;
  // Bytes of the buffer before the first element. Layouts have no offsets: oneDNN 3 cannot make one.
  std::size_t offset = 0;

  bool exists() const { return !desc.is_zero(); }
  Dims dims() const { return dims_of(desc); }
  DataType type() const { return type_of(desc); }
  // Returns the same elements in another layout.
  View with(Desc other) const { return {std::move(other), buffer, offset}; }
};

struct StepArgument {
  // DNNL_ARG_*
  int role = 0;
  std::uint32_t view = 0;
};

struct Step {
  ::dnnl::primitive primitive;
  // instead of a primitive, if it is set
  Loop loop;
  std::vector<StepArgument> arguments;
  // of the operator, for traces and errors
  std::string_view name;
};

struct Plan {
  ::dnnl::engine engine;
  std::vector<Buffer> buffers;
  std::vector<View> views;
  std::vector<Step> steps;
  std::size_t arena_bytes = 0;
  // Weights in the layouts that the primitives chose.
  std::vector<AlignedBytes> weights;
  // Constants of the artifact that the primitives read in place.
  std::vector<Value> kept;
};

// Places temporary and zeroed buffers in the arena: buffers whose steps do not overlap share memory.
//
// returns  EXHAUSTED  their sum exceeds every memory (MEMORY)
// costs    O(buffers x buffers in use at one step)
Status place_buffers(Plan& plan);

// Refuses a plan whose primitives would read or write outside of a buffer.
//
// returns  BUG    a view reaches behind the end of its buffer
Status check_views(const Plan& plan);

}  // namespace gantry::dnnl_plugin
