// SPDX-License-Identifier: Apache-2.0
//
// Streams are command queues; events are markers in them, whose times the driver takes.
#include "device.hpp"

#include <gantry/abi_boundary.hpp>

#include <memory>
#include <mutex>

namespace gantry::opencl {
namespace {

// A mark that may be set again: the marker it stands for changes.
struct Event {
  std::mutex mutex;
  OwnedEvent marker;
};

// One reference to the marker of an event; empty: it was never recorded.
OwnedEvent marker_of(void* event) {
  Event& mark = *static_cast<Event*>(event);
  const std::lock_guard lock(mark.mutex);
  const cl_event marker = mark.marker.get();
  if (marker == nullptr || clRetainEvent(marker) != CL_SUCCESS) return {};
  return OwnedEvent(marker);
}

Result<cl_ulong> time_of(void* event, std::string_view which) {
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

gantry_code synchronize(void* self, std::int32_t i, void* stream, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    Plugin& plugin = plugin_of(self);
    GANTRY_TRY(Device* const device, plugin.driver.device(i));
    GANTRY_TRY(const cl_command_queue queue, plugin.driver.queue(*device, stream));
    const cl_int error = clFinish(queue);
    if (error != CL_SUCCESS)
      return driver_error(error, concat("clFinish on ", device->described()));
    plugin.programs.settle(false);
    return {};
  });
}

gantry_code stream_create(void* self, std::int32_t i, std::uint32_t, void** stream,
                          gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(Device* const device, plugin_of(self).driver.device(i));
    GANTRY_TRY(*stream, plugin_of(self).driver.new_queue(*device));
    return {};
  });
}

// The driver keeps the queue until the commands in it are done; a flush makes sure that they begin.
void stream_destroy(void*, std::int32_t, void* stream) {
  const auto queue = static_cast<cl_command_queue>(stream);
  clFlush(queue);
  clReleaseCommandQueue(queue);
}

gantry_code event_create(void* self, std::int32_t i, std::uint32_t, void** event,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_CHECK(plugin_of(self).driver.device(i));
    *event = new Event;
    return {};
  });
}

void event_destroy(void*, std::int32_t, void* event) { delete static_cast<Event*>(event); }

gantry_code event_record(void* self, std::int32_t i, void* event, void* stream,
                         gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(Device* const device, plugin_of(self).driver.device(i));
    GANTRY_TRY(const cl_command_queue queue, plugin_of(self).driver.queue(*device, stream));
    cl_event marker = nullptr;
    cl_int error = clEnqueueMarkerWithWaitList(queue, 0, nullptr, &marker);
    if (error != CL_SUCCESS) {
      return driver_error(error, concat("clEnqueueMarkerWithWaitList on ", device->described()));
    }
    OwnedEvent recorded(marker);
    // Another queue may come to wait for it, and nothing else would make this one begin.
    error = clFlush(queue);
    if (error != CL_SUCCESS) return driver_error(error, concat("clFlush on ", device->described()));
    Event& mark = *static_cast<Event*>(event);
    const std::lock_guard lock(mark.mutex);
    mark.marker = std::move(recorded);
    return {};
  });
}

gantry_code event_wait(void* self, std::int32_t i, void* event, void* stream,
                       gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(Device* const device, plugin_of(self).driver.device(i));
    const OwnedEvent marker = marker_of(event);
    // nothing is before a mark that was never set
    if (!marker) return {};
    GANTRY_TRY(const cl_command_queue queue, plugin_of(self).driver.queue(*device, stream));
    const cl_event awaited = marker.get();
    const cl_int error = clEnqueueBarrierWithWaitList(queue, 1, &awaited, nullptr);
    if (error == CL_SUCCESS) return {};
    return driver_error(error, concat("clEnqueueBarrierWithWaitList on ", device->described()));
  });
}

gantry_code event_elapsed(void*, std::int32_t, void* start, void* stop, std::int64_t* ns,
                          gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    GANTRY_TRY(const cl_ulong begun, time_of(start, "start"));
    GANTRY_TRY(const cl_ulong ended, time_of(stop, "stop"));
    *ns = static_cast<std::int64_t>(ended - begun);
    return {};
  });
}

}  // namespace gantry::opencl
