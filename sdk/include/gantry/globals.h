// SPDX-License-Identifier: Apache-2.0
//
// gantry/globals.h - plugin extension "gantry.globals/1": functions by name for compiled code.
//
//     manifest   globals: ["vm.builtin.*"]
//     plugin     get_extension(self, GANTRY_GLOBALS_1) -> {get_global}
//
// Compiled code looks a function up in its module's imports, then among the functions of the
// runtime. Those of plugins come after the runtime's own: a plugin whose manifest offers the name
// is opened, and its get_global is called. The first plugin in the order of choice that has the
// name is used. The result of a look-up is kept by the module that made it, not by the runtime.
#ifndef GANTRY_GLOBALS_H
#define GANTRY_GLOBALS_H

#include "module.h"
GANTRY_BEGIN

#define GANTRY_GLOBALS_1 "gantry.globals/1"

// A published table never changes: what is missing here comes as "gantry.globals/2".
typedef struct gantry_globals {
  uint32_t struct_size;
  uint32_t zero;

  // Looks a function up. As gantry_module_table.get_function, with self of the plugin.
  //
  // returns  NOT_FOUND  no such function
  // thread   any, in parallel
  gantry_code (*get_global)(void* plugin, gantry_bytes name, gantry_function* out,
                            gantry_status* status);
} gantry_globals;

GANTRY_END
#endif
