// SPDX-License-Identifier: Apache-2.0
#include "initialization.hpp"

namespace gantry::const_loader {

Result<bool> Initializations::begin(std::size_t symbol) {
  std::unique_lock lock(mutex_);
  const std::thread::id self = std::this_thread::get_id();
  Symbol& entry = symbols_[symbol];
  while (entry.state == State::running) {
    if (entry.thread == self) {
      return invalid("its initialization looks the symbol up itself, which would wait for ever");
    }
    if (is_waiting_for(symbol, self)) {
      return invalid(
          "its initialization on another thread waits for one of this thread, which would wait for "
          "ever");
    }
    set_wait(self, symbol);
    changed_.wait(lock);
    set_wait(self, std::nullopt);
  }
  if (entry.state == State::done) return false;
  entry = {State::running, self, std::nullopt};
  return true;
}

// Ends: a wait that would close a circle is refused before it is recorded.
bool Initializations::is_waiting_for(std::size_t symbol, std::thread::id thread) const {
  for (std::optional<std::size_t> next = symbol; next && symbols_[*next].state == State::running;
       next = symbols_[*next].waits_for) {
    if (symbols_[*next].thread == thread) return true;
  }
  return false;
}

// A thread that runs no symbol is in no circle, so that its wait needs no record.
void Initializations::set_wait(std::thread::id thread, std::optional<std::size_t> symbol) {
  for (Symbol& each : symbols_) {
    if (each.state == State::running && each.thread == thread) each.waits_for = symbol;
  }
}

void Initializations::end(std::size_t symbol, bool succeeded) noexcept {
  {
    const std::lock_guard lock(mutex_);
    symbols_[symbol].state = succeeded ? State::done : State::unused;
  }
  changed_.notify_all();
}

}  // namespace gantry::const_loader
