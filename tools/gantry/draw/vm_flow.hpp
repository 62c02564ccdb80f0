// SPDX-License-Identifier: Apache-2.0
//
// The flow of a function of a virtual machine: which instruction wrote what a register has, also where blocks
// of instructions join.
//
//     VmFlow flow(builder, {instructions, registers, step});
//     flow.run([&](std::uint32_t instruction) { ... flow.value(reg) ... });
//
// A block that other instructions than the one before it continue with has a node of its own.
#pragma once

#include "tools/gantry/draw/flow.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gantry::cli {

// What a register has.
struct FlowValue {
  // the nodes that may have written it, ascending
  std::vector<std::uint32_t> from = {};
  // "float32[1, 64]"; of a shape its extents; empty: unknown
  std::string type = {};
  // an allocated tensor that no node has written
  bool is_unwritten = false;
  // a number or a list of them that the host computes: no tensor
  bool is_hidden = false;
  // a parameter, whose node is added when it is first read
  bool is_parameter = false;
};

// What follows an instruction.
struct VmStep {
  enum class Kind : std::uint8_t { next, jump, branch, end };
  Kind kind = Kind::next;
  // jump: target; branch: targets if true and if false
  std::uint32_t target = 0, otherwise = 0;
};

struct VmCode {
  std::uint32_t instruction_count = 0;
  std::uint32_t register_count = 0;
  // Of the parameters, which are the first registers. A file may state very many.
  std::uint32_t parameter_count = 0;
  std::function<FlowNode(std::uint32_t parameter)> parameter;
  // Targets are below instruction_count.
  std::function<VmStep(std::uint32_t instruction)> step;
};

class VmFlow {
 public:
  VmFlow(FlowBuilder& builder, VmCode code);

  // Calls `instruction` for each instruction, in their order.
  void run(const std::function<void(std::uint32_t)>& instruction);

  // What a register has.
  //
  // lifetime until the next call of set()
  const FlowValue& value(std::uint32_t reg);
  void set(std::uint32_t reg, FlowValue value) { values_[reg] = std::move(value); }
  // What all of them have.
  FlowValue values(std::span<const std::uint32_t> registers);
  // Adds a node to the current block.
  std::uint32_t add(FlowNode node);
  // Adds edges from what a value is from.
  void read(std::uint32_t node, const FlowValue& value);
  // Adds a node that reads registers.
  std::uint32_t add_reader(FlowNode node, std::span<const std::uint32_t> registers);
  // Adds the node of a branch. Precondition: it is the current instruction, and the last one to be added.
  void add_choice(FlowNode node, const FlowValue& condition);

 private:
  struct Block {
    std::uint32_t begin = 0, end = 0;
    // blocks that are followed by it
    std::vector<std::uint32_t> before;
    // control arrives from elsewhere than the block before
    bool is_target = false;
    std::string label;
    std::uint32_t node = FlowBuilder::none;
    // edges from nodes of earlier blocks
    std::vector<std::pair<std::uint32_t, std::string>> arriving;
    std::vector<FlowValue> values;
  };

  void find_blocks();
  void enter(std::uint32_t block);
  void leave(std::uint32_t block);
  void merge_into(std::vector<FlowValue>& to, const std::vector<FlowValue>& from) const;
  void control(std::uint32_t from, std::uint32_t block, std::string_view label);
  std::uint32_t block_at(std::uint32_t instruction) const;

  FlowBuilder& builder_;
  VmCode code_;
  std::vector<Block> blocks_;
  std::vector<FlowValue> values_;
  // by parameter; none: not read yet
  std::vector<std::uint32_t> parameters_;
  bool is_exact_ = true;
  // of the current block
  std::uint32_t first_node_ = 0;
  std::uint32_t choice_ = FlowBuilder::none;
  // by node: has an edge within its block
  std::vector<bool> has_before_, has_after_;
};

}  // namespace gantry::cli
