// SPDX-License-Identifier: Apache-2.0
//
// gantry/trace.h - host extension "gantry.trace/2": records spans and counters in the runtime's
// trace, those of the calling thread and those of queues of a device.
//
//     const int64_t begun = trace->now(host);
//     build_program(program);
//     if (begun >= 0)
//       trace->span(host, GANTRY_TRACK_THREAD, begun, trace->now(host), gantry_text("clBuildProgram"),
//                   gantry_text("load"), NULL, 0);
//
// The host records each call of a plugin's functions; a plugin records operations within a call,
// and work of its device once it has ended. The spans of ended work are recorded when synchronize
// of its stream returns.
#ifndef GANTRY_TRACE_H
#define GANTRY_TRACE_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_TRACE_2 "gantry.trace/2"

// The track of the calling thread.
#define GANTRY_TRACK_THREAD UINT64_C(0)

// Frozen record: an argument of a span, shown in a trace viewer.
typedef struct gantry_trace_argument {
  gantry_bytes name;
  // A number or a text; copied.
  gantry_value value;
} gantry_trace_argument;

// A published table never changes. Additions require a new table, "gantry.trace/3".
typedef struct gantry_trace {
  uint32_t struct_size;
  uint32_t zero;

  // Returns the time.
  //
  // returns  nanoseconds on the trace's clock, CLOCK_MONOTONIC since an origin; -1: nothing is
  //          recorded
  // thread   any
  // costs    one comparison if recording is off, else one read of the clock
  int64_t (*now)(const gantry_host* host);

  // Returns a track, a row of a trace viewer. The same group and name are the same track.
  //
  // group    [in]   the rows that belong together: "opencl:0"; copied
  // name     [in]   the row: "queue 1", "copies"; copied. The host adds the plugin's id
  // thread   any
  uint64_t (*track)(const gantry_host* host, gantry_bytes group, gantry_bytes name);

  // Names the calling thread's track.
  //
  // name     [in]   copied
  void (*thread_name)(const gantry_host* host, gantry_bytes name);

  // Records a span. Does nothing if begin is negative. The host bounds what it records: texts are cut
  // off after 256 bytes, arguments after the first 16, and bytes that are not UTF-8 are replaced.
  //
  // track     [in]  GANTRY_TRACK_THREAD, or a result of track
  // begin, end [in] on the trace's clock; a device's time is converted by the plugin
  // name      [in]  the operation; copied
  // category  [in]  "load", "run", "op", "kernel", "copy"; copied
  // arguments [in]  count records; NULL if count is 0
  // thread    any
  void (*span)(const gantry_host* host, uint64_t track, int64_t begin, int64_t end,
               gantry_bytes name, gantry_bytes category, const gantry_trace_argument* arguments,
               uint32_t count);

  // Records a value of a counter: bytes in use, entries of a queue.
  //
  // time      [in]  on the trace's clock; nothing is recorded if it is negative
  // thread    any
  void (*counter)(const gantry_host* host, gantry_bytes group, gantry_bytes name, int64_t time,
                  double value);
} gantry_trace;

GANTRY_END
#endif
