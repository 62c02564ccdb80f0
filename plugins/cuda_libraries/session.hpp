// SPDX-License-Identifier: Apache-2.0
//
// One call of a library on a device: the device's context is current, the work is in the caller's stream,
// and memory for it is the device's, in the order of the stream.
//
//     GANTRY_TRY(const Session session, Session::begin(driver, host, *call.env, tensor.device));
//     GANTRY_TRY(const Session::Memory scratch, session.allocate(bytes));
//     library.set_stream(handle, session.stream());
#pragma once

#include "driver.hpp"

#include <gantry/function.h>
#include <gantry/handle.hpp>

#include <cstdint>
#include <utility>

namespace gantry::cuda_libraries {

class Session {
 public:
  // Memory that only work of the session's stream uses. It is freed in the order of the stream.
  class Memory {
   public:
    Memory() = default;
    Memory(Memory&& other) noexcept
        : session_(other.session_), data_(std::exchange(other.data_, nullptr)) {}
    Memory& operator=(Memory&& other) noexcept {
      std::swap(session_, other.session_);
      std::swap(data_, other.data_);
      return *this;
    }
    ~Memory();
    void* data() const { return data_; }

   private:
    friend class Session;
    Memory(const Session& session, void* data) : session_(&session), data_(data) {}
    const Session* session_ = nullptr;
    void* data_ = nullptr;
  };

  // device   [in]   of the tensors
  // returns  UNSUPPORTED  the device's plugin does not return the driver's handles (NATIVE_KIND)
  //          others       codes of the host's device_get and of the driver
  static Result<Session> begin(const Driver& driver, const Host& host, const gantry_env& env,
                               gantry_device_id device);

  // The driver's, never NULL.
  void* stream() const { return stream_; }
  // The work is recorded into a graph, which may run after the call's memory is freed.
  bool is_captured() const { return is_captured_; }
  std::int32_t device_index() const { return device_.id.index; }

  // Not for captured work.
  //
  // returns  EXHAUSTED  no memory
  // lifetime not longer than the session's
  Result<Memory> allocate(std::uint64_t bytes) const;

 private:
  Session(const gantry_device& device, void* abi_stream, void* stream, bool is_captured,
          CurrentContext current)
      : device_(device),
        abi_stream_(abi_stream),
        stream_(stream),
        is_captured_(is_captured),
        current_(std::move(current)) {}

  gantry_device device_;
  // of the ABI
  void* abi_stream_;
  void* stream_;
  bool is_captured_;
  CurrentContext current_;
};

}  // namespace gantry::cuda_libraries
