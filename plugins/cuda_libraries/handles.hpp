// SPDX-License-Identifier: Apache-2.0
//
// Handles of a library: one for each device and each call that runs at the same time. A handle is created
// when none is idle, used by one call, and kept for later ones.
#pragma once

#include "driver.hpp"
#include "session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gantry::cuda_libraries {

// Handle   a class with `static Result<std::unique_ptr<Handle>> create(const Api&, const Driver&)`, whose
//          destructor releases it; both with its device's context current. is_of_stream: true if work in
//          one stream may change what work in another reads, so that a handle stays in its first stream
template <class Api, class Handle>
class Handles {
  struct Kept {
    Kept(KeptContext given, std::unique_ptr<Handle> made, void* first)
        : context(std::move(given)), handle(std::move(made)), stream(first) {}
    // Without a context there is nothing to release: the driver has lost it.
    ~Kept() {
      const auto current = context.enter();
      if (current.ok()) {
        handle.reset();
      } else {
        static_cast<void>(handle.release());
      }
    }
    KeptContext context;
    std::unique_ptr<Handle> handle;
    // of the first call
    void* stream;
  };

 public:
  class Lease {
   public:
    Lease(Handles& from, std::int32_t index, std::unique_ptr<Kept> kept)
        : from_(&from), index_(index), kept_(std::move(kept)) {}
    Lease(Lease&&) noexcept = default;
    ~Lease() {
      if (kept_ != nullptr) from_->put_back(index_, std::move(kept_));
    }
    Handle& operator*() const { return *kept_->handle; }
    Handle* operator->() const { return kept_->handle.get(); }

   private:
    Handles* from_;
    std::int32_t index_;
    std::unique_ptr<Kept> kept_;
  };

  // Returns a handle for the session's device, which no other call uses until the lease ends.
  //
  // thread   any
  Result<Lease> take(const Api& api, const Driver& driver, const Session& session) {
    const std::int32_t index = session.device_index();
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[index];
      // so that put_back() allocates nothing
      idle.reserve(max_idle);
      const auto fits = [&](const std::unique_ptr<Kept>& kept) {
        return !Handle::is_of_stream || kept->stream == session.stream();
      };
      const auto at = std::ranges::find_if(idle, fits);
      if (at != idle.end()) {
        Lease lease(*this, index, std::move(*at));
        idle.erase(at);
        return lease;
      }
    }
    GANTRY_TRY(KeptContext context, KeptContext::of_current(driver));
    GANTRY_TRY(std::unique_ptr<Handle> made, Handle::create(api, driver));
    return Lease(*this, index,
                 std::make_unique<Kept>(std::move(context), std::move(made), session.stream()));
  }

 private:
  // of one device
  static constexpr std::size_t max_idle = 16;

  void put_back(std::int32_t index, std::unique_ptr<Kept> kept) noexcept {
    // Destroyed without the lock.
    std::unique_ptr<Kept> oldest;
    const std::lock_guard lock(mutex_);
    auto& idle = idle_.find(index)->second;
    if (idle.size() == max_idle) {
      oldest = std::move(idle.front());
      idle.erase(idle.begin());
    }
    idle.push_back(std::move(kept));
  }

  std::mutex mutex_;
  std::map<std::int32_t, std::vector<std::unique_ptr<Kept>>> idle_;
};

// A library that the first use opens. A failure is not kept: the next use tries again.
template <class T>
class OpenedOnce {
 public:
  // open     [in]   returns Result<std::unique_ptr<const T>>
  //
  // thread   any
  template <class Open>
  Result<const T*> get(const Open& open) {
    const std::lock_guard lock(mutex_);
    if (opened_ == nullptr) {
      GANTRY_TRY(opened_, open());
    }
    return opened_.get();
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<const T> opened_;
};

}  // namespace gantry::cuda_libraries
