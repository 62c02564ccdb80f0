// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies between a device and pageable host memory.
//
// The driver's own copies of pageable memory wait for the stream, and copies from the device also
// wait for the copy itself. Here they go through a ring of page-locked buffers, called pieces:
//
//     host --memcpy--> piece --DMA--> device     the caller's thread copies; returns when the last
//                                                piece is filled
//     device --DMA--> piece --memcpy--> host     a host function in the stream copies; returns when
//                                                all pieces are enqueued
//
// A call waits only for a piece that an earlier copy still uses.
#pragma once

#include "driver.hpp"

#include <array>
#include <cstddef>
#include <mutex>

namespace gantry::cuda {

class Staging {
 public:
  // Minimum bytes of a staged copy; smaller copies are as fast in the driver, which embeds them in
  // the command.
  static constexpr std::size_t min_bytes = 64 * 1024;
  static constexpr std::size_t piece_bytes = 4 * 1024 * 1024;

  explicit Staging(const Driver& driver) : driver_(driver) {}

  // Both functions require that the device's context is current, and that `stream` belongs to it
  // and is not being captured.
  //
  // returns  errors of the driver; after an error no part of the copy is in flight
  // thread   any; one copy at a time
  Status to_device(CUdeviceptr to, const void* from, std::size_t size, CUstream stream);
  Status to_host(void* to, CUdeviceptr from, std::size_t size, CUstream stream);

  // Frees the ring; no copy may be in flight.
  void close();

 private:
  struct Piece {
    void* memory = nullptr;
    CUevent done = nullptr;
    // Host destination of a copy from the device.
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
