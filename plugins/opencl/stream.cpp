// SPDX-License-Identifier: Apache-2.0
//
// Streams and events. A stream is a command queue; an event is a marker in a queue, with the
// driver's timestamp.
#include "plugin.hpp"

#include <mutex>
#include <utility>

namespace gantry::opencl {
namespace {

// Returns a new reference to an event's marker; empty: the event was never recorded.
OwnedEvent marker_of(Event& event) {
  const std::lock_guard lock(event.mutex);
  const cl_event marker = event.marker.get();
  if (marker == nullptr || clRetainEvent(marker) != CL_SUCCESS) return {};
  return OwnedEvent(marker);
}

Result<cl_ulong> time_of(Event& event, std::string_view which) {
  const OwnedEvent marker = marker_of(event);
  if (!marker) return invalid("event ", which, " was never recorded").with_reason("EVENT");
  const cl_event awaited = marker.get();
  cl_int error = clWaitForEvents(1, &awaited);
  if (error != CL_SUCCESS) return driver_error(error, "clWaitForEvents");
  cl_ulong time = 0;
  error = clGetEventProfilingInfo(awaited, CL_PROFILING_COMMAND_END, sizeof time, &time, nullptr);
  if (error != CL_SUCCESS) return driver_error(error, "clGetEventProfilingInfo");
  return time;
}

}  // namespace

Status DeviceFunctions::synchronize(cl_command_queue stream) {
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const cl_int error = clFinish(queue);
  if (error != CL_SUCCESS) return driver_error(error, concat("clFinish on ", device.described()));
  plugin.programs.settle(false);
  return {};
}

Result<cl_command_queue> DeviceFunctions::stream_create() {
  return plugin.driver.new_queue(device);
}

// The driver keeps the queue until its commands have finished; the flush submits them.
void DeviceFunctions::stream_destroy(cl_command_queue stream) {
  clFlush(stream);
  clReleaseCommandQueue(stream);
}

Status DeviceFunctions::event_record(Event* event, cl_command_queue stream) {
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  cl_event marker = nullptr;
  cl_int error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker);
  if (error != CL_SUCCESS) {
    return driver_error(error, concat("clEnqueueMarkerWithWaitList on ", device.described()));
  }
  OwnedEvent recorded(marker);
  // Another queue may wait for the marker, and nothing else is certain to submit this queue.
  error = clFlush(queue);
  if (error != CL_SUCCESS) return driver_error(error, concat("clFlush on ", device.described()));
  const std::lock_guard lock(event->mutex);
  event->marker = std::move(recorded);
  return {};
}

Status DeviceFunctions::event_wait(Event* event, cl_command_queue stream) {
  const OwnedEvent marker = marker_of(*event);
  // Never recorded: no wait.
  if (!marker) return {};
  GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(device, stream));
  const cl_event awaited = marker.get();
  const cl_int error = clEnqueueBarrierWithWaitList(queue, 1, &awaited, nullptr);
  if (error == CL_SUCCESS) return {};
  return driver_error(error, concat("clEnqueueBarrierWithWaitList on ", device.described()));
}

Result<std::int64_t> DeviceFunctions::event_elapsed(Event* start, Event* stop) {
  GANTRY_TRY(const cl_ulong begun, time_of(*start, "start"));
  GANTRY_TRY(const cl_ulong ended, time_of(*stop, "stop"));
  return static_cast<std::int64_t>(ended - begun);
}

}  // namespace gantry::opencl
