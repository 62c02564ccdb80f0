// SPDX-License-Identifier: Apache-2.0
//
// gantry/trace.h - host extension "gantry.trace/1": records spans of a plugin in the runtime's
// trace.
//
//     const int64_t begun = trace->span_begin(host);
//     build_program(program);
//     trace->span_end(host, begun, gantry_text("clBuildProgram"), gantry_text("load"));
//
// The host stores nothing between the two calls, so a span that is never ended leaks nothing. The
// host records each call of a plugin's functions; a plugin records only operations within a call.
#ifndef GANTRY_TRACE_H
#define GANTRY_TRACE_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_TRACE_1 "gantry.trace/1"

// A published table never changes. Additions require a new table, "gantry.trace/2".
typedef struct gantry_trace {
  uint32_t struct_size;
  uint32_t zero;

  // Returns the start time of a span.
  //
  // returns  nanoseconds on the trace's clock, or -1 if recording is off
  // thread   any
  // costs    one comparison if recording is off, else one read of the clock
  int64_t (*span_begin)(const gantry_host* host);

  // Records one span of the calling thread, from `begun` to now. Does nothing if begun is -1.
  //
  // begun     [in]  the result of span_begin on this thread
  // name      [in]  the operation: "clBuildProgram"; copied
  // category  [in]  the group in a trace viewer: "load", "run", "copy"; copied
  // thread    any
  void (*span_end)(const gantry_host* host, int64_t begun, gantry_bytes name,
                   gantry_bytes category);
} gantry_trace;

GANTRY_END
#endif
