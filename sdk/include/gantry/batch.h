// SPDX-License-Identifier: Apache-2.0
//
// gantry/batch.h - host extension "gantry.batch/1": calls whose functions and arguments do not
// change, prepared once and made in order, for plugins that execute graphs or programs.
//
//     const gantry_batch* batches = host->get_extension(host, GANTRY_BATCH_1);
//     gantry_object* batch = NULL;
//     gantry_code code = batches->prepare(host, calls, count, &batch, status);
//     uint64_t failed;
//     for (int i = 0; i < runs && !code; ++i) code = batches->run(host, batch, env, &failed, status);
//     if (batch) gantry_release(batch);
//
// The effect is that of gantry_host.call for each call. It costs less where consecutive calls run
// compiled code of one module on one device: their arguments are converted by prepare, and run
// enters the code once for all of them.
#ifndef GANTRY_BATCH_H
#define GANTRY_BATCH_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_BATCH_1 "gantry.batch/1"

// `failed` of a run in which no call failed.
#define GANTRY_NO_CALL UINT64_MAX

// Frozen record: one call of a batch.
typedef struct gantry_batch_call {
  // A function object, retained by the batch.
  gantry_object* function;
  // count values, borrowed as long as the batch, which may read them at any time. They and their
  // objects stay the same; the contents of a gantry_tensor may change between runs.
  const gantry_value* args;
  int32_t count;
  // 0 in version 1.0.
  uint32_t flags;
  // The device on which the function runs, as in gantry_env.
  gantry_device_id device;
} gantry_batch_call;

// A published table never changes. Additions require a new table, "gantry.batch/2".
typedef struct gantry_batch {
  uint32_t struct_size;
  uint32_t zero;

  // Prepares calls.
  //
  // calls    [in]   count records, copied; NULL if count is 0
  // batch    [out]  an opaque object with one reference, which the caller owns
  // returns  INVALID      an object is not a function, or a count is negative (ARGUMENT_KIND,
  //                       ARGUMENT_COUNT); the text contains the index of the call
  //          UNSUPPORTED  unknown flags (FLAGS)
  // thread   any
  gantry_code (*prepare)(const gantry_host* host, const gantry_batch_call* calls, uint64_t count,
                         gantry_object** batch, gantry_status* status);

  // Makes the calls in order and releases their results. The first failure ends the run.
  //
  // env      [in]   stream and task; a call on another device than env->device runs in the default
  //                 stream of its device. NULL: default streams, no task
  // failed   [out]  after a failure: the index of the call that failed, or GANTRY_NO_CALL
  // returns  INVALID      the object is not a batch (ARGUMENT_KIND)
  //          CANCELLED    between two calls, because the task was cancelled; failed is
  //                       GANTRY_NO_CALL
  //          else the code and status of the call that failed
  // thread   any, in parallel, as far as the functions allow it
  gantry_code (*run)(const gantry_host* host, gantry_object* batch, const gantry_env* env,
                     uint64_t* failed, gantry_status* status);
} gantry_batch;

GANTRY_END
#endif
