// SPDX-License-Identifier: Apache-2.0
//
// Records the work of one run on a device, and launches it as a whole.
//
//     begin() -- operators, in stream() -- end()     makes a recording; replaces an earlier one
//     launch(stream)                                 enqueues the recording in a stream
#pragma once

#include <gantry/handle.hpp>

#include <memory>

namespace gantry::graph {

class Replay {
 public:
  // Checks with an empty recording that the device supports captures.
  //
  // returns  UNSUPPORTED  the device has no captures or no streams
  static Result<std::unique_ptr<Replay>> create(const Host& host, gantry_device_id device);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  gantry_device_id device() const { return device_.id; }
  // The stream in which operators are recorded.
  void* stream() const { return stream_; }

  Status begin();
  // moves    [in]   Memory::moves() at the time of the recording
  Status end(std::uint64_t moves);
  // Ends and discards a recording after an operator has failed.
  void abandon();
  bool is_of(std::uint64_t moves) const { return graph_ != nullptr && moves_ == moves; }
  // stream   [in]   a stream of the device; NULL: its default stream
  Status launch(void* stream);
  Status wait(void* stream) const;

  // True after the first run, which is not recorded.
  bool is_warm = false;

 private:
  explicit Replay(const gantry_device& device) : device_(device) {}
  template <class Function, class... Arguments>
  Status call(std::string_view name, Function gantry_device_table::*function,
              Arguments... arguments) const;
  void forget();

  // Owned by the host, outlives every executor.
  gantry_device device_;
  void* stream_ = nullptr;
  void* graph_ = nullptr;
  std::uint64_t moves_ = 0;
};

}  // namespace gantry::graph
