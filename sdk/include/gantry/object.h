// SPDX-License-Identifier: Apache-2.0
//
// gantry/object.h - reference-counted objects, laid out and counted as tvm-ffi's.
//
//     offset 0   u64  counts    strong references in the low 32 bits, weak ones in the high 32 bits
//            8   i32  kind      GANTRY_STRING, GANTRY_TENSOR, ... (value.h)
//            12  u32  zero
//            16       deleter
//            24       content   gantry_bytes, gantry_shape, gantry_error, gantry_tensor, or private
//
// All strong references together hold one weak reference. Whoever releases the last strong one
// calls the deleter with GANTRY_DELETE_CONTENT, and whoever then releases the last weak one calls
// it with GANTRY_DELETE_MEMORY; where both are the same call the flags are or-ed. The deleter
// belongs to the maker of the object, so memory is freed by the allocator that it came from. Code
// compiled against tvm-ffi may hold our objects, and we may hold its objects.
#ifndef GANTRY_OBJECT_H
#define GANTRY_OBJECT_H

#include "bytes.h"
GANTRY_BEGIN

enum {
  // Destroy what the object contains.
  GANTRY_DELETE_CONTENT = 1,
  // Free the object's own memory.
  GANTRY_DELETE_MEMORY = 2
};

// Frozen record.
typedef struct gantry_object {
  uint64_t counts;
  int32_t kind;
  uint32_t zero;
  // flags    [in]   GANTRY_DELETE_*, or-ed
  // thread   any: the thread that releases the last reference
  void (*deleter)(void* self, int32_t flags);
} gantry_object;

// Adds a strong reference.
//
// object   [in]   the caller holds a strong reference
// thread   any
// costs    one atomic addition
static inline void gantry_retain(gantry_object* object) {
  __atomic_fetch_add(&object->counts, (uint64_t)1, __ATOMIC_RELAXED);
}

// Releases a strong reference. The last one runs the deleter on this thread.
static inline void gantry_release(gantry_object* object) {
  const uint64_t one_weak = (uint64_t)1 << 32;
  const uint64_t before = __atomic_fetch_sub(&object->counts, (uint64_t)1, __ATOMIC_ACQ_REL);
  if ((before & UINT32_MAX) != 1) return;
  if (before >> 32 == 1) {
    object->deleter(object, GANTRY_DELETE_CONTENT | GANTRY_DELETE_MEMORY);
    return;
  }
  object->deleter(object, GANTRY_DELETE_CONTENT);
  if (__atomic_fetch_sub(&object->counts, one_weak, __ATOMIC_ACQ_REL) >> 32 == 1) {
    object->deleter(object, GANTRY_DELETE_MEMORY);
  }
}

// Frozen record: the content of a shape object.
typedef struct gantry_shape {
  const int64_t* dims;
  uint64_t count;
} gantry_shape;

// Frozen record: the content of an error object, tvm-ffi's ErrorCell.
typedef struct gantry_error {
  // "ValueError", "RuntimeError": the name of the exception where it was raised.
  gantry_bytes kind;
  gantry_bytes message;
  // One line for each frame, the most recent last. May be empty.
  gantry_bytes backtrace;
  // backtrace [in]  gantry_bytes, copied
  // mode      [in]  0 replaces, 1 appends
  void (*update_backtrace)(gantry_object* self, const gantry_bytes* backtrace, int32_t mode);
  // An error object, or NULL. One reference.
  gantry_object* cause;
  // Any object of the one who raised it, or NULL. One reference.
  gantry_object* context;
} gantry_error;

// One type of opaque objects, made by gantry_host.object_new. Static for the life of the process;
// its address identifies the type.
typedef struct gantry_object_type {
  // Bytes, sizeof at the plugin's compile time.
  uint32_t struct_size;
  uint32_t flags;
  // For messages: "acme.KeyValueCache".
  const char* name;
  // Frees self.
  //
  // thread   any: the thread that releases the last reference
  void (*destroy)(void* self);
} gantry_object_type;

GANTRY_END
#endif
