// SPDX-License-Identifier: Apache-2.0
//
// Runs an initialization once for each of several symbols, on whichever thread is the first.
#pragma once

#include <gantry/result.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gantry::const_loader {

class Initializations {
 public:
  explicit Initializations(std::size_t count) : symbols_(count) {}

  // Runs `body` unless it has succeeded for this symbol. Calls for the same symbol wait for the one
  // that runs; after a failure one of them runs it again. Calls for other symbols do not wait.
  //
  // body     [in]   returns a Status
  // returns  of `body`; INVALID: `body` of this symbol waits for itself, on one thread or through
  //          other symbols on others. Those of another object are not seen.
  // thread   any
  template <class Body>
  Status once(std::size_t symbol, const Body& body) {
    GANTRY_TRY(const bool runs, begin(symbol));
    if (!runs) return {};
    // Also if `body` throws.
    const Running running{*this, symbol};
    Status status = body();
    running.succeeded = status.ok();
    return status;
  }

 private:
  enum class State : unsigned char { unused, running, done };
  struct Symbol {
    State state = State::unused;
    // Runs it.
    std::thread::id thread;
    // The symbol for which that thread waits, if any.
    std::optional<std::size_t> waits_for;
  };
  struct Running {
    Initializations& owner;
    std::size_t symbol;
    mutable bool succeeded = false;
    ~Running() { owner.end(symbol, succeeded); }
  };

  // Returns true if the caller runs the initialization, and false if it is done.
  Result<bool> begin(std::size_t symbol);
  void end(std::size_t symbol, bool succeeded) noexcept;
  // Locked by the caller.
  bool is_waiting_for(std::size_t symbol, std::thread::id thread) const;
  void set_wait(std::thread::id thread, std::optional<std::size_t> symbol);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Symbol> symbols_;
};

}  // namespace gantry::const_loader
