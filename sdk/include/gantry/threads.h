// SPDX-License-Identifier: Apache-2.0
//
// gantry/threads.h - host extension "gantry.threads/1": the runtime's thread pool, for plugins that
// compute on the CPU.
//
//     const gantry_threads* threads = host->get_extension(host, GANTRY_THREADS_1);
//     if (threads) return threads->parallel_for(host, rows, add_row, &job, status);
//     for (int64_t i = 0; i < rows; ++i) add_row(&job, i, status);
//
// A plugin that starts threads of its own competes with every other for the same cores; one that
// uses the pool does not.
#ifndef GANTRY_THREADS_H
#define GANTRY_THREADS_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_THREADS_1 "gantry.threads/1"

// One piece of the work.
//
// self     [in]   as passed to parallel_for
// index    [in]   0 .. count - 1, each exactly once unless a piece failed before it began
// status   [out]  of this piece; never NULL
// returns  OK, or what parallel_for returns
// thread   any thread of the pool or the caller's; pieces run at the same time
typedef gantry_code (*gantry_parallel_body)(void* self, int64_t index, gantry_status* status);

// A published table never changes: what is missing here comes as "gantry.threads/2".
typedef struct gantry_threads {
  uint32_t struct_size;
  uint32_t zero;

  // Returns how many pieces can run at the same time; at least 1.
  //
  // thread   any
  int32_t (*thread_count)(const gantry_host* host);

  // Runs body(self, 0) .. body(self, count - 1) on the pool and the calling thread, and waits for
  // all of them. Called from within a piece it runs the inner pieces one after the other on the
  // calling thread.
  //
  // count    [in]   pieces; 0 or less: nothing to do
  // body     [in]   called at most count times, never after the return
  // self     [in]   passed to body; shared by all pieces
  // returns  OK     every piece returned OK
  //          the code and status of the failed piece with the lowest index; pieces that had not
  //          begun by then may be left out, those that had are waited for
  // thread   any
  // costs    about a microsecond to wake the pool
  gantry_code (*parallel_for)(const gantry_host* host, int64_t count, gantry_parallel_body body,
                              void* self, gantry_status* status);
} gantry_threads;

GANTRY_END
#endif
