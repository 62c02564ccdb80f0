// SPDX-License-Identifier: Apache-2.0
//
// gantry/trace.h - host extension "gantry.trace/1": a plugin's own intervals in the runtime's
// trace.
//
//     const int64_t begun = trace->span_begin(host);
//     build_program(program);
//     trace->span_end(host, begun, gantry_text("clBuildProgram"), gantry_text("load"));
//
// The host keeps nothing between the two calls, so a span that is never ended leaks nothing. The
// host records calls of a plugin's functions itself: record what is inside them.
#ifndef GANTRY_TRACE_H
#define GANTRY_TRACE_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_TRACE_1 "gantry.trace/1"

// A published table never changes: what is missing here comes as "gantry.trace/2".
typedef struct gantry_trace {
  uint32_t struct_size;
  uint32_t zero;

  // returns  nanoseconds on the trace's clock, or -1 while nothing is recorded
  // thread   any
  // costs    one comparison while nothing is recorded, else one read of the clock
  int64_t (*span_begin)(const gantry_host* host);

  // Records one span of the calling thread, from `begun` to now. Does nothing where begun is -1.
  //
  // begun     [in]  what span_begin returned, on this thread
  // name      [in]  what was done: "clBuildProgram"; copied
  // category  [in]  what a viewer groups by: "load", "run", "copy"; copied
  // thread    any
  void (*span_end)(const gantry_host* host, int64_t begun, gantry_bytes name,
                   gantry_bytes category);
} gantry_trace;

GANTRY_END
#endif
