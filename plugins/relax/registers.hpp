// SPDX-License-Identifier: Apache-2.0
//
// The registers and argument lists of the functions that run on a virtual machine: a stack in
// blocks, so that addresses stay valid while it grows.
#pragma once

#include <gantry/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gantry::relax {

class RegisterStack {
 public:
  // Returns `count` values, none. Released by pop() in reverse order.
  //
  // costs    no allocation once the stack has been as deep
  std::span<gantry_value> push(std::uint32_t count) {
    while (top_ < blocks_.size() && blocks_[top_].size - blocks_[top_].used < count) ++top_;
    if (top_ == blocks_.size()) blocks_.emplace_back(std::max(count, block_size));
    Block& block = blocks_[top_];
    gantry_value* const first = block.values.get() + block.used;
    block.used += count;
    std::fill_n(first, count, gantry_value{});
    return {first, count};
  }
  void pop(std::span<const gantry_value> values) {
    while (top_ != 0 && blocks_[top_].used == 0) --top_;
    blocks_[top_].used -= static_cast<std::uint32_t>(values.size());
  }

 private:
  static constexpr std::uint32_t block_size = 1024;
  struct Block {
    explicit Block(std::uint32_t count)
        : values(std::make_unique_for_overwrite<gantry_value[]>(count)), size(count) {}
    std::unique_ptr<gantry_value[]> values;
    std::uint32_t size, used = 0;
  };

  std::vector<Block> blocks_;
  std::size_t top_ = 0;
};

// Registers that own their objects.
class Frame {
 public:
  Frame(RegisterStack& stack, std::uint32_t count) : stack_(stack), values_(stack.push(count)) {}
  ~Frame() {
    for (gantry_value& value : values_) (void)Value::adopt(value);
    stack_.pop(values_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  gantry_value& operator[](std::uint32_t i) { return values_[i]; }
  gantry_value* data() { return values_.data(); }
  void set(std::uint32_t i, Value value) {
    const Value old = Value::adopt(std::exchange(values_[i], value.take()));
  }
  // Precondition: the register is none.
  void copy(std::uint32_t i, const gantry_value& value) {
    if (value.kind >= GANTRY_OBJECT) gantry_retain(value.object);
    values_[i] = value;
  }
  // Returns the value and leaves none.
  Value take(std::uint32_t i) { return Value::adopt(std::exchange(values_[i], gantry_value{})); }

 private:
  RegisterStack& stack_;
  const std::span<gantry_value> values_;
};

// An argument list, whose values are borrowed.
class ArgumentList {
 public:
  ArgumentList(RegisterStack& stack, std::uint32_t count)
      : stack_(stack), values_(stack.push(count)) {}
  ~ArgumentList() { stack_.pop(values_); }
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;

  gantry_value* data() const { return values_.data(); }

 private:
  RegisterStack& stack_;
  const std::span<gantry_value> values_;
};

}  // namespace gantry::relax
