// SPDX-License-Identifier: Apache-2.0
//
// gantry/generator.h - plugin extension "gantry.generator/1": builds a payload from sources.
//
//     manifest   target_kinds: [{name: cuda, type_key: cuda, languages: [cuda], ...}]
//     plugin     get_extension(self, GANTRY_GENERATOR_1) -> {build, check}
//
//     host                                              plugin
//     ---- check(target) ---------------------------->  opens the compiler
//     ---- build(target, sources, kernels, sink) ---->  compiles, writes the payload
//     <--- diagnostic(text) --------------------------  any number of times
//     <--- at_kernel(index) --------------------------  before it fails for one kernel
//
// `gantry pack` finds the plugin by the type key of a module in its recipe.
#ifndef GANTRY_GENERATOR_H
#define GANTRY_GENERATOR_H

#include "loader.h"
GANTRY_BEGIN

#define GANTRY_GENERATOR_1 "gantry.generator/1"

// Frozen record: one source.
typedef struct gantry_source {
  // The file's name, for diagnostics: "dense.cu".
  gantry_bytes name;
  // One of the languages of the target kind in the manifest: "cuda".
  gantry_bytes language;
  gantry_bytes text;
} gantry_source;

// Frozen record: one kernel, an entry of the payload's kernel table.
typedef struct gantry_kernel_record {
  gantry_bytes name;
  // Index of the source with its code.
  uint64_t source;
  const gantry_dtype* arguments;
  uint64_t argument_count;
  const gantry_bytes* launch_tags;
  uint64_t launch_tag_count;
} gantry_kernel_record;

enum {
  // gantry_build.flags: the payload must contain compiled code. A generator that can also store
  // sources, as OpenCL C, compiles them or fails. Others ignore it.
  GANTRY_BUILD_COMPILED = 1
};

// What build compiles. Borrowed: valid during the call. check receives it without sources and kernels.
typedef struct gantry_build {
  uint32_t struct_size;
  // GANTRY_BUILD_*.
  uint32_t flags;
  // Name of the target kind: "cuda".
  gantry_bytes kind;
  // The target as canonical JSON: checked against the manifest, with defaults.
  gantry_bytes target;
  const gantry_source* sources;
  uint64_t source_count;
  const gantry_kernel_record* kernels;
  uint64_t kernel_count;
  // GANTRY_ARGUMENT_TAGS_NO or _YES (loader.h): the layout of kernel records to write.
  uint32_t argument_tags;
  uint32_t zero;
  void* self;

  // Receives warnings and notes of compilers, and the complete log of a failed compilation, of which
  // a status holds only the beginning. Never NULL.
  //
  // level    [in]   GANTRY_LOG_* (host.h)
  // text     [in]   lines, copied
  void (*diagnostic)(void* self, int32_t level, gantry_bytes text);

  // States the kernel to which the failure that build returns belongs. The host adds its location in
  // the recipe to the error. A host of an older SDK lacks it, see struct_size; else never NULL.
  //
  // kernel   [in]   index in kernels; the last call counts
  void (*at_kernel)(void* self, uint64_t kernel);
} gantry_build;

// Grows at its end: struct_size shows what a plugin has.
typedef struct gantry_generator {
  uint32_t struct_size;
  uint32_t zero;

  // Builds one payload that load_binary of the same plugin loads under the kind's type key.
  //
  // plugin   [in]   self of the plugin, as create returned it
  // sink     [in]   receives the payload; alignment is 0
  // returns  UNSUPPORTED  a compiler rejects a source; the text contains file, line and the
  //                       compiler's words
  //          UNAVAILABLE  this host has no compiler; the text states what to install
  //          others       on failure, the bytes that the sink has received are discarded
  // thread   any, in parallel
  // costs    up to minutes
  gantry_code (*build)(void* plugin, const gantry_build* what, const gantry_sink* sink,
                       gantry_status* status);

  // Checks that this host has what build requires for a target: opens the compiler or the device,
  // and compiles nothing. NULL or absent: build requires nothing.
  //
  // what     [in]   kind, target and flags; there are no sources and no kernels
  // returns  UNAVAILABLE  this host has no compiler; the text states what to install. The host then
  //                       uses another generator, or stores the sources
  //          INVALID      an option of the target is wrong
  // thread   any, in parallel
  // costs    may start a driver: up to seconds
  gantry_code (*check)(void* plugin, const gantry_build* what, gantry_status* status);
} gantry_generator;

GANTRY_END
#endif
