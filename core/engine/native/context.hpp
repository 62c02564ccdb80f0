// SPDX-License-Identifier: Apache-2.0
//
// The context of compiled CPU code: the services of its runtime and the state of its thread.
//
// The functions that CPU code calls have no context argument (apache/tvm's signatures), so the
// call wrapper and the pool's workers record on each thread which call runs there.
#pragma once

#include "core/engine/module/global_functions.hpp"
#include "core/engine/native/packed/tvm_abi.hpp"
#include "core/engine/native/workspace.hpp"
#include "core/engine/tensor/device_set.hpp"

#include <gantry/function.h>
#include <gantry/result.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gantry {

class Log;
class ThreadPool;
namespace ffi {
class TypeRegistry;
}

// One for each runtime; outlives every library module made with it.
struct HostServices {
  ThreadPool* pool = nullptr;
  Workspaces* workspaces = nullptr;
  // may be NULL
  const Log* log = nullptr;
  // the linker resolves all symbols when it opens a library
  bool binds_early = false;
  // the last place of a look-up by CPU code; may be NULL
  std::shared_ptr<const GlobalFunctions> globals;
  // Where libraries with tvm-ffi's C++ headers register types, functions and tensors of the runtime's
  // devices come from. NULL: there are none.
  std::shared_ptr<ffi::TypeRegistry> types = nullptr;
  std::shared_ptr<GlobalFunctions> registered = nullptr;
  const DeviceSet* devices = nullptr;
  // of the runtime: for calls of functions that nothing else of it is retained by
  std::weak_ptr<const void> life = {};
};

// To what CPU code belongs. Both are borrowed.
struct CpuOwner {
  // of the code's runtime
  const HostServices* services = nullptr;
  // the code's module; determines the device numbers
  const ModuleNode* node = nullptr;
};

// One call of CPU code.
struct CpuCall {
  CpuOwner owner;
  // borrowed
  const gantry_env* env = nullptr;
  // the enclosing call on this thread; NULL: no CPU code runs
  CpuCall* around = nullptr;
  // workspaces taken in this call and not yet freed
  std::uint32_t taken = 0;
  // CPU code has selected `index` as the current device of the env's device type.
  bool has_index = false;
  // undefined without has_index
  std::int32_t index;

  // Returns the number of calls on this thread: this one and the enclosing ones.
  std::uint32_t depth() const {
    std::uint32_t count = 0;
    for (const CpuCall* call = this; call->around != nullptr; call = call->around) ++count;
    return count;
  }
};

// The state of one thread. Created at its first call into CPU code, freed when the thread ends.
struct CpuThread {
  static constexpr gantry_env no_env{};
  // the current call while no CPU code runs
  CpuCall none{{}, &no_env, nullptr, 0, false, 0};

  // the innermost call
  CpuCall* call = &none;
  // True if `error` holds the cause of a failure of the current call.
  bool failed = false;
  // text or object returned to CPU code; valid until its next call
  Value kept;
  gantry_bytes kept_bytes{};
  // Selected for each device type outside of calls on a device of that type: see current_index().
  std::array<std::int32_t, kDeviceTypeCount> index{};
  // Streams that CPU code has set. A device without an entry uses its default stream.
  std::vector<std::pair<gantry_device_id, void*>> streams;
  // the last error
  Error error;
  // of TVMFFIBacktrace
  std::string backtrace;
  gantry_bytes backtrace_bytes{};
  // of TVMFFIEnvSetDLPackManagedTensorAllocator
  void* tensor_allocator = nullptr;

  // the last one used; an element of `shares`
  WorkspaceShare* share = nullptr;
  std::vector<std::unique_ptr<WorkspaceShare>> shares;
};

namespace detail {
// A single pointer, because a library that is opened late gets little initial-exec storage.
extern constinit thread_local CpuThread* host_thread __attribute__((tls_model("initial-exec")));
CpuThread& new_host_thread();
}  // namespace detail

// Returns the state of the calling thread.
//
// throws   std::bad_alloc at the thread's first call, which is made by CpuScope before CPU code
//          runs
// costs    one load and one comparison
inline CpuThread& here() {
  CpuThread* thread = detail::host_thread;
  return thread != nullptr ? *thread : detail::new_host_thread();
}

// Records one call of CPU code on this thread for the lifetime of the object.
class CpuScope {
 public:
  // All arguments are borrowed until the object is destroyed.
  CpuScope(const CpuOwner& owner, const gantry_env& env) : CpuScope(here(), owner, env) {}
  CpuScope(CpuThread& here, const CpuOwner& owner, const gantry_env& env) {
    call_.owner = owner;
    call_.env = &env;
    call_.around = here.call;
    here.call = &call_;
    here.failed = false;
  }
  ~CpuScope() {
    if (call_.taken != 0) [[unlikely]]
      settle_workspaces(false);
    // Not a member, which every call would write to memory.
    detail::host_thread->call = call_.around;
  }
  CpuScope(const CpuScope&) = delete;
  CpuScope& operator=(const CpuScope&) = delete;

  // Records the result of the call and returns it: 0, or another value after a failure. A call
  // without a recorded result counts as failed.
  int returned(int code) {
    if (call_.taken != 0) [[unlikely]]
      settle_workspaces(code == 0);
    return code;
  }

  // Records the next call of the same module and env, after one that has returned 0.
  void next_call() {
    if (call_.taken != 0) [[unlikely]]
      settle_workspaces(true);
    detail::host_thread->failed = false;
    call_.has_index = false;
  }

 private:
  // Ends the use of the workspaces that the call has taken and not freed.
  void settle_workspaces(bool succeeded) noexcept;

  CpuCall call_;
};

// Releases the last object returned to CPU code at the end of a thread's outermost call, once the
// call's result has been taken. A module that stayed referenced would keep its runtime alive; on a
// worker of that runtime's own pool it would do so forever.
class KeptUntilHere {
 public:
  KeptUntilHere() : thread_(here()) {}
  ~KeptUntilHere() {
    if (holds_object(thread_.kept.get()) && thread_.call == &thread_.none) [[unlikely]] {
      // its destructor may enter this thread state again
      const Value last = std::move(thread_.kept);
    }
  }
  KeptUntilHere(const KeptUntilHere&) = delete;
  KeptUntilHere& operator=(const KeptUntilHere&) = delete;

  CpuThread& thread() const { return thread_; }

 private:
  CpuThread& thread_;
};

// Records `error` as the cause of the current call's failure. Returns -1, the result for CPU code.
int fail_here(Error error) noexcept;

// Takes the error of the failed call. If the code recorded none, the error reports that.
Error take_cause(CpuThread& thread);

// Returns the runtime's number of a device that compiled code names.
gantry_device_id device_here(int type, int index);

// Returns the index of the current device of a type: that of the innermost call whose env has a
// device of the type, unless CPU code has selected another one since that call began.
//
// device_type  [in]   0 to kDeviceTypeCount - 1
std::int32_t current_index(const CpuThread& thread, std::int32_t device_type);
// Selects the current device of a type until that call returns, or for the thread if there is none.
void select_device(CpuThread& thread, gantry_device_id device);

// Returns the stream in which functions of `device` run when CPU code on this thread calls them:
// the one in the call's env if it has one for `device`, else the stream that CPU code has set;
// NULL is the default stream.
void* stream_here(const CpuThread& thread, gantry_device_id device);
// Selects the stream of a device for the thread; NULL: its default stream.
void select_stream(CpuThread& thread, gantry_device_id device, void* stream);

// Returns the env of a function that CPU code on this thread calls.
//
// device_type  [in]   on which the function runs; 0: the host
gantry_env env_of_callee(const CpuThread& thread, std::int32_t device_type);

// Adds the functions that CPU code looks up outside its modules:
//
//     __tvm_set_device(number, index)               selects the device of its type
//     runtime.TVMSetStream(number, index, stream)   selects its stream; NULL: the default stream
//
// Both apply to the calling thread until they are called again. The streams in the env of a call take
// precedence.
//
// returns  invalid if a name is already defined
Status add_host_globals(GlobalFunctions& globals);

}  // namespace gantry
