// SPDX-License-Identifier: Apache-2.0
//
// The runtime's thread pool.
#pragma once

#include <gantry/threads.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>

#include <algorithm>
#include <cstdint>

namespace gantry::contrib {

// A range of numbers, one of several that share the work.
struct Piece {
  std::int64_t begin, end;
};
// Returns piece `index` of `count` pieces of 0 to size - 1, which differ by one at most.
inline Piece piece_of(std::int64_t size, std::int64_t index, std::int64_t count) {
  const std::int64_t each = size / count, rest = size % count;
  const std::int64_t begin = index * each + std::min(index, rest);
  return {begin, begin + each + (index < rest ? 1 : 0)};
}

class Threads {
 public:
  explicit Threads(Host host)
      : host_(host), table_(host.extension<gantry_threads>(GANTRY_THREADS_1)) {}

  // Returns the number of pieces that can run at once, 1 at least.
  std::int64_t count() const { return table_ != nullptr ? table_->thread_count(host_.table()) : 1; }

  // Returns the number of pieces for work on so many elements: below some thousands of them, waking the
  // pool takes longer than the work.
  std::int64_t pieces_of(std::int64_t elements) const { return elements < (1 << 14) ? 1 : count(); }

  // Runs body(0) to body(count - 1), each a Status, and waits for all of them.
  //
  // returns  the failure of the first piece that fails
  template <class Body>
  Status run(std::int64_t count, const Body& body) const {
    if (table_ == nullptr || count == 1) {
      for (std::int64_t i = 0; i < count; ++i) GANTRY_CHECK(body(i));
      return {};
    }
    StatusBuffer status;
    const gantry_code code = table_->parallel_for(
        host_.table(), count,
        [](void* self, std::int64_t i, gantry_status* to) {
          return abi_boundary(to, [&] { return (*static_cast<const Body*>(self))(i); });
        },
        const_cast<Body*>(&body), status.get());
    if (code == GANTRY_OK) return {};
    return status.error(code, "host function parallel_for");
  }

 private:
  Host host_;
  const gantry_threads* table_;
};

// Work on the elements of one call.
struct Work {
  const Host& host;
  const gantry_env* env;
  const Threads& threads;
  // that share it
  std::int64_t pieces = 1;

  // Calls step(i) for each number of a piece, as long as the task is not cancelled.
  //
  // steps_per_look
  //          [in]   steps that take about a millisecond
  template <class Step>
  Status for_each(Piece piece, const Step& step, std::int64_t steps_per_look = 1 << 18) const {
    for (std::int64_t i = piece.begin; i < piece.end;) {
      GANTRY_CHECK(host.check_task(env));
      const std::int64_t end = std::min(piece.end, i + steps_per_look);
      for (; i < end; ++i) step(i);
    }
    return {};
  }
  // Calls body(piece, number) for pieces of 0 to size - 1, in parallel.
  template <class Body>
  Status in_pieces(std::int64_t size, const Body& body) const {
    return threads.run(pieces, [&](std::int64_t i) { return body(piece_of(size, i, pieces), i); });
  }
};

}  // namespace gantry::contrib
