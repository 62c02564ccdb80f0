// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/traced_copy.hpp"

#include "core/base/trace/span.hpp"

#include <gantry/concat.hpp>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace gantry {
namespace {

std::string device_title(const RuntimeState& runtime, gantry_device_id device) {
  const std::shared_ptr<const Device>* const known = runtime.devices.find(device.type);
  return concat(known != nullptr ? (*known)->name : concat("device ", device.type), ":",
                device.index);
}

// Empty if memory is exhausted.
std::vector<TraceArgument> arguments_of(const RuntimeState& runtime, const gantry_tensor& from,
                                        const gantry_tensor& to) noexcept try {
  return {{"tensor", TraceTensor::of(from)},
          {"from", device_title(runtime, from.device)},
          {"to", device_title(runtime, to.device)}};
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

Status traced_copy(const RuntimeState& runtime, const gantry_tensor& from, const gantry_tensor& to,
                   const gantry_env* env, HostSide host_side) {
  Span span(runtime.trace.get(), "copy", "copy");
  if (span.is_recorded()) span.set_arguments(arguments_of(runtime, from, to));
  return tensor_copy(runtime.devices, from, to, env, host_side);
}

}  // namespace gantry
