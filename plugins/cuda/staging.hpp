// SPDX-License-Identifier: Apache-2.0
//
// Copies between a device and host memory that the driver does not know (pageable), behind the return of the call.
//
// The driver makes such copies itself, but waits for the stream first and for the copy too when it comes from the device.
// Here they go piece by piece through a ring of page-locked buffers:
//
//     host --memcpy--> piece --DMA--> device       the caller's thread copies; returns when the last piece is filled
//     device --DMA--> piece --memcpy--> host       a host function in the stream copies; returns when all is enqueued
//
// A call waits only where it wants a piece that is still under way.
#pragma once

#include "driver.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace gantry::cuda {

class Staging {
 public:
  // Below it the driver's own way is as quick: it puts so much into the command itself.
  static constexpr std::size_t min_bytes = 64 * 1024;
  static constexpr std::size_t piece_bytes = 4 * 1024 * 1024;

  explicit Staging(const Driver& driver) : driver_(driver) {}

  // Both: the device's context is current, `stream` is one of it and captures nothing.
  //
  // returns  what the driver says; then nothing of the copy is under way any more
  // thread   any; one copy at a time
  Status to_device(CUdeviceptr to, const void* from, std::size_t size, CUstream stream);
  Status to_host(void* to, CUdeviceptr from, std::size_t size, CUstream stream);

  // Frees the ring; nothing of it is under way.
  void close();

 private:
  struct Piece {
    void* memory = nullptr;
    CUevent done = nullptr;
    // of a copy from the device: where it goes
    void* host = nullptr;
    std::size_t size = 0;
  };
  Result<Piece*> next_piece();
  template <class Enqueue>
  Status in_pieces(std::size_t size, CUstream stream, Enqueue&& enqueue);

  const Driver& driver_;
  std::mutex mutex_;
  std::array<Piece, 4> ring_;
  std::size_t next_ = 0;
};

}  // namespace gantry::cuda
