// SPDX-License-Identifier: Apache-2.0
#include "core/engine/native/parallel_launch.hpp"

#include "core/engine/native/context.hpp"
#include "core/engine/native/thread_pool.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace gantry {
namespace {

// Returns the error of the task that failed on this thread.
Error cause_here() {
  CpuThread& thread = here();
  if (!thread.failed) return invalid("fails without an error text").with_reason("HOST_CODE");
  return thread.error;
}

// Aligned, so that the fields that workers read share no cache line with the caller's stack, which
// changes while the caller runs its own task.
struct alignas(64) Launch {
  ParallelTask task;
  void* closure;
  CpuOwner owner;
  gantry_env env;
  std::mutex mutex{};
  // by task number
  std::map<std::int32_t, Error> failures{};
  // Memory was exhausted in a task or while its error was recorded.
  std::atomic<bool> no_memory{false};

  // Runs one task and returns its result.
  int run(std::int32_t number, ParallelEnv* env_of_task) {
    here().failed = false;
    const int code = task(number, env_of_task, closure);
    if (code == 0) return 0;
    const std::lock_guard lock(mutex);
    failures.emplace(number, cause_here());
    return code;
  }
};

int join_failures(Launch& launch) {
  if (launch.no_memory) throw std::bad_alloc();
  if (launch.failures.empty()) return 0;
  // The joined error has the code and reason of the first one.
  Error joined = launch.failures.begin()->second;
  joined.message = {};
  for (const auto& [number, error] : launch.failures) {
    const Message line("task ", number, ": ", error.message);
    if (joined.message.empty()) {
      joined.message = line;
    } else {
      joined.message.at(line);
    }
  }
  return fail_here(std::move(joined));
}

void run_on_pool(void* data, std::int32_t number, std::int32_t tasks) {
  auto& launch = *static_cast<Launch*>(data);
  try {
    const KeptUntilHere kept;
    CpuScope scope(launch.owner, launch.env);
    ParallelEnv env{&launch.owner.services->pool->barrier(), tasks};
    scope.returned(launch.run(number, &env));
  } catch (const std::bad_alloc&) {
    // An exception must not leave a worker; the caller throws it.
    launch.no_memory = true;
  }
}

}  // namespace

int parallel_launch(ParallelTask task, void* closure, int task_count) {
  const CpuCall& call = *here().call;
  if (call.owner.services == nullptr) {
    return fail_here(
        bug("TVMBackendParallelLaunch is called on a thread that no gantry call has entered"));
  }
  ThreadPool& pool = *call.owner.services->pool;
  if (task_count < 0 || task_count > pool.size()) {
    return fail_here(invalid("a parallel launch requires ", task_count,
                             " concurrent tasks, the thread pool has ", pool.size(), " threads")
                         .with_reason("POOL_SIZE"));
  }
  Launch launch{task, closure, call.owner, *call.env};
  try {
    if (!pool.try_run(task_count, run_on_pool, &launch)) {
      ParallelEnv alone{nullptr, 1};
      launch.run(0, &alone);
    }
    return join_failures(launch);
  } catch (const std::bad_alloc&) {
    return fail_here(exhausted("out of memory").with_reason("MEMORY"));
  }
}

int parallel_barrier(int, ParallelEnv* env) {
  if (env->sync_handle != nullptr) static_cast<Barrier*>(env->sync_handle)->arrive();
  return 0;
}

}  // namespace gantry
