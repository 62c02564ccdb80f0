// SPDX-License-Identifier: Apache-2.0
//
// What one run enqueues on a device, recorded by the device and launched as a whole.
//
//     begin() ── operators, in stream() ── end()      one recording, which an earlier one goes for
//     launch(stream)                                   runs it behind what is in the stream
#pragma once

#include <gantry/handle.hpp>

#include <memory>

namespace gantry::graph {

class Replay {
 public:
  // Proves that the device records, with an empty recording.
  //
  // returns  UNSUPPORTED  it does not, or has no streams
  static Result<std::unique_ptr<Replay>> create(const Host& host, gantry_device_id device);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  gantry_device_id device() const { return device_.id; }
  // where operators are recorded
  void* stream() const { return stream_; }

  Status begin();
  // moves    [in]   Memory::moves() of what was recorded
  Status end(std::uint64_t moves);
  // Ends a recording that an operator has spoilt.
  void abandon();
  bool is_of(std::uint64_t moves) const { return graph_ != nullptr && moves_ == moves; }
  // stream   [in]   of the device; NULL: its default one
  Status launch(void* stream);
  Status wait(void* stream) const;

  // has there been a plain run?
  bool is_warm = false;

 private:
  explicit Replay(const gantry_device& device) : device_(device) {}
  template <class Make>
  Status call(std::string_view name, Make&& make) const;
  void forget();

  // the host's, which outlives every executor
  gantry_device device_;
  void* stream_ = nullptr;
  void* graph_ = nullptr;
  std::uint64_t moves_ = 0;
};

}  // namespace gantry::graph
