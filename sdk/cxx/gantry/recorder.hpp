// SPDX-License-Identifier: Apache-2.0
//
// gantry/recorder.hpp - records work on a device, and launches it as a whole. For executors, whose
// runs repeat the same work on the same memory.
//
//     GANTRY_TRY(const auto recorder, Recorder::create(host, device));
//     GANTRY_TRY(Capture capture, recorder->begin());
//     GANTRY_CHECK(run(recorder->stream()));
//     GANTRY_TRY(Recording recording, capture.end());
//     GANTRY_CHECK(recording.launch(stream));               // again and again
//
// While work is recorded, nothing waits or allocates. A run before it, in the same stream, makes
// the functions load their code and allocate what they keep for a stream. A recording contains
// addresses: their memory must remain valid, and no function is called again.
#pragma once

#include <gantry/abi_boundary.hpp>
#include <gantry/device_name.hpp>
#include <gantry/handle.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace gantry {

namespace detail {

template <class Function, class... Arguments>
Status call_device(const gantry_device& device, std::string_view name,
                   Function gantry_device_table::*function, Arguments... arguments) {
  StatusBuffer status;
  const gantry_code code =
      (device.table->*function)(device.self, device.id.index, arguments..., status.get());
  if (code == GANTRY_OK) return {};
  return status.error(code, concat(name, " of ", device_text_of(device)));
}

}  // namespace detail

// Recorded work of one device. It may be destroyed while it runs, like memory.
class Recording {
 public:
  Recording() = default;
  Recording(Recording&& other) noexcept
      : device_(other.device_), graph_(std::exchange(other.graph_, nullptr)) {}
  Recording& operator=(Recording&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Recording() {
    if (graph_ != nullptr) device_.table->capture_destroy(device_.self, device_.id.index, graph_);
  }

  // False: there is none.
  explicit operator bool() const { return graph_ != nullptr; }
  // Enqueues the work.
  //
  // stream   [in]   of the device; NULL: its default stream
  Status launch(void* stream) const {
    return detail::call_device(device_, "capture_launch", &gantry_device_table::capture_launch,
                               graph_, stream);
  }

 private:
  friend class Capture;
  gantry_device device_{};
  void* graph_ = nullptr;
};

// A recording that is being made. Without end() it is discarded.
class Capture {
 public:
  Capture(Capture&& other) noexcept
      : device_(other.device_),
        stream_(other.stream_),
        is_open_(std::exchange(other.is_open_, false)) {}
  Capture& operator=(Capture&&) = delete;
  // The capture may have ended already: the error that ended it has been reported.
  ~Capture() {
    if (!is_open_) return;
    Recording discarded;
    discarded.device_ = device_;
    (void)device_.table->capture_end(device_.self, device_.id.index, stream_, &discarded.graph_,
                                     nullptr);
  }

  // Precondition: not called before.
  Result<Recording> end() {
    is_open_ = false;
    Recording recording;
    recording.device_ = device_;
    GANTRY_CHECK(detail::call_device(device_, "capture_end", &gantry_device_table::capture_end,
                                     stream_, &recording.graph_));
    return recording;
  }

 private:
  friend class Recorder;
  Capture(const gantry_device& device, void* stream) : device_(device), stream_(stream) {}

  gantry_device device_;
  void* stream_;
  bool is_open_ = true;
};

// A stream of a device whose work can be recorded.
class Recorder {
 public:
  // Checks with an empty recording that the device supports captures.
  //
  // returns  UNSUPPORTED  the device has no captures or no streams
  static Result<std::unique_ptr<Recorder>> create(const Host& host, gantry_device_id device) {
    GANTRY_TRY(const gantry_device found, host.device(device));
    std::unique_ptr<Recorder> recorder(new Recorder(found));
    GANTRY_CHECK(detail::call_device(found, "stream_create", &gantry_device_table::stream_create,
                                     0u, &recorder->stream_));
    GANTRY_TRY(Capture empty, recorder->begin());
    GANTRY_CHECK(empty.end());
    return recorder;
  }
  ~Recorder() {
    if (stream_ != nullptr) device_.table->stream_destroy(device_.self, device_.id.index, stream_);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  gantry_device_id device() const { return device_.id; }
  void* stream() const { return stream_; }

  // Work in the stream is recorded until the capture ends.
  Result<Capture> begin() const {
    GANTRY_CHECK(detail::call_device(device_, "capture_begin", &gantry_device_table::capture_begin,
                                     stream_));
    return Capture(device_, stream_);
  }
  // Waits for the work in a stream of the device.
  Status wait(void* stream) const {
    return detail::call_device(device_, "synchronize", &gantry_device_table::synchronize, stream);
  }

 private:
  explicit Recorder(const gantry_device& device) : device_(device) {}

  // Owned by the host, outlives the plugin's objects.
  const gantry_device device_;
  void* stream_ = nullptr;
};

}  // namespace gantry
