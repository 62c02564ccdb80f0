// SPDX-License-Identifier: Apache-2.0
#include "initialization.hpp"

namespace gantry::const_loader {

Result<bool> Initializations::begin(std::size_t symbol) {
  std::unique_lock lock(mutex_);
  Symbol& entry = symbols_[symbol];
  while (entry.state == State::running) {
    if (entry.thread == std::this_thread::get_id()) {
      return invalid("its initialization looks the symbol up itself, which would wait for ever");
    }
    changed_.wait(lock);
  }
  if (entry.state == State::done) return false;
  entry = {State::running, std::this_thread::get_id()};
  return true;
}

void Initializations::end(std::size_t symbol, bool succeeded) noexcept {
  {
    const std::lock_guard lock(mutex_);
    symbols_[symbol].state = succeeded ? State::done : State::unused;
  }
  changed_.notify_all();
}

}  // namespace gantry::const_loader
