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
// The rules for objects, arguments, threads and growth are in embed_types.h.
#ifndef GANTRY_EMBED_H
#define GANTRY_EMBED_H

#include "call.h"
#include "embed_types.h"
#include "host.h"
#include "plugin.h"

// Of dlpack.h: any version, and version 1.
struct DLManagedTensor;
struct DLManagedTensorVersioned;
// Of linked_symbols.h.
struct gantry_linked_symbols;
GANTRY_BEGIN

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
  // options  [in]   NULL: defaults. Its sinks belong to the runtime from now on, also after a failure,
  //                 which calls their destroy before it returns
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
  //          NOT_FOUND, UNAVAILABLE  no such device, listing those of the host
  //          INVALID      the devices lack one that the artifact states (DEVICE)
  //          UNSUPPORTED  an option that the model does not have
  //          others       of a plugin; with GANTRY_MODEL_PREPARE also of a function that no run calls
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
  //                     (ARGUMENT_DTYPE, ARGUMENT_SHAPE), or must be copied (COPY_REQUIRED)
  //          INVALID    the function has more outputs than `outputs` has elements (OUTPUT_COUNT),
  //                     or a tensor in `outputs` has another dtype or shape than the output
  //                     (ARGUMENT_DTYPE, ARGUMENT_SHAPE)
  //          INVALID    all executors are in use, one of them by this thread (MODEL_BUSY)
  //          CANCELLED  the task was cancelled, or its deadline has passed (DEADLINE)
  //          others     of the function
  // thread   as many at the same time as the model has executors; others wait
  gantry_code (*run)(gantry_object* model, gantry_run* run, gantry_status* status);

  // Loads an artifact that is in memory. Each call returns another module.
  //
  // data     [in]   size bytes, as of load_file but for graphs and parameters; copied once, to
  //                 memory that nobody can change
  // name     [in]   for messages: "model.so"
  // returns  as load_file; EXHAUSTED; UNAVAILABLE: the system permits no files in memory
  gantry_code (*load_memory)(gantry_object* runtime, const void* data, uint64_t size,
                             gantry_bytes name, const gantry_load_options* options,
                             gantry_object** module, gantry_status* status);

  // The same for an artifact that a function reads.
  //
  // returns  as load_memory; the error of the reader
  gantry_code (*load_reader)(gantry_object* runtime, const gantry_reader* reader, gantry_bytes name,
                             const gantry_load_options* options, gantry_object** module,
                             gantry_status* status);

  // Creates a tensor over the memory of a DLPack tensor. Copies nothing.
  //
  // versioned, plain [in]  one of them; the other is NULL. The work that writes the memory is
  //                 complete. Taken over: its deleter is called as destroy of tensor_foreign is.
  //                 After a failure it is still the caller's
  // returns  UNSUPPORTED  the major version is not 1 (DLPACK_VERSION)
  //          INVALID      a shape that is none, or memory at address 0
  //          NOT_FOUND, UNAVAILABLE  no such device
  gantry_code (*dlpack_import)(gantry_object* runtime, struct DLManagedTensorVersioned* versioned,
                               struct DLManagedTensor* plain, gantry_value* tensor,
                               gantry_status* status);

  // Creates a DLPack tensor over the memory of a tensor, which it keeps. Copies nothing.
  //
  // tensor   [in]   an object
  // max_version [in] major and minor version that the consumer supports, as major << 16 | minor;
  //                 0: it gets a DLManagedTensor
  // stream   [in]   work in this stream is complete on return; NULL: work in the default stream of
  //                 the tensor's device
  // managed  [out]  DLManagedTensorVersioned* or DLManagedTensor*; the caller calls its deleter
  // returns  UNSUPPORTED  DLPack has no number for the device (DLPACK_DEVICE)
  //          INVALID      the memory is read-only, which a DLManagedTensor cannot state (READ_ONLY)
  //          others       of the work in the stream
  gantry_code (*dlpack_export)(gantry_object* runtime, gantry_object* tensor, uint32_t max_version,
                               gantry_object* stream, void** managed, gantry_status* status);

  // Creates a stream of a device, or returns the only one that the device has, as the CPU. Work that
  // is in it when it is released is completed.
  //
  // returns  codes of the device
  gantry_code (*stream_new)(gantry_object* runtime, gantry_device_id device, gantry_object** stream,
                            gantry_status* status);
  // Returns the stream for gantry_env.stream.
  //
  // returns  valid as long as the stream; NULL: the default stream of its device, or the object is no
  //          stream
  void* (*stream_handle)(gantry_object* stream);

  // Waits until the work in a stream is complete.
  //
  // stream   [in]   of the device; NULL: its default stream
  // returns  a failure of the work, once
  gantry_code (*synchronize)(gantry_object* runtime, gantry_device_id device, gantry_object* stream,
                             gantry_status* status);

  // Creates a task.
  //
  // options  [in]   NULL: it is cancelled by task_cancel only
  // returns  INVALID  the deadline is negative (ARGUMENT_RANGE)
  gantry_code (*task_new)(const gantry_task_options* options, gantry_object** task,
                          gantry_status* status);
  // Cancels a task, once and for all.
  //
  // thread   any; also in a signal handler
  void (*task_cancel)(gantry_object* task);
  // Returns the task for gantry_env.task.
  //
  // returns  valid as long as the task; NULL: the object is no task
  const void* (*task_handle)(gantry_object* task);

  // Adds a function that compiled code finds by its name, before functions of plugins. It remains
  // until the runtime ends.
  //
  // name     [in]   copied
  // function [in]   with a table, whose functions are called on any thread, also on several at the
  //                 same time. Belongs to the runtime from now on, also after a failure, which
  //                 calls its destroy. Must not keep the runtime or an object of it: the runtime
  //                 would never end
  // returns  INVALID  the name is empty or in use, or the table is NULL
  //          BUG      the table has no `call` (TABLE_INCOMPLETE)
  gantry_code (*function_add)(gantry_object* runtime, gantry_bytes name, gantry_function function,
                              gantry_status* status);
  // Returns a function of the core, of function_add, or one that a plugin offers to compiled code.
  // gantry_host.find looks up functions of modules.
  //
  // returns  NOT_FOUND  no such function, listing those of the core and of function_add
  //                     (GLOBAL_MISSING)
  gantry_code (*function_find)(gantry_object* runtime, gantry_bytes name, gantry_object** function,
                               gantry_status* status);

  // Returns a report as maps, arrays, texts and numbers.
  //
  // object   [in]   a runtime, a module or a model
  // what     [in]   of a runtime: "configuration": the files, the number of threads, the cache;
  //                 "devices": all devices, with their attributes, and with the names of those that
  //                 have the same UUID (same_as); opens their plugins;
  //                 "plugins": all manifests that were found, and how far each was used; the titles
  //                 of those that are in use, and how often one failed and the next one was tried;
  //                 "explanation": the text of `gantry plugins doctor` for this runtime;
  //                 "trace": the spans of GANTRY_RUNTIME_TRACE so far, as the text of a Chrome trace;
  //                 "operators": the calls in these spans by name, for a graph its operators by the
  //                 names of its nodes: how many, their nanoseconds without the calls within them, as
  //                 the device measured those of kernels, and whether there are such calls (has_calls)
  //                 of a module: "module": type key, plugin, functions, imports as modules, and the
  //                 reason for each module that has no plugin
  //                 of a model: "model": the devices on which it runs
  // returns  NOT_FOUND  no such report, listing the reports (REPORT)
  gantry_code (*report)(gantry_object* object, gantry_bytes what, gantry_value* tree,
                        gantry_status* status);

  // Creates a pool of threads, which several runtimes use for compiled CPU code: see
  // gantry_runtime_options. It runs one parallel part of a model at a time; while it is busy, others
  // run on the thread of their caller. Its threads start with the first one and end with the pool.
  //
  // options  [in]   NULL: defaults
  // returns  INVALID  the number of threads (ARGUMENT_RANGE)
  gantry_code (*pool_new)(const gantry_pool_options* options, gantry_object** pool,
                          gantry_status* status);

  // Adds a plugin that is part of the program. It is preferred to all others.
  //
  // query    [in]   its gantry_plugin_query_v1
  // returns  INVALID  a plugin of this id was added before or is in use
  //          others   of query, or of a table that is not valid
  gantry_code (*plugin_add)(gantry_object* runtime,
                            const gantry_plugin_table* (*query)(const gantry_host_info* host_info,
                                                                gantry_status* status),
                            gantry_status* status);
  // Binds modules that had no usable plugin when they were loaded (GANTRY_LOAD_ALLOW_MISSING) and
  // have one now: one that was added, or one that no longer fails.
  //
  // module   [in]   as load_file returned it
  // returns  as load_file, if some are still missing; the others are bound
  gantry_code (*module_bind_missing)(gantry_object* module, gantry_status* status);

  // Loads a graph whose library and parameters are in files of their own, as TVM before 0.7 exports
  // them. The parameters are not copied.
  //
  // library  [in]   as path of load_file: "deploy.so"
  // graph    [in]   JSON: "deploy.json"
  // params   [in]   "deploy.params"; empty: the graph has no parameters
  // returns  as load_file, for each of the files
  gantry_code (*load_graph)(gantry_object* runtime, gantry_bytes library, gantry_bytes graph,
                            gantry_bytes params, const gantry_load_options* options,
                            gantry_object** module, gantry_status* status);
  // Loads code that is linked into the program, as system_library() of gantry/embed.hpp does. Returns
  // the same module while it is alive.
  //
  // symbols  [in]   valid as long as the runtime
  // prefix   [in]   of the system library
  // returns  NOT_FOUND  no symbol is registered
  //          INVALID    the code belongs to a module of another runtime, or to one that has ended
  //                     (LINKED_TWICE)
  //          others     as load_file
  gantry_code (*load_linked)(gantry_object* runtime, const struct gantry_linked_symbols* symbols,
                             gantry_bytes prefix, const gantry_load_options* options,
                             gantry_object** module, gantry_status* status);

  // Functions of gantry_host that are the same for all runtimes, for programs that keep objects and
  // not the runtime: see host.h. `call` also refuses a value whose kind has an address that is 0
  // (INVALID, ARGUMENT_KIND).
  gantry_code (*items_get)(gantry_object* object, const gantry_value** items, uint64_t* count,
                           gantry_status* status);
  gantry_code (*tensor_view)(const gantry_tensor* what, gantry_object* owner, uint32_t flags,
                             gantry_value* tensor, gantry_status* status);
  gantry_code (*find)(gantry_object* module, uint32_t where, gantry_bytes name,
                      gantry_object** function, gantry_status* status);
  gantry_code (*call)(gantry_object* function, const gantry_env* env, const gantry_value* args,
                      int32_t count, gantry_value* result, gantry_status* status);

  // As dlpack_import, for memory that work in a stream may still write. Later work in `stream`
  // follows the work that is in `produced` now; the call waits for that work only if the device has
  // no events.
  //
  // produced [in]   of the tensor's device: the result of stream_handle, or a stream of a producer
  //                 that uses the same driver (CUDA: a CUstream). NULL: the default stream of the
  //                 device; of memory on the CPU, NULL
  // stream   [in]   of the tensor's device; NULL: its default stream
  // returns  also INVALID  a stream of another device or runtime (STREAM)
  //               others   of the device
  gantry_code (*dlpack_import_after)(gantry_object* runtime,
                                     struct DLManagedTensorVersioned* versioned,
                                     struct DLManagedTensor* plain, void* produced,
                                     gantry_object* stream, gantry_value* tensor,
                                     gantry_status* status);

  // Returns the contents of a file without loading it: the document of `gantry inspect --json` as
  // maps, arrays, texts and numbers; those above INT64_MAX are texts. Executes nothing of the file
  // and opens no plugin.
  //
  // path     [in]   also of files that load_file does not load: archives, weights, programs
  // returns  MALFORMED, UNSUPPORTED  the file
  //          others     of opening it
  // costs    time and memory in proportion to the file, which it digests
  gantry_code (*inspect)(gantry_object* runtime, gantry_bytes path, gantry_value* tree,
                         gantry_status* status);

  // Returns the module of a model: a new virtual machine on its devices, which no run uses and whose
  // functions take arguments by position; of other models, the module that was given.
  //
  // returns  as model_new
  // thread   the functions of a virtual machine: one at a time for each machine
  gantry_code (*model_module)(gantry_object* model, gantry_object** module, gantry_status* status);

  // Returns the position of an input in the signature of a function.
  //
  // name     [in]   of the input, or its position as a number
  // returns  INVALID  no such input; suggests a near name (INPUT)
  //          others   as model_signature
  gantry_code (*model_input)(gantry_object* model, gantry_bytes function, gantry_bytes name,
                             uint32_t* index, gantry_status* status);

  // Creates a tensor over memory that another interface has allocated. Host memory that the device
  // does not import is copied instead, and is not used after the call.
  //
  // memory   [in]   a descriptor remains the caller's
  // what     [in]   device, dtype, shape, byte_offset within the part that is used; data is ignored,
  //                 strides are NULL
  // destroy  [in]   as of tensor_foreign; the work of the default stream that uses the memory has
  //                 ended then
  // returns  UNSUPPORTED  the device does not import this kind (EXTERNAL_KIND)
  //          INVALID      the elements are not within memory->size bytes (ARGUMENT_RANGE); its
  //                       address, offset or size has no alignment that the driver requires
  //          NOT_FOUND, UNAVAILABLE  no such device
  gantry_code (*memory_import)(gantry_object* runtime, const gantry_external* memory,
                               const gantry_tensor* what, void* self, void (*destroy)(void* self),
                               gantry_value* tensor, gantry_status* status);

  // Creates a stream over one of the driver that the program has created: CUstream,
  // cl_command_queue.
  //
  // handle   [in]   outlives the stream, which leaves it
  // returns  UNSUPPORTED  the device does not have it (FUNCTION_ABSENT)
  //          others       as gantry_device_table.stream_import; no such device
  gantry_code (*stream_import)(gantry_object* runtime, gantry_device_id device, void* handle,
                               gantry_object** stream, gantry_status* status);

  // Returns the driver's handle of a stream, of the memory of a tensor, or of their context.
  //
  // object   [in]   a stream or a tensor; of a view, the tensor that owns the memory
  // kind     [in]   GANTRY_NATIVE_*
  // handle   [out]  borrowed, valid as long as the object
  // returns  INVALID      an object of another kind (ARGUMENT_KIND), a kind that it does not have
  //                       (NATIVE_KIND)
  //          UNSUPPORTED  the device does not have it (FUNCTION_ABSENT, NATIVE_KIND)
  gantry_code (*native_get)(gantry_object* object, int32_t kind, void** handle,
                            gantry_status* status);

  // Calls a function once, after the work that is in the stream now, on any thread; on this one if
  // the device is the CPU. Keeps the stream until then.
  //
  // notify   [in]   calls no function of a device; also called after a failure of the work, which
  //                 synchronize reports
  // returns  errors of the device; on failure, notify is not called
  gantry_code (*stream_notify)(gantry_object* stream, void (*notify)(void* argument),
                               void* argument, gantry_status* status);
} gantry_embed;

// Returns the table. The only function of libgantry that a program calls by name.
//
// returns  never NULL; the same table each time
GANTRY_EXPORT const gantry_embed* gantry_embed_query_v1(void);

GANTRY_END
#endif
