// SPDX-License-Identifier: Apache-2.0
//
// gantry/model.h - extension of a module "gantry.model/1": functions with named inputs and outputs,
// and executors that run them.
//
//     host                                       module
//     ---- get_extension(GANTRY_MODEL_1) --->    {info, signature, executor_new}; NULL: no model
//     ---- info, signature(function) ------->    functions, stated devices; inputs, outputs
//     ---- executor_new(devices) ----------->    {self, executor table}
//                                                executor
//     ---- placements(function) ------------>    where each input and output is
//     ---- run(inputs, outputs) ------------>    by position, any number of times
//     ---- destroy ------------------------->
//
// The host finds inputs by name, compares them with the signature, and copies those that are not
// where the executor takes them. An executor need not compare what its signature states.
//
// Weights. The executors of one module share its weights, which are on a device once.
//
// State. A run depends on its inputs alone. State between runs is a value of kind GANTRY_OBJECT: a
// function returns it, later runs receive it and may change it. Each executor of the module on the
// same devices accepts it, one run at a time.
#ifndef GANTRY_MODEL_H
#define GANTRY_MODEL_H

#include "function.h"
GANTRY_BEGIN

#define GANTRY_MODEL_1 "gantry.model/1"

enum {
  // The same value in all runs: a parameter of the model that is not in the artifact.
  GANTRY_PARAMETER_WEIGHT = 1,
  // GANTRY_NONE may be passed instead.
  GANTRY_PARAMETER_OPTIONAL = 2,
  // A run may write the memory, or change the object. It is the caller's, never a copy of the host:
  // else the run fails (COPY_REQUIRED, READ_ONLY).
  GANTRY_PARAMETER_WRITTEN = 4
};

// One input or output of a function.
typedef struct gantry_parameter {
  uint32_t struct_size;
  // GANTRY_TENSOR; GANTRY_ARRAY for a tuple; GANTRY_SHAPE, GANTRY_INT, GANTRY_FLOAT, GANTRY_BOOL,
  // GANTRY_STRING; GANTRY_OBJECT for state; GANTRY_NONE: another kind, or not stated.
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
  // GANTRY_PARAMETER_*, or-ed.
  uint32_t flags;
  uint32_t zero;
  // ndim texts, compared and never evaluated: extents of one signature with the same text are equal
  // in a run ("n", "2 * n"). Empty: a fixed extent, or one that has no relation to others, such as
  // that of an output which is known after the run. NULL: all are empty.
  const gantry_bytes* extents;
} gantry_parameter;

enum {
  // The artifact states the outputs.
  GANTRY_SIGNATURE_OUTPUTS = 1
};

// Filled by a plugin, with sizeof at its compile time. The host completes a shorter one.
typedef struct gantry_signature {
  uint32_t struct_size;
  // GANTRY_SIGNATURE_*, or-ed.
  uint32_t flags;
  uint32_t input_count;
  // 0 if the outputs are not stated.
  uint32_t output_count;
  const gantry_parameter* const* inputs;
  const gantry_parameter* const* outputs;
  // The rest is set by the host.
  //
  // Of the function.
  gantry_bytes name;
  // For messages: "the model" if it has one function, else "function \"prefill\"".
  gantry_bytes subject;
  // The first device of the model.
  gantry_device_id device;
} gantry_signature;

// `default_function` of a model without one.
#define GANTRY_NO_FUNCTION UINT32_MAX

enum {
  // The stated devices are alternatives: a run uses one of them, by default the first.
  GANTRY_MODEL_ALTERNATIVES = 1
};

// Result of info. The caller sets struct_size.
typedef struct gantry_model_info {
  uint32_t struct_size;
  // GANTRY_MODEL_*, or-ed.
  uint32_t flags;
  // Names, each once. A function is its index in this list.
  const gantry_bytes* functions;
  uint32_t function_count;
  // The function that an empty name means. GANTRY_NO_FUNCTION: the only one whose name does not
  // begin with "_".
  uint32_t default_function;
  // Numbers of this runtime, as device_type_in() returns them: kinds of device without which the
  // model does not run, the main one first; with GANTRY_MODEL_ALTERNATIVES, one of which it needs. A kind is listed as often as the model uses devices of
  // it. NULL: none is stated.
  const int32_t* device_types;
  uint32_t device_count;
  uint32_t zero;
} gantry_model_info;

enum {
  // Devices record the work of a run, and later runs replay it.
  GANTRY_EXECUTOR_CAPTURE = 1,
  // Do everything that the first run would do once and that no extent decides: compile, allocate.
  GANTRY_EXECUTOR_PREPARE = 2
};

typedef struct gantry_executor_options {
  uint32_t struct_size;
  // GANTRY_EXECUTOR_*, or-ed.
  uint32_t flags;
  // At least one; contains those that info states, the CPU too, or of alternatives the chosen one.
  // The first one runs what is assigned
  // to no device.
  const gantry_device_id* devices;
  uint32_t device_count;
  uint32_t zero;
} gantry_executor_options;

enum {
  // An input: the executor uses no other memory than `own`, which is not NULL. The host copies each
  // tensor there.
  GANTRY_PLACEMENT_OWN_ONLY = 1,
  // An input: the executor may keep the tensor. It is an object, never GANTRY_TENSOR_REF.
  GANTRY_PLACEMENT_KEPT = 2,
  // An output: a tensor that run returns is memory which the next run writes. The host copies it,
  // or passes a tensor to fill.
  GANTRY_PLACEMENT_REUSED = 4
};

// Frozen record: where an executor takes an input, or leaves an output. Values that are no tensors
// are passed as they are; tensors in their items are on `device`.
typedef struct gantry_placement {
  // Of tensors that are passed, and of those that are returned.
  gantry_device_id device;
  // Bytes, a power of two, of the address of the first element; of no meaning on a device with
  // GANTRY_DEVICE_OPAQUE_DATA. byte_offset is 0.
  uint32_t alignment;
  // GANTRY_PLACEMENT_*, or-ed.
  uint32_t flags;
  // An input: memory of the executor, which the host may write before a run and pass to it. NULL:
  // none; also of outputs.
  const gantry_tensor* own;
} gantry_placement;

// One run of a function.
typedef struct gantry_executor_run {
  uint32_t struct_size;
  // 0.
  uint32_t flags;
  // Index in gantry_model_info.functions.
  uint32_t function;
  // Inputs of the signature.
  uint32_t input_count;
  // A value for each input: as the signature states it, placed as the executor has stated, tensors
  // compact. Borrowed for the call; memory of devices remains valid until the streams of the run
  // have passed it.
  const gantry_value* inputs;
  // [in,out] GANTRY_NONE: receives the output, owned by the caller, a tensor compact.
  // GANTRY_TENSOR_REF, of the right type and placed: the output is written there. NULL if the
  // outputs are not stated: `result` receives an array of all, those of tuples one by one. Also
  // NULL if there is none.
  gantry_value* outputs;
  // Outputs of the signature; 0 if outputs is NULL.
  uint32_t output_count;
  uint32_t zero;
  // [out] GANTRY_NONE on entry.
  gantry_value result;
} gantry_executor_run;

// An executor: memory for one run at a time. Static for the life of the process. Grows at its end.
typedef struct gantry_executor_table {
  // Bytes, sizeof at the plugin's compile time.
  uint32_t struct_size;
  // 0.
  uint32_t flags;

  // Frees self. Work of its last run may be in flight.
  //
  // thread   any, once, after all calls on self have ended
  void (*destroy)(void* self);

  // Returns where a function takes its inputs and leaves its outputs.
  //
  // inputs   [out]  one for each input of the signature; NULL if there is none
  // outputs  [out]  one for each output of the signature; NULL if there is none
  // returns  codes of executor_new
  // lifetime as long as self
  // thread   one call at a time for all functions of self
  // costs    may create what executor_new creates, the first time for each function
  gantry_code (*placements)(void* self, uint32_t function, const gantry_placement** inputs,
                            const gantry_placement** outputs, gantry_status* status);

  // Runs a function. On devices with streams the work may be in flight on return; outputs are valid
  // in stream order.
  //
  // env      [in]   never NULL; work on a device is in gantry_env_stream() of it
  // run      [in,out] a tensor that is returned and not REUSED is never written later, unless its
  //                 object has further references: the host copies those
  // returns  any code; the outputs are unchanged then, but for the content of tensors to fill, and
  //          self is usable
  //          CANCELLED  the task was cancelled
  //          INVALID    a value that the signature does not state is wrong
  // thread   one call at a time for all functions of self
  // costs    keeps no input beyond the call, unless it is KEPT
  gantry_code (*run)(void* self, const gantry_env* env, gantry_executor_run* run,
                     gantry_status* status);
} gantry_executor_table;

// Frozen record: transfers an executor. The receiver owns self and destroys it once, before the
// module.
typedef struct gantry_executor {
  void* self;
  const gantry_executor_table* table;
} gantry_executor;

// Grows at its end: struct_size shows what a plugin has. In every function, self is that of the
// module.
typedef struct gantry_model {
  uint32_t struct_size;
  uint32_t zero;

  // Describes the model.
  //
  // info     [out]  its lists are valid as long as the module
  // returns  MALFORMED, UNSUPPORTED  the payload, of which load_binary did not read this part
  //          others     of look-ups in imports
  // thread   any, in parallel
  // costs    opens no device; reads no signature
  gantry_code (*info)(void* self, gantry_model_info* info, gantry_status* status);

  // Returns the inputs and outputs of a function, without parameters that the artifact contains.
  //
  // function [in]   index in gantry_model_info.functions
  // out      [out]  valid as long as the module
  // returns  as info
  // thread   any, in parallel
  // costs    opens no device
  gantry_code (*signature)(void* self, uint32_t function, const gantry_signature** out,
                           gantry_status* status);

  // Creates an executor of all functions.
  //
  // env      [in]   never NULL; streams for what is copied to devices, task
  // out      [out]  owned by the host; on failure the plugin still owns it
  // returns  UNSUPPORTED  a flag that the model does not have, or a device that it cannot run on
  //          EXHAUSTED    memory, or the number of executors: the host waits for one that exists
  //          NOT_FOUND    functions that no import has; lists all
  //          CANCELLED    the task was cancelled
  // thread   any, in parallel
  // costs    may compile: up to minutes
  gantry_code (*executor_new)(void* self, const gantry_env* env,
                              const gantry_executor_options* options, gantry_executor* out,
                              gantry_status* status);
} gantry_model;

GANTRY_END
#endif
