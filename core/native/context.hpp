// SPDX-License-Identifier: Apache-2.0
//
// Where compiled host code runs: what its runtime lends it, and the state of the thread it is on.
//
// Functions that host code calls carry no context (apache/tvm's signatures have none), so the call
// wrapper and the pool's workers say on each thread whose code runs there now.
#pragma once

#include "core/module/global_functions.hpp"
#include "core/native/packed/tvm_abi.hpp"
#include "core/native/workspace.hpp"
#include "core/tensor/device_set.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry {

class Log;
class ThreadPool;

// One for each runtime; outlives every library module made with it.
struct HostServices {
  ThreadPool* pool = nullptr;
  Workspaces* workspaces = nullptr;
  const DeviceSet* devices = nullptr;
  // may be NULL
  const Log* log = nullptr;
  // searched last by host code; may be NULL
  std::shared_ptr<const GlobalFunctions> globals;
  // libgantry_tvm.so, opened when an artifact imports from it
  std::filesystem::path tvm_symbols;
};

// One call of host code.
struct HostCall {
  // of the runtime whose code it is
  const HostServices* services = nullptr;
  // whose code it is: its device numbers
  const ModuleNode* node = nullptr;
  // where it runs; borrowed
  const gantry_env* env = nullptr;
  // calls on this thread: it and those around it
  std::uint32_t depth = 0;
  // workspaces that it may leave
  std::uint32_t taken = 0;
};

// The state of one thread. Made at its first call into host code, gone with the thread.
struct HostThread {
  static constexpr gantry_env no_env{};
  // while no host code runs
  HostCall none{nullptr, nullptr, &no_env, 0, 0};

  // the innermost
  HostCall* call = &none;
  // `error` is the cause, if the call that runs now fails
  bool failed = false;
  // text, function or module returned to host code: until its next call
  OwnedValue kept;
  gantry_bytes kept_bytes{};
  // device of each type, as host code set it
  std::array<std::int32_t, kDeviceTypeCount> index{};
  // Streams that host code set, of few devices; one that is not here is the default stream.
  std::vector<std::pair<gantry_device_id, void*>> streams;
  // the last one
  Error error;

  // the last one used, of `shares`
  WorkspaceShare* share = nullptr;
  std::vector<std::unique_ptr<WorkspaceShare>> shares;
};

namespace detail {
// One pointer: all that initial-exec storage must hold, of which a library opened late gets little.
extern constinit thread_local HostThread* host_thread __attribute__((tls_model("initial-exec")));
HostThread& new_host_thread();
}  // namespace detail

// throws   std::bad_alloc in a thread's first call; gantry enters host code through HostScope,
//          which is the first
// costs    one load and one comparison
inline HostThread& here() {
  HostThread* thread = detail::host_thread;
  return thread != nullptr ? *thread : detail::new_host_thread();
}

// Says for the life of a scope whose code runs on this thread: one call of it.
class HostScope {
 public:
  // All borrowed until its end.
  HostScope(const HostServices* services, const ModuleNode* node, const gantry_env& env)
      : HostScope(here(), services, node, env) {}
  HostScope(HostThread& here, const HostServices* services, const ModuleNode* node,
            const gantry_env& env)
      : thread_(here),
        around_(thread_.call),
        call_{services, node, &env, around_->depth + 1, 0},
        index_(thread_.index[env.device.type & (kDeviceTypeCount - 1)]),
        index_before_(index_) {
    thread_.call = &call_;
    thread_.failed = false;
    index_ = env.device.index;
  }
  ~HostScope() {
    if (call_.taken != 0) [[unlikely]]
      settle_workspaces();
    thread_.call = around_;
    index_ = index_before_;
  }
  HostScope(const HostScope&) = delete;
  HostScope& operator=(const HostScope&) = delete;

  // What the call has returned: 0, or it failed, as it does where nothing is said.
  int returned(int code) {
    failed_ = code != 0;
    return code;
  }

 private:
  void settle_workspaces() noexcept;

  HostThread& thread_;
  HostCall* const around_;
  HostCall call_;
  // of the env's kind of device
  std::int32_t& index_;
  const std::int32_t index_before_;
  bool failed_ = true;
};

// At the end of a thread's outermost call, when its result is taken, nothing that was returned to
// host code is needed any more. To keep a module longer would keep its runtime, and on a worker of
// that runtime's own pool for ever.
class KeptUntilHere {
 public:
  KeptUntilHere() : thread_(here()) {}
  ~KeptUntilHere() {
    if (holds_object(thread_.kept.get()) && thread_.call->depth == 0) [[unlikely]] {
      // what it runs may use the thread again
      const OwnedValue last = std::move(thread_.kept);
    }
  }
  KeptUntilHere(const KeptUntilHere&) = delete;
  KeptUntilHere& operator=(const KeptUntilHere&) = delete;

  HostThread& thread() const { return thread_; }

 private:
  HostThread& thread_;
};

// Keeps `error` as what the call that runs now fails of. Returns -1, what host code is told.
int fail_here(Error error) noexcept;

// What host code is given, all of it.
const TvmFunctions& tvm_functions();

// A variable that host code may define, and what belongs in it.
struct ContextVariable {
  // "__TVMFuncCall"
  const char* name;
  void* address;
};
std::span<const ContextVariable> context_variables();

// The stream in which functions of a device run that host code on this thread calls now: the one
// that the call's env names for it, else the one that host code has set; NULL: the default one.
void* stream_here(const HostThread& thread, gantry_device_id device);

// Adds the functions of no module that host code asks for:
//
//     __tvm_set_device(number, index)                 which device of its kind the thread's next calls run on
//     runtime.TVMSetStream(number, index, stream)     in which stream of that device; NULL: the default one
//
// Both say it for this thread, until it is said anew. A call whose env names the device with a
// stream runs in that.
//
// returns  invalid where a name is taken
Status add_host_globals(GlobalFunctions& globals);

}  // namespace gantry
