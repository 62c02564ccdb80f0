// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include <algorithm>
#include <cstring>

namespace gantry::cuda {

// Returns a piece that is not in use; waits for one if necessary.
Result<Staging::Piece*> Staging::next_piece() {
  Piece& piece = ring_[next_];
  if (piece.memory == nullptr) {
    GANTRY_CHECK(driver_.call(driver_.mem_host_alloc, &piece.memory, piece_bytes, 0u));
  }
  if (piece.done == nullptr) {
    GANTRY_CHECK(driver_.call(driver_.event_create, &piece.done,
                              static_cast<unsigned>(CU_EVENT_DISABLE_TIMING)));
  } else {
    GANTRY_CHECK(driver_.call(driver_.event_synchronize, piece.done));
  }
  next_ = (next_ + 1) % ring_.size();
  return &piece;
}

// enqueue  [in]   Status enqueue(piece, offset): piece.size bytes from `offset` on
template <class Enqueue>
Status Staging::in_pieces(std::size_t size, CUstream stream, Enqueue&& enqueue) {
  const std::lock_guard lock(mutex_);
  const auto all = [&]() -> Status {
    for (std::size_t offset = 0; offset < size; offset += piece_bytes) {
      GANTRY_TRY(Piece* const piece, next_piece());
      piece->size = std::min(piece_bytes, size - offset);
      GANTRY_CHECK(enqueue(*piece, offset));
      GANTRY_CHECK(driver_.call(driver_.event_record, piece->done, stream));
    }
    return {};
  };
  Status done = all();
  // After an error, no copy may still use a piece without an event, or memory that the caller may
  // free.
  if (!done.ok()) driver_.stream_synchronize.function(stream);
  return done;
}

Status Staging::to_device(CUdeviceptr to, const void* from, std::size_t size, CUstream stream) {
  return in_pieces(size, stream, [&](Piece& piece, std::size_t offset) {
    std::memcpy(piece.memory, static_cast<const char*>(from) + offset, piece.size);
    return driver_.call(driver_.copy_to_device, to + offset, static_cast<const void*>(piece.memory),
                        piece.size, stream);
  });
}

Status Staging::to_host(void* to, CUdeviceptr from, std::size_t size, CUstream stream) {
  return in_pieces(size, stream, [&](Piece& piece, std::size_t offset) -> Status {
    piece.host = static_cast<char*>(to) + offset;
    GANTRY_CHECK(
        driver_.call(driver_.copy_to_host, piece.memory, from + offset, piece.size, stream));
    const CUhostFn copy_out = [](void* self) {
      const Piece& filled = *static_cast<Piece*>(self);
      std::memcpy(filled.host, filled.memory, filled.size);
    };
    return driver_.call(driver_.launch_host_function, stream, copy_out, static_cast<void*>(&piece));
  });
}

void Staging::close() {
  for (Piece& piece : ring_) {
    if (piece.done != nullptr) driver_.event_destroy.function(piece.done);
    if (piece.memory != nullptr) driver_.mem_free_host.function(piece.memory);
    piece = {};
  }
}

}  // namespace gantry::cuda
