// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/context.hpp"

#include "core/engine/native/device_numbers.hpp"
#include "core/engine/native/library_context.hpp"
#include "core/engine/native/packed/packed_call.hpp"
#include "core/engine/native/parallel_launch.hpp"

#include <gantry/abi_boundary.hpp>

#include <pthread.h>

#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace gantry {
namespace {

// Frees a thread's state when the thread ends. A key is used instead of a thread_local with a
// destructor, because registering such a destructor terminates the process when memory is
// exhausted. If the process has no key left, the state is never freed.
void reap(void* thread) {
  detail::host_thread = nullptr;
  delete static_cast<CpuThread*>(thread);
}
void reap_with_this_thread(CpuThread& thread) {
  static const std::optional<pthread_key_t> key = [] {
    pthread_key_t made{};
    return pthread_key_create(&made, reap) == 0 ? std::optional(made) : std::nullopt;
  }();
  if (key && pthread_setspecific(*key, &thread) != 0) throw std::bad_alloc();
}

// "__tvm_set_device"(number, index): selects the device of that type on which the thread's next
// calls run.
gantry_code set_device(void*, const gantry_env*, const gantry_value* args, std::int32_t count,
                       gantry_value*, gantry_status* status) {
  if (count != 2 || args[0].kind != GANTRY_INT || args[1].kind != GANTRY_INT) {
    return gantry_fail(status, GANTRY_INVALID, "ARGUMENT_KIND",
                       "__tvm_set_device takes two numbers: device type and index");
  }
  const auto number = static_cast<std::int32_t>(args[0].i);
  const gantry_device_id device = device_here(number, static_cast<std::int32_t>(args[1].i));
  if (number != args[0].i || device.type < 0 || device.type >= kDeviceTypeCount) {
    const std::string text =
        concat("__tvm_set_device: device type ", args[0].i, " is not 0 to ", kDeviceTypeCount - 1);
    return gantry_fail(status, GANTRY_INVALID, "DEVICE_TYPE", text.c_str());
  }
  select_device(here(), device);
  return GANTRY_OK;
}

// "runtime.TVMSetStream"(number, index, stream): selects the stream of a device in which the
// thread's next calls run.
gantry_code set_stream(void*, const gantry_env*, const gantry_value* args, std::int32_t count,
                       gantry_value*, gantry_status* status) {
  return abi_boundary(status, [&]() -> Status {
    const bool fits = count == 3 && args[0].kind == GANTRY_INT && args[1].kind == GANTRY_INT &&
                      (args[2].kind == GANTRY_POINTER || args[2].kind == GANTRY_NONE);
    if (!fits) {
      return invalid("runtime.TVMSetStream takes two numbers, device type and index, and a stream")
          .with_reason("ARGUMENT_KIND");
    }
    const auto number = static_cast<std::int32_t>(args[0].i);
    const auto index = static_cast<std::int32_t>(args[1].i);
    const gantry_device_id device = device_here(number, index);
    if (number != args[0].i || device.type < 0 || device.type >= kDeviceTypeCount ||
        index != args[1].i || index < 0) {
      return invalid("runtime.TVMSetStream: device ", args[0].i, ":", args[1].i,
                     ", expected a type from 0 to ", kDeviceTypeCount - 1, " and an index from 0")
          .with_reason("DEVICE_TYPE");
    }
    select_stream(here(), device, args[2].kind == GANTRY_POINTER ? args[2].p : nullptr);
    return {};
  });
}

// Returns the innermost call whose env has a device of the type; NULL if there is none.
CpuCall* call_on(const CpuThread& thread, std::int32_t device_type) {
  for (CpuCall* call = thread.call; call != &thread.none; call = call->around) {
    if (call->env->device.type == device_type) return call;
  }
  return nullptr;
}

constexpr gantry_function_table set_device_table{sizeof(gantry_function_table), 0, nullptr,
                                                 set_device};
constexpr gantry_function_table set_stream_table{sizeof(gantry_function_table), 0, nullptr,
                                                 set_stream};

}  // namespace

constinit thread_local CpuThread* detail::host_thread = nullptr;

CpuThread& detail::new_host_thread() {
  auto made = std::make_unique<CpuThread>();
  reap_with_this_thread(*made);
  host_thread = made.release();
  return *host_thread;
}

// Compiled code passes the device numbers of its artifact.
gantry_device_id device_here(int type, int index) {
  const ModuleNode* node = here().call->owner.node;
  return {node ? to_runtime(*node, type) : type, index};
}

// A function of a device runs on the current device of that type, in its current stream.
gantry_env env_of_callee(const CpuThread& thread, std::int32_t device_type) {
  gantry_env env = *thread.call->env;
  if (device_type == 0) return env;
  env.device = {device_type, current_index(thread, device_type)};
  env.stream = stream_here(thread, env.device);
  return env;
}

std::int32_t current_index(const CpuThread& thread, std::int32_t device_type) {
  if (const CpuCall* call = call_on(thread, device_type))
    return call->has_index ? call->index : call->env->device.index;
  return thread.index[static_cast<std::size_t>(device_type) & (kDeviceTypeCount - 1)];
}

void select_device(CpuThread& thread, gantry_device_id device) {
  if (CpuCall* const call = call_on(thread, device.type)) {
    call->index = device.index;
    call->has_index = true;
  } else {
    thread.index[static_cast<std::size_t>(device.type) & (kDeviceTypeCount - 1)] = device.index;
  }
}

Error take_cause(CpuThread& thread) {
  if (!thread.failed) {
    return invalid("it fails without an error text: it was compiled without them")
        .with_reason("HOST_CODE");
  }
  thread.failed = false;
  Error cause = std::move(thread.error);
  if (cause.message.empty()) cause.message = "it fails with an empty error text";
  return cause;
}

void select_stream(CpuThread& thread, gantry_device_id device, void* stream) {
  std::erase_if(thread.streams, [&](const auto& known) {
    return known.first.type == device.type && known.first.index == device.index;
  });
  if (stream != nullptr) thread.streams.emplace_back(device, stream);
}

void* stream_here(const CpuThread& thread, gantry_device_id device) {
  if (void* const of_the_call = gantry_env_stream(thread.call->env, device)) return of_the_call;
  for (const auto& [known, stream] : thread.streams) {
    if (known.type == device.type && known.index == device.index) return stream;
  }
  return nullptr;
}

// The workspaces that a successful call leaves belong to the enclosing call of the same runtime.
void CpuScope::settle_workspaces(bool succeeded) noexcept {
  CpuCall& around = *call_.around;
  const HostServices* const services = call_.owner.services;
  const std::uint32_t depth = call_.depth();
  const std::uint32_t outer = around.owner.services == services ? depth - 1 : 0;
  services->workspaces->end_call(depth, !succeeded, outer);
  if (succeeded && outer != 0) around.taken += call_.taken;
  call_.taken = 0;
}

int fail_here(Error error) noexcept {
  CpuThread& thread = here();
  thread.error = std::move(error);
  thread.failed = true;
  return -1;
}

Status add_host_globals(GlobalFunctions& globals) {
  GANTRY_TRY(Ref<FunctionObject> device, new_function({nullptr, &set_device_table}, {}, 0));
  GANTRY_CHECK(globals.add("__tvm_set_device", std::move(device)));
  GANTRY_TRY(Ref<FunctionObject> stream, new_function({nullptr, &set_stream_table}, {}, 0));
  return globals.add("runtime.TVMSetStream", std::move(stream));
}

}  // namespace gantry
