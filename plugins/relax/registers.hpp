// SPDX-License-Identifier: Apache-2.0
//
// The registers and argument lists of the functions that run on a virtual machine: a stack in
// blocks, so that addresses stay valid while it grows. Numbers of the file decide its size, so that it
// is counted and limited.
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/storage_memory.hpp>
#include <gantry/value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <span>
#include <utility>
#include <vector>

namespace gantry::relax {

class RegisterStack {
 public:
  // Of all active functions: 256 MiB.
  static constexpr std::uint64_t max_values = std::uint64_t{1} << 24;

  RegisterStack(Host host, std::shared_ptr<StorageMemory> memory)
      : memory_(host, std::move(memory), "registers of a virtual machine",
                max_values * sizeof(gantry_value)) {}

  // Makes room for a push() of `count` values.
  //
  // returns  EXHAUSTED  a limit is reached (MEMORY_LIMIT)
  // costs    no allocation once the stack has been as deep
  Status reserve(std::size_t count) {
    while (top_ != 0 && blocks_[top_].used == 0) --top_;
    if (!blocks_.empty() && blocks_[top_].left() >= count) [[likely]]
      return {};
    return grow(count);
  }
  // Returns `count` values, none. Released by pop() in reverse order.
  //
  // Precondition: reserve() has made room.
  std::span<gantry_value> push(std::size_t count) {
    Block& block = blocks_[top_];
    gantry_value* const first = block.values.data() + block.used;
    block.used += count;
    std::fill_n(first, count, gantry_value{});
    return {first, count};
  }
  void pop(std::span<const gantry_value> values) {
    if (values.empty()) return;
    while (top_ != 0 && blocks_[top_].used == 0) --top_;
    blocks_[top_].used -= values.size();
  }

 private:
  static constexpr std::size_t block_size = 1024;
  struct Block {
    std::pmr::vector<gantry_value> values;
    std::size_t used = 0;
    std::size_t left() const { return values.size() - used; }
  };

  // Takes the next block, or replaces it and those after it, which nothing uses.
  [[gnu::noinline]] Status grow(std::size_t count) {
    const std::size_t next = !blocks_.empty() && blocks_[top_].used != 0 ? top_ + 1 : top_;
    if (next == blocks_.size() || blocks_[next].values.size() < count) {
      while (blocks_.size() > next) blocks_.pop_back();
      try {
        blocks_.push_back(
            {std::pmr::vector<gantry_value>(std::max(count, block_size), &memory_), 0});
      } catch (const std::exception&) {
        if (top_ == blocks_.size() && top_ != 0) --top_;
        return error_in_flight();
      }
    }
    top_ = next;
    return {};
  }

  HostMemory memory_;
  std::vector<Block> blocks_;
  std::size_t top_ = 0;
};

// Registers that own their objects.
class Frame {
 public:
  // Precondition: the stack has reserved `count` values.
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
  // Precondition: the stack has reserved `count` values.
  ArgumentList(RegisterStack& stack, std::size_t count)
      : stack_(stack), values_(stack.push(count)) {}
  ~ArgumentList() { stack_.pop(values_); }
  ArgumentList(const ArgumentList&) = delete;
  ArgumentList& operator=(const ArgumentList&) = delete;

  gantry_value* data() const { return values_.data(); }
  std::span<gantry_value> values() const { return values_; }

 private:
  RegisterStack& stack_;
  const std::span<gantry_value> values_;
};

}  // namespace gantry::relax
