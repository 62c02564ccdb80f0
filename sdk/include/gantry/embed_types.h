// SPDX-License-Identifier: Apache-2.0
//
// gantry/embed_types.h - the rules of gantry/embed.h, and what its functions take and return.
//
// Objects. Runtimes, pools and models are objects, as modules, functions and tensors are (object.h). A
// function that returns an object returns one reference, which the caller owns. An object keeps
// everything that it needs alive, including its runtime, so references may be released in any order
// and on any thread. Releasing the last reference to a runtime and to the objects that it has made
// ends it.
//
// Values, tensors, look-ups, calls and devices are those of the plugin ABI: host() returns a table
// of the functions that a plugin uses (host.h). gantry_call() calls a function without a detour
// through the host (call.h).
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
// the table fail, UNAVAILABLE (PROCESS_FORKED). If the parent had opened no plugin, the child can
// create a runtime of its own.
//
// Growth. The table and the structs that begin with struct_size grow at their ends only. A caller
// sets struct_size with sizeof, and members that it does not use to 0. A larger struct of a later
// version is accepted if the members that this version does not know are 0; otherwise UNSUPPORTED
// (STRUCT_SIZE). Flags that this version does not know are UNSUPPORTED (FLAGS). A program that may run
// with an earlier library tests the table with GANTRY_HAS before it calls a function that was added.
#ifndef GANTRY_EMBED_TYPES_H
#define GANTRY_EMBED_TYPES_H

#include "model.h"
GANTRY_BEGIN

// Kinds of objects that only embedders have.
enum {
  GANTRY_RUNTIME = 96,
  GANTRY_MODEL = 97,
  GANTRY_TASK = 98,
  GANTRY_STREAM = 99,
  GANTRY_POOL = 100
};

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

// Receives the work of plugins that can take seconds, such as compiling a kernel.
typedef struct gantry_work_sink {
  void* self;
  // Called when work begins and when it ends. Several works may run at the same time.
  //
  // work     [in]   number of the work
  // text     [in]   "gantry.opencl: compiling kernel \"add\""; empty: the work has ended
  // thread   any, also several at the same time
  void (*write)(void* self, uint64_t work, gantry_bytes text);
  // Frees self. Called once, after the last call of write. May be NULL.
  void (*destroy)(void* self);
} gantry_work_sink;

// Receives what models print, such as the values of a print operator.
typedef struct gantry_output_sink {
  void* self;
  // text     [in]   UTF-8, with its line breaks
  // thread   any, also several at the same time
  void (*write)(void* self, gantry_bytes text);
  // Frees self. Called once, after the last call of write. May be NULL.
  void (*destroy)(void* self);
} gantry_output_sink;

enum {
  // Waiting threads sleep at once instead of spinning for a while first. For hosts where more threads
  // are ready than there are CPUs.
  GANTRY_POOL_NO_SPIN = 1
};

typedef struct gantry_pool_options {
  uint32_t struct_size;
  // GANTRY_POOL_*, or-ed.
  uint32_t flags;
  // Including the caller of a run. 0: as TVM_NUM_THREADS, else OMP_NUM_THREADS states; if neither is
  // set, one for each CPU that the process may use: those on which it may run (taskset, cpuset), and no
  // more than its control groups allow in time.
  int32_t threads;
} gantry_pool_options;

enum {
  // Search plugin_paths only.
  GANTRY_RUNTIME_ONLY_THESE_PLUGINS = 1,
  // Start no child process to open a plugin there first.
  GANTRY_RUNTIME_NO_PROBE = 2,
  // Record what the runtime does and when, for the report "trace".
  GANTRY_RUNTIME_TRACE = 4
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
  // Of compiled CPU code, including the caller. 0: as configured, else as 0 of gantry_pool_options.
  int32_t threads;
  // "error", "warning", "info" or "debug". Empty: as configured.
  gantry_bytes log_level;
  // write NULL: the log goes to stderr.
  gantry_log_sink log;
  // Shared with other runtimes, which keep it. NULL: the runtime has a pool of its own, of `threads`;
  // else threads must be 0.
  gantry_object* pool;
  // write NULL: nobody is notified.
  gantry_work_sink work;
  // How long a waiting thread of the runtime's own pool spins before it sleeps, in microseconds. 0: as
  // configured; -1: not at all.
  int32_t spin_us;
  // 0.
  uint32_t zero;
  // write NULL: standard output, with control characters escaped.
  gantry_output_sink output;
} gantry_runtime_options;

enum {
  // Load the file although plugins for some of its modules are missing. Calling such a module fails
  // with the reason.
  GANTRY_LOAD_ALLOW_MISSING = 1,
  // Load a library that requires an executable stack, which is refused otherwise, reason EXEC_STACK:
  // the system's linker makes the stacks of the whole process executable, or refuses it.
  GANTRY_LOAD_ALLOW_EXECUTABLE_STACK = 2,
  // Refuse the file if no plugin serves some of its modules, whatever devices its model states; not
  // together with GANTRY_LOAD_ALLOW_MISSING. The configuration can set it for every load.
  GANTRY_LOAD_STRICT = 4
};

// Kernels that no plugin serves are left out, with one warning, if the model states its devices and
// uses another one: those of `devices`, else all that it states, of alternatives the first. A call into
// such a module fails, reason MODULE_UNBOUND, and so does a model on its device.
typedef struct gantry_load_options {
  uint32_t struct_size;
  // GANTRY_LOAD_*, or-ed.
  uint32_t flags;
  // Those that the model will be made for: "cpu", "opencl:1". NULL: its own.
  const gantry_bytes* devices;
  uint32_t device_count;
  // 0.
  uint32_t zero;
} gantry_load_options;

// The content of an artifact, such as a file that is decrypted while it is read.
typedef struct gantry_reader {
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // Bytes of the artifact.
  uint64_t size;
  void* self;
  // Writes bytes to memory of the runtime. They are copied once, to memory that nobody can change,
  // and wiped.
  //
  // offset   [in]   in ascending order, without gaps
  // to       [out]  size bytes, 1 to 1,048,576
  // returns  OK; any other code ends the load with this error
  // thread   that of load_reader
  gantry_code (*read)(void* self, uint64_t offset, void* to, uint64_t size, gantry_status* status);
} gantry_reader;

enum {
  // The device records the second run of each executor and replays it in later runs. Graphs only.
  GANTRY_MODEL_CAPTURE = 1,
  // What the first run would do once is done now: modules are prepared for the devices.
  GANTRY_MODEL_PREPARE = 2
};

typedef struct gantry_model_options {
  uint32_t struct_size;
  // GANTRY_MODEL_*, or-ed.
  uint32_t flags;
  // Names: "cpu", "opencl:1". The first one runs what the artifact assigns to no device. NULL:
  // those that the artifact states, else those that run its modules, missing ones too, else the CPU.
  const gantry_bytes* devices;
  uint32_t device_count;
  // Maximum number of runs at the same time, each of which has an executor with memory of its own.
  // More runs wait. 0: the number of threads of the runtime.
  uint32_t executors;
} gantry_model_options;

// A group of runs and calls that are cancelled together. They fail, CANCELLED, before their next
// operator.
typedef struct gantry_task_options {
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // Nanoseconds from now on; then runs fail with reason DEADLINE. 0: no deadline.
  int64_t deadline_ns;
  // Returns 1 to cancel the task, else 0. Called during `run` on its thread, at most every 10 ms.
  // May be NULL.
  int32_t (*poll)(void* self);
  void* self;
} gantry_task_options;

enum {
  // Refuse an input that the function cannot use where it is, instead of copying it.
  GANTRY_RUN_NO_COPY = 1,
  // Wait for the work of the run. A deadline or a cancellation of the task ends the wait, CANCELLED;
  // the runtime keeps its own memory and objects of the caller until the work ends, and borrowed
  // tensors stay valid until then.
  GANTRY_RUN_WAIT = 2,
  // Tensors of the caller in host memory are read and written in the order of the stream: they stay
  // valid, and inputs unchanged, until it has passed the run. Without this flag they are read and
  // written when the run returns.
  GANTRY_RUN_IN_STREAM = 4
};

// One run of a function of a model.
typedef struct gantry_run {
  uint32_t struct_size;
  // GANTRY_RUN_*, or-ed.
  uint32_t flags;
  // Empty: see model_functions.
  gantry_bytes function;
  // input_count names, in any order. NULL: the inputs are in the order of the signature.
  const gantry_bytes* input_names;
  // A value for each input of the signature. Tensors have the dtype and shape of the signature.
  // They may be on any device, at any address, with strides, and borrowed (GANTRY_TENSOR_REF).
  // Tensors with strides are copied to the CPU: of another device, all memory between the first
  // and the last element.
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
  // NULL: the run cannot be cancelled.
  gantry_object* task;
  // Of a device of the model: work on that device is in this stream, and outputs are valid in its
  // order. NULL: the default streams.
  gantry_object* stream;
  // stream_count streams of further devices of the model, each device once.
  gantry_object* const* streams;
  uint32_t stream_count;
  uint32_t zero;
} gantry_run;

GANTRY_END
#endif
