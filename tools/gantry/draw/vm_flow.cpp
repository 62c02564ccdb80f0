// SPDX-License-Identifier: Apache-2.0
#include "tools/gantry/draw/vm_flow.hpp"

#include <gantry/concat.hpp>

#include <algorithm>
#include <iterator>

namespace gantry::cli {
namespace {

// Limits the values that are kept for the blocks that follow: blocks times registers.
constexpr std::uint64_t max_kept_values = 1 << 18;
// of one value; more are possible in code with very many blocks only
constexpr std::size_t max_writers = 16;

void join(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
  std::vector<std::uint32_t> both;
  std::ranges::set_union(to, from, std::back_inserter(both));
  if (both.size() > max_writers) both.erase(both.begin(), both.end() - max_writers);
  to = std::move(both);
}

}  // namespace

VmFlow::VmFlow(FlowBuilder& builder, VmCode code)
    : builder_(builder),
      code_(std::move(code)),
      values_(code_.register_count),
      parameters_(code_.parameter_count, FlowBuilder::none) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) values_[i].is_parameter = true;
  find_blocks();
  is_exact_ = blocks_.size() * std::uint64_t{code_.register_count} <= max_kept_values;
  if (!is_exact_ && blocks_.size() > 1)
    builder_.note("tensors between blocks are drawn in the order of the instructions");
}

std::uint32_t VmFlow::block_at(std::uint32_t instruction) const {
  const auto after = std::ranges::upper_bound(blocks_, instruction, {}, &Block::begin);
  return static_cast<std::uint32_t>(after - blocks_.begin() - 1);
}

void VmFlow::find_blocks() {
  std::vector<std::uint32_t> begins{0};
  std::vector<VmStep> steps(code_.instruction_count);
  for (std::uint32_t i = 0; i < code_.instruction_count; ++i) {
    steps[i] = code_.step(i);
    if (steps[i].kind == VmStep::Kind::next) continue;
    if (i + 1 < code_.instruction_count) begins.push_back(i + 1);
    if (steps[i].kind == VmStep::Kind::end) continue;
    begins.push_back(steps[i].target);
    if (steps[i].kind == VmStep::Kind::branch) begins.push_back(steps[i].otherwise);
  }
  std::ranges::sort(begins);
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  blocks_.resize(begins.size());
  for (std::size_t b = 0; b < begins.size(); ++b) {
    blocks_[b].begin = begins[b];
    blocks_[b].end = b + 1 < begins.size() ? begins[b + 1] : code_.instruction_count;
  }
  if (code_.instruction_count == 0) return;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    const VmStep& last = steps[blocks_[b].end - 1];
    const auto follow = [&](std::uint32_t instruction, std::string_view label) {
      Block& next = blocks_[block_at(instruction)];
      next.before.push_back(b);
      next.label = next.before.size() == 1 ? label : "join";
      if (instruction <= blocks_[b].begin) next.label = "loop";
      next.is_target = true;
    };
    switch (last.kind) {
      case VmStep::Kind::next:
        if (b + 1 < blocks_.size()) follow(blocks_[b + 1].begin, "join");
        break;
      case VmStep::Kind::jump:
        follow(last.target, "join");
        break;
      case VmStep::Kind::branch:
        follow(last.target, "then");
        follow(last.otherwise, "else");
        break;
      case VmStep::Kind::end:
        break;
    }
  }
}

void VmFlow::merge_into(std::vector<FlowValue>& to, const std::vector<FlowValue>& from) const {
  for (std::size_t r = 0; r < to.size(); ++r) {
    join(to[r].from, from[r].from);
    if (to[r].type != from[r].type) to[r].type.clear();
    to[r].is_unwritten = to[r].is_unwritten && from[r].is_unwritten;
    to[r].is_hidden = to[r].is_hidden && from[r].is_hidden;
    to[r].is_parameter = to[r].is_parameter || from[r].is_parameter;
  }
}

void VmFlow::enter(std::uint32_t index) {
  Block& block = blocks_[index];
  if (is_exact_ && index > 0) {
    bool is_first = true;
    for (const std::uint32_t before : block.before) {
      // A loop's values are those of its first round.
      if (before >= index) continue;
      if (is_first) {
        values_ = blocks_[before].values;
      } else {
        merge_into(values_, blocks_[before].values);
      }
      is_first = false;
    }
    if (is_first) std::ranges::fill(values_, FlowValue());
  }
  choice_ = FlowBuilder::none;
  if (block.is_target) {
    block.node = builder_.add({.kind = FlowNode::Kind::block, .title = block.label});
    for (const auto& [from, label] : block.arriving)
      builder_.connect(from, block.node, true, label);
    block.arriving.clear();
  }
  first_node_ = static_cast<std::uint32_t>(builder_.size());
}

void VmFlow::control(std::uint32_t from, std::uint32_t index, std::string_view label) {
  if (from == FlowBuilder::none) return;
  Block& block = blocks_[index];
  if (block.node != FlowBuilder::none) {
    builder_.connect(from, block.node, true, label);
  } else {
    block.arriving.emplace_back(from, label);
  }
}

void VmFlow::leave(std::uint32_t index) {
  Block& block = blocks_[index];
  const auto end = static_cast<std::uint32_t>(builder_.size());
  has_before_.resize(end);
  has_after_.resize(end);
  const auto is_step = [&](std::uint32_t node) {
    const FlowNode::Kind kind = builder_.node(node).kind;
    return kind != FlowNode::Kind::input;
  };
  std::vector<std::uint32_t> last;
  for (std::uint32_t node = first_node_; node < end; ++node) {
    if (!is_step(node)) continue;
    if (!has_before_[node]) builder_.connect(block.node, node, true);
    if (!has_after_[node] && node != choice_) last.push_back(node);
  }
  if (last.empty() && block.node != FlowBuilder::none) last.push_back(block.node);
  if (code_.instruction_count == 0) return;
  const VmStep step = code_.step(block.end - 1);
  switch (step.kind) {
    case VmStep::Kind::next:
      if (index + 1 < blocks_.size()) {
        for (const std::uint32_t node : last) control(node, index + 1, {});
      }
      break;
    case VmStep::Kind::jump:
      for (const std::uint32_t node : last) control(node, block_at(step.target), {});
      break;
    case VmStep::Kind::branch:
      control(choice_, block_at(step.target), "true");
      control(choice_, block_at(step.otherwise), "false");
      break;
    case VmStep::Kind::end:
      break;
  }
  if (is_exact_ && blocks_.size() > 1) block.values = values_;
}

void VmFlow::run(const std::function<void(std::uint32_t)>& instruction) {
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    enter(b);
    for (std::uint32_t i = blocks_[b].begin; i < blocks_[b].end; ++i) instruction(i);
    leave(b);
  }
  const auto unread = static_cast<std::size_t>(std::ranges::count(parameters_, FlowBuilder::none));
  if (unread != 0)
    builder_.note(concat(unread, unread == 1 ? " parameter is" : " parameters are",
                         " not read by what is drawn"));
}

const FlowValue& VmFlow::value(std::uint32_t reg) {
  FlowValue& value = values_[reg];
  if (!value.is_parameter) return value;
  value.is_parameter = false;
  std::uint32_t& node = parameters_[reg];
  if (node == FlowBuilder::none) node = builder_.add(code_.parameter(reg));
  if (node == FlowBuilder::none) return value;
  join(value.from, {node});
  const std::vector<std::string>& types = builder_.node(node).lines;
  if (value.from.size() == 1 && !types.empty()) value.type = types.front();
  return value;
}

FlowValue VmFlow::values(std::span<const std::uint32_t> registers) {
  FlowValue all;
  if (registers.size() == 1) all = value(registers[0]);
  for (const std::uint32_t reg : registers) join(all.from, value(reg).from);
  all.is_unwritten = false;
  return all;
}

std::uint32_t VmFlow::add_reader(FlowNode node, std::span<const std::uint32_t> registers) {
  // before the node, because parameters may be added
  std::vector<FlowValue> read_values;
  read_values.reserve(registers.size());
  for (const std::uint32_t reg : registers) read_values.push_back(value(reg));
  const std::uint32_t index = add(std::move(node));
  for (const FlowValue& each : read_values) read(index, each);
  return index;
}

std::uint32_t VmFlow::add(FlowNode node) { return builder_.add(std::move(node)); }

void VmFlow::read(std::uint32_t node, const FlowValue& value) {
  if (node == FlowBuilder::none) return;
  for (const std::uint32_t from : value.from) {
    builder_.connect(from, node);
    if (from < first_node_ || builder_.node(from).kind == FlowNode::Kind::input) continue;
    const std::size_t size = std::max<std::size_t>(from, node) + 1;
    if (has_before_.size() < size) has_before_.resize(size);
    if (has_after_.size() < size) has_after_.resize(size);
    has_before_[node] = true;
    has_after_[from] = true;
  }
}

void VmFlow::add_choice(FlowNode node, const FlowValue& condition) {
  choice_ = add(std::move(node));
  read(choice_, condition);
}

}  // namespace gantry::cli
