// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed.h - the API for programs that embed gantry: a runtime, the artifacts that it loads,
// models and their runs. C11, for C and for bindings of other languages.
//
//     const gantry_embed* embed = gantry_embed_query_v1();
//     gantry_object *runtime = NULL, *module = NULL, *model = NULL;
//     gantry_code code = embed->runtime_new(NULL, &runtime, &status);
//     if (!code) code = embed->load_file(runtime, path, NULL, &module, &status);
//     if (!code) code = embed->model_new(module, NULL, &model, &status);
//     if (!code) code = embed->run(model, &run, &status);
//
// Objects. Runtimes and models are objects, as modules, functions and tensors are (object.h). A
// function that returns an object returns one reference, which the caller owns. An object keeps
// everything that it needs alive, including its runtime, so references may be released in any order
// and on any thread. Releasing the last reference to a runtime and to the objects that it has made
// ends it.
//
// Values, tensors, look-ups, calls and devices are those of the plugin ABI: host() returns a table
// of the functions that a plugin uses (host.h).
//
// Arguments are borrowed for the call, unless a comment states otherwise. An argument of another
// kind than required is INVALID (ARGUMENT_KIND); so is a required pointer that is NULL. Functions
// that take a gantry_status* follow its contract (status.h). A function that fails leaves its
// outputs unchanged and holds no reference that it did not hold before, unless its comment states
// otherwise.
//
// Threads. Every function may be called on any thread, also on several at the same time.
//
// After fork(), a child can release the objects of its parent but cannot use them: functions of
// this table fail, UNAVAILABLE (PROCESS_FORKED). If the parent had opened no plugin, the child can
// create a runtime of its own.
//
// Growth. The table and the structs that begin with struct_size grow at their ends only. A caller
// sets struct_size with sizeof, and members that it does not use to 0. A larger struct of a later
// version is accepted if the members that this version does not know are 0; otherwise UNSUPPORTED
// (STRUCT_SIZE). Flags that this version does not know are UNSUPPORTED (FLAGS).
#ifndef GANTRY_EMBED_H
#define GANTRY_EMBED_H

#include "host.h"
GANTRY_BEGIN

// Kinds of objects that only embedders have.
enum { GANTRY_RUNTIME = 96, GANTRY_MODEL = 97 };

// Receives the log.
typedef struct gantry_log_sink {
  void* self;
  // level    [in]   GANTRY_LOG_*
  // line     [in]   UTF-8, without a line break at its end
  // thread   any, also several at the same time
  void (*write)(void* self, int32_t level, gantry_bytes line);
  // Frees self. Called once, after the last call of write. May be NULL.
  void (*destroy)(void* self);
} gantry_log_sink;

enum {
  // Search plugin_paths only.
  GANTRY_RUNTIME_ONLY_THESE_PLUGINS = 1,
  // Start no child process to open a plugin there first.
  GANTRY_RUNTIME_NO_PROBE = 2
};

typedef struct gantry_runtime_options {
  uint32_t struct_size;
  // GANTRY_RUNTIME_*, or-ed.
  uint32_t flags;
  // Empty: that of the system, see configs/README.md. "/dev/null": none.
  gantry_bytes config_file;
  // Directories and manifests of plugins, searched before all others.
  const gantry_bytes* plugin_paths;
  uint32_t plugin_path_count;
  // Of compiled host code, including the caller. 0: as configured, else one for each CPU that the
  // process may use.
  int32_t threads;
  // "error", "warning", "info" or "debug". Empty: as configured.
  gantry_bytes log_level;
  // write NULL: the log goes to stderr.
  gantry_log_sink log;
} gantry_runtime_options;

enum {
  // Load the file although plugins for some of its modules are missing. Calling such a module fails
  // with the reason.
  GANTRY_LOAD_ALLOW_MISSING = 1
};

typedef struct gantry_load_options {
  uint32_t struct_size;
  // GANTRY_LOAD_*, or-ed.
  uint32_t flags;
} gantry_load_options;

enum {
  // The device records the second run of each executor and replays it in later runs. Graphs only.
  GANTRY_MODEL_CAPTURE = 1
};

typedef struct gantry_model_options {
  uint32_t struct_size;
  // GANTRY_MODEL_*, or-ed.
  uint32_t flags;
  // Names: "cpu", "opencl:1". The first one runs what the artifact assigns to no device. NULL: those
  // that the artifact is made for, else the CPU.
  const gantry_bytes* devices;
  uint32_t device_count;
  // Maximum number of runs at the same time, each of which has an executor with memory of its own.
  // More runs wait. 0: the number of threads of the runtime.
  uint32_t executors;
} gantry_model_options;

// One input or output of a function.
typedef struct gantry_parameter {
  uint32_t struct_size;
  // GANTRY_TENSOR; GANTRY_ARRAY for a tuple; GANTRY_NONE: another kind, or not stated.
  int32_t kind;
  gantry_bytes name;
  // "float32[n, 64]", as the artifact states it. Empty: not stated.
  gantry_bytes type;
  // ndim extents; -1: any.
  const int64_t* shape;
  // -1: not stated.
  int32_t ndim;
  // bits 0: not stated.
  gantry_dtype dtype;
} gantry_parameter;

enum {
  // The artifact states the outputs.
  GANTRY_SIGNATURE_OUTPUTS = 1
};

typedef struct gantry_signature {
  uint32_t struct_size;
  // GANTRY_SIGNATURE_*, or-ed.
  uint32_t flags;
  uint32_t input_count;
  // 0 if the outputs are not stated. Their names are then "output", or "output0", "output1" and so
  // on if there are several.
  uint32_t output_count;
  const gantry_parameter* const* inputs;
  const gantry_parameter* const* outputs;
} gantry_signature;

// One run of a function of a model.
typedef struct gantry_run {
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // Empty: see model_functions.
  gantry_bytes function;
  // input_count names, in any order. NULL: the inputs are in the order of the signature.
  const gantry_bytes* input_names;
  // A value for each input of the signature. Tensors may be on any device, at any address, and
  // borrowed (GANTRY_TENSOR_REF); they are compact and have the dtype and shape of the signature.
  const gantry_value* inputs;
  uint32_t input_count;
  // [in] elements of `outputs`; [out] outputs of the function.
  uint32_t output_count;
  // [in,out] GANTRY_NONE: receives the output; a tensor, also a borrowed one: is filled with the
  // output. Elements after the last output are unchanged. NULL: `result` receives all outputs.
  gantry_value* outputs;
  // [out] GANTRY_NONE on entry. An array of all outputs if `outputs` is NULL, else unchanged.
  gantry_value result;
  // [out] bytes of inputs that were copied because the function cannot use them where they are.
  uint64_t copied_bytes;
} gantry_run;

// Static for the life of the process.
typedef struct gantry_embed {
  // Bytes, sizeof at the core's compile time.
  uint32_t struct_size;
  // 0.
  uint32_t zero;
  // Of the core: "0.1.0".
  const char* version;

  // Add and release a reference, as gantry_retain and gantry_release do. For languages that do not
  // compile this header.
  //
  // object   [in]   NULL: nothing is done
  void (*retain)(gantry_object* object);
  void (*release)(gantry_object* object);

  // Creates a runtime. Reads the configuration and the manifests of plugins, opens no plugin.
  //
  // options  [in]   NULL: defaults. options->log belongs to the runtime from now on, also after a
  //                 failure, which calls its destroy before it returns
  // returns  MALFORMED  the configuration
  //          INVALID    a value of the options
  gantry_code (*runtime_new)(const gantry_runtime_options* options, gantry_object** runtime,
                             gantry_status* status);

  // Returns the host functions of a runtime. The program has the place of a plugin in them, and the
  // options "threads" and "cache_directory".
  //
  // returns  valid as long as the runtime; NULL: the object is no runtime
  const gantry_host* (*host)(gantry_object* runtime);

  // Finds a device by its name, and opens the plugin that serves it.
  //
  // name     [in]   "cpu", "opencl:1"
  // returns  NOT_FOUND, UNAVAILABLE  no such device
  gantry_code (*device_find)(gantry_object* runtime, gantry_bytes name, gantry_device_id* device,
                             gantry_status* status);

  // Loads an artifact, and opens a plugin for each type key in it. Loading a file again returns the
  // same module while it is alive.
  //
  // path     [in]   a shared library, an object or archive, a Model Library Format archive, a graph
  //                 or its parameters with the other files beside it: recognized by its content
  // options  [in]   NULL: defaults
  // returns  MALFORMED, UNSUPPORTED  the file
  //          UNAVAILABLE  no plugin for type keys of the file, all of which are listed (NO_PLUGIN)
  //          others       of a plugin
  // costs    payloads are not copied; seconds when the file must be linked first
  gantry_code (*load_file)(gantry_object* runtime, gantry_bytes path,
                           const gantry_load_options* options, gantry_object** module,
                           gantry_status* status);

  // Reads the tensors of an .npy, .npz or .params file to the CPU.
  //
  // tensors  [out]  GANTRY_MAP of names to tensors; the name is empty in an .npy file
  gantry_code (*tensors_read)(gantry_object* runtime, gantry_bytes path, gantry_value* tensors,
                              gantry_status* status);

  // Creates a tensor over memory of the caller.
  //
  // what     [in]   what->data is the caller's memory, on a device of the runtime; shape and
  //                 strides are copied
  // size     [in]   bytes at what->data
  // flags    [in]   0
  // destroy  [in]   called once, on any thread, when no tensor uses the memory any more. Not called
  //                 after a failure: the caller still owns self. NULL: the memory outlives the
  //                 tensor
  // returns  INVALID    the elements are not within `size` bytes (ARGUMENT_RANGE)
  //          NOT_FOUND, UNAVAILABLE  no such device
  gantry_code (*tensor_foreign)(gantry_object* runtime, const gantry_tensor* what, uint64_t size,
                                uint32_t flags, void* self, void (*destroy)(void* self),
                                gantry_value* tensor, gantry_status* status);

  // Creates a model: a graph, code compiled ahead of time, or a virtual machine on some devices.
  //
  // module   [in]   has the model, itself or in its imports
  // options  [in]   NULL: defaults
  // returns  NOT_FOUND    the module has no model
  //          UNSUPPORTED  an option that the model does not have
  //          others       of a plugin
  gantry_code (*model_new)(gantry_object* module, const gantry_model_options* options,
                           gantry_object** model, gantry_status* status);

  // Returns the names of the model's functions, sorted: the graphs of the file, the models of an
  // archive, or the functions of a virtual machine. An empty name means "default" of graphs, "main"
  // of a virtual machine, or the only one that does not begin with "_".
  //
  // names    [out]  GANTRY_ARRAY of texts
  gantry_code (*model_functions)(gantry_object* model, gantry_value* names, gantry_status* status);

  // Returns the inputs and outputs of a function, without parameters that the artifact contains.
  //
  // signature [out] valid as long as the model
  // returns  NOT_FOUND  no such function, listing the functions (FUNCTION)
  //          others     of a plugin that creates the executor
  // costs    the first time, creates an executor
  gantry_code (*model_signature)(gantry_object* model, gantry_bytes function,
                                 const gantry_signature** signature, gantry_status* status);

  // Runs a function of a model. No later run writes an output that was returned. On devices other
  // than the CPU, work may still be queued on return.
  //
  // run      [in,out] after a failure the elements of outputs are the same, but tensors that they
  //                 contain may have been written; result, output_count and copied_bytes are
  //                 unchanged
  // returns  NOT_FOUND  no such function (FUNCTION)
  //          INVALID    an input is missing, there twice or unknown (INPUT), is no tensor
  //                     (ARGUMENT_KIND), or has another dtype or shape than the signature
  //                     (ARGUMENT_DTYPE, ARGUMENT_SHAPE)
  //          INVALID    the function has more outputs than `outputs` has elements (OUTPUT_COUNT),
  //                     or a tensor in `outputs` has another dtype or shape than the output
  //                     (ARGUMENT_DTYPE, ARGUMENT_SHAPE)
  //          INVALID    all executors are in use, one of them by this thread (MODEL_BUSY)
  //          others     of the function
  // thread   as many at the same time as the model has executors; others wait
  gantry_code (*run)(gantry_object* model, gantry_run* run, gantry_status* status);
} gantry_embed;

// Returns the table. The only function of libgantry that a program calls by name.
//
// returns  never NULL; the same table each time
GANTRY_EXPORT const gantry_embed* gantry_embed_query_v1(void);

GANTRY_END
#endif
