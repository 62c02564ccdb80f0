// SPDX-License-Identifier: Apache-2.0
//
// gantry/output.h - host extension "gantry.output/1": what code prints because it is asked to, such as
// the values of a model's print operator.
//
//     const gantry_output* output = host->get_extension(host, GANTRY_OUTPUT_1);
//     if (output) return output->write(host, gantry_text("x = [1. 2.]\n"), status);
//
// A plugin never writes to the standard output of the process itself: the program may print a document
// there.
#ifndef GANTRY_OUTPUT_H
#define GANTRY_OUTPUT_H

#include "host.h"
GANTRY_BEGIN

#define GANTRY_OUTPUT_1 "gantry.output/1"

// A published table never changes. Additions require a new table, "gantry.output/2".
typedef struct gantry_output {
  uint32_t struct_size;
  uint32_t zero;

  // Passes a text to the output sink of the program; without one, to its standard output.
  //
  // text     [in]   UTF-8, with its line breaks
  // returns  UNAVAILABLE  it cannot be written (OUTPUT_WRITE)
  // thread   any; texts of several calls are not mixed
  gantry_code (*write)(const gantry_host* host, gantry_bytes text, gantry_status* status);
} gantry_output;

GANTRY_END
#endif
