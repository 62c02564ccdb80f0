// SPDX-License-Identifier: Apache-2.0
//
// TVMBackendParallelLaunch and its barrier on the runtime's pool.
#pragma once

#include "core/engine/native/packed/tvm_abi.hpp"

namespace gantry {

// Runs task(0, env, closure) .. task(n - 1, env, closure) concurrently, with env->num_task = n.
//
// task_count  [in]  n; 0: one task for each thread of the pool
// returns  -1 if a task fails, with an error text of one line "task 1: text" for each failed task,
//          or if the pool has fewer threads than task_count
// thread   any; within a task, and while the pool runs another launch, one task runs on the calling
//          thread with n = 1
// source   apache/tvm src/runtime/thread_pool.cc
int parallel_launch(ParallelTask task, void* closure, int task_count);

// Waits for the other tasks of the launch.
int parallel_barrier(int task, ParallelEnv* env);

}  // namespace gantry
