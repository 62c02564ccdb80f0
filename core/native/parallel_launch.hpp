// SPDX-License-Identifier: Apache-2.0
//
// TVMBackendParallelLaunch and its barrier on the runtime's pool.
#pragma once

#include "core/native/packed/tvm_abi.hpp"

namespace gantry {

// Runs task(0, env, closure) .. task(n - 1, env, closure) at the same time, env->num_task = n.
//
// task_count  [in]  0: one task for each thread of the pool
// returns  -1 where a task fails, with "task 1: text" for each that does, or where the pool has
//          fewer threads than task_count
// thread   any; from within a task, and while the pool serves another launch, one task runs here
//          with n = 1
// source   spec: executors 4.1, artifact-format 4.7 (apache/tvm src/runtime/thread_pool.cc)
int parallel_launch(ParallelTask task, void* closure, int task_count);

// Waits for the other tasks of the launch.
int parallel_barrier(int task, ParallelEnv* env);

}  // namespace gantry
