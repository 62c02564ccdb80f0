// SPDX-License-Identifier: Apache-2.0
//
// A simulated accelerator and its driver, of which the plugin uses what is declared here.
//
//     Memory    local memory, which the host cannot address
//     Ring      one of two command queues: executes its commands in order, on a thread of its own
//     Queue     commands of one client, in order, in one of the rings
//     Fence     a point in a queue, for which other queues and the host wait
//
// Each command holds the memory that it uses, so memory that is freed while commands use it is given
// back by the last of them.
#pragma once

#include <gantry/device_loss.hpp>
#include <gantry/result.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace quasar {

// of allocations, in bytes
constexpr std::uint64_t granule = 256;
// What the vector unit reads and writes at a time: of tensors, alignment and padding.
constexpr std::uint64_t vector_bytes = 64;

// unit     [in]   a power of two
// returns  UINT64_MAX if the multiple is none of 64 bits
constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return bytes > UINT64_MAX - unit ? UINT64_MAX : (bytes + unit - 1) & ~(unit - 1);
}

class Memory;

// A range of local memory, given back by the destructor.
class Block {
 public:
  Block(Memory& of, std::uint64_t at, std::uint64_t bytes)
      : offset(at), reserved(bytes), memory_(of) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Of the simulation; the host has no such address of a real accelerator.
  std::byte* bytes() const;
  // from the beginning of the memory
  const std::uint64_t offset;
  const std::uint64_t reserved;

 private:
  Memory& memory_;
};
using BlockPtr = std::shared_ptr<Block>;

// Ranges that are given back are kept for later ones of the same size, up to a quarter of the memory.
//
// thread   any
class Memory {
 public:
  explicit Memory(std::uint64_t capacity);

  // Takes the first range that is free. NULL: there is none.
  BlockPtr take(std::uint64_t size, std::uint64_t alignment);
  // Frees the ranges that are kept.
  void trim();

  std::uint64_t capacity() const { return capacity_; }
  // Without those that are kept.
  std::uint64_t free_bytes() const;

 private:
  friend class Block;
  void give_back(const Block& block);

  const std::uint64_t capacity_;
  const std::unique_ptr<std::byte, decltype(&std::free)> bytes_;
  mutable std::mutex mutex_;
  // Reserved bytes by offset, with those that are kept.
  std::map<std::uint64_t, std::uint64_t> ranges_;
  // Offsets by reserved bytes.
  std::multimap<std::uint64_t, std::uint64_t> kept_;
  std::uint64_t reserved_ = 0, kept_bytes_ = 0;
};

class Fence {
 public:
  using Clock = std::chrono::steady_clock;
  void signal();
  // Returns when it was signalled.
  Clock::time_point wait() const;
  // Waits for a time. Returns whether it is signalled.
  bool wait_for(std::int64_t timeout_ns) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable signalled_;
  std::optional<Clock::time_point> at_;
};
using FencePtr = std::shared_ptr<Fence>;

struct Command {
  std::function<gantry::Status()> work;
  // Also executed by a processor that has stopped, as fences and interrupts are.
  bool is_always_executed = false;
};
using Recording = std::vector<Command>;

class Queue;

class Ring {
 public:
  // loss     [in]   of the device: once it is lost, commands are not executed any more
  explicit Ring(const gantry::DeviceLoss& loss) : loss_(loss) {}
  // Executes what is left first.
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // returns  EXHAUSTED  no thread for the first command
  gantry::Status push(std::shared_ptr<Queue> queue, std::span<const Command> commands);

 private:
  struct Entry {
    std::shared_ptr<Queue> queue;
    Command command;
  };
  gantry::Status start();
  void run();
  gantry::Status execute(Command command) const;

  const gantry::DeviceLoss& loss_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Entry> entries_;
  bool ends_ = false;
  std::thread thread_;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(Ring& ring) : ring_(ring) {}

  // While the queue is recorded, commands are kept instead of executed.
  //
  // returns  EXHAUSTED  no thread for the first command
  gantry::Status push(Command command);
  // returns  INVALID    the queue is recorded (CAPTURE)
  gantry::Status launch(const Recording& recording);
  // Waits for all commands until now.
  //
  // returns  INVALID    the queue is recorded (CAPTURE)
  //          others     the first error since the last wait
  gantry::Status wait();

  // returns  INVALID    begin: the queue is recorded; end: it is not (CAPTURE)
  gantry::Status begin_recording();
  gantry::Result<std::unique_ptr<Recording>> end_recording();
  // Refuses what cannot be recorded.
  //
  // what     [in]   "a wait"
  // returns  INVALID    the queue is recorded (CAPTURE)
  gantry::Status check_not_recorded(std::string_view what) const;

 private:
  friend class Ring;
  void completed(gantry::Status done);
  gantry::Status refuse_recorded(std::string_view what) const;

  Ring& ring_;
  mutable std::mutex mutex_;
  std::condition_variable progress_;
  std::uint64_t submitted_ = 0, completed_ = 0;
  gantry::Status failed_;
  std::unique_ptr<Recording> recording_;
};

// The two rings of an accelerator.
class Processor {
 public:
  explicit Processor(const gantry::DeviceLoss& loss) : rings_{Ring(loss), Ring(loss)} {}
  // Queues are in the two rings by turns.
  std::shared_ptr<Queue> open() {
    return std::make_shared<Queue>(rings_[opened_++ % rings_.size()]);
  }

 private:
  std::array<Ring, 2> rings_;
  std::atomic<std::size_t> opened_{0};
};

}  // namespace quasar
