// SPDX-License-Identifier: Apache-2.0
//
// A model as a compiler exports it whose memory is planned for pools (USMP), written by hand: the
// container, the description of its tensors, and its function.
//
//     y[i] = x[i] + c[i] + n      c: constants at offsets 0 and 128 of their pool; n: earlier runs,
//                                 counted in the second workspace
#include "tests/support/aot_model.h"

typedef struct {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} Tensor;

// TWO: the library has a second description of the same function; which one is used depends on the
// code of get_c_metadata.
#ifdef TWO
extern const Metadata other_metadata;
#endif

static const struct PACKED {
  uint64_t magic, reserved;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t extent, bytes;
  float values[2];
} records[] = {{0xDD5E40F096B4A13Full, 0, 1, 0, 1, 2, 32, 1, 2, 8, {1, 2}},
               {0xDD5E40F096B4A13Full, 0, 1, 0, 1, 2, 32, 1, 2, 8, {3, 4}}};
static const ConstantInfo constants[] = {{"c_0", 0, sizeof records[0], &records[0]},
                                         {"c_1", 128, sizeof records[1], &records[1]}};
static const int64_t four[] = {1, 4}, first_pool[] = {64}, second_pool[] = {16};
static const TensorInfo inputs[] = {{"x", four, 2, 2, 32, 1}};
static const TensorInfo outputs[] = {{"y", four, 2, 2, 32, 1}};
static const TensorInfo workspaces[] = {{"global_workspace", first_pool, 1, 1, 8, 1},
                                        {"sram", second_pool, 1, 1, 8, 1}};
static const Metadata metadata = {1,          inputs, 1,         outputs, 1,
                                  workspaces, 2,      constants, 2,       "tvmgen_usmp"};

#ifdef TWO
const Metadata other_metadata = {1, 0, 0, outputs, 1, 0, 0, 0, 0, "tvmgen_usmp"};
#endif

int get_c_metadata(Value* args, int* codes, int count, Value* result, int* result_code,
                   void* resource) {
  (void)args, (void)codes, (void)count, (void)resource;
  result->address = (void*)&metadata;
  *result_code = 3;
  return 0;
}

int tvmgen_usmp___tvm_main__(Value* args, int* codes, int count, Value* result, int* result_code,
                             void* resource) {
  (void)result, (void)result_code, (void)resource;
  if (count != 5) return -1;
  for (int i = 0; i < count; ++i) {
    if (codes[i] != 7) return -1;
  }
  const Tensor* const pool = args[2].address;
  const Tensor* const workspace = args[3].address;
  const Tensor* const counter = args[4].address;
  if (pool->shape[0] != 136 || workspace->shape[0] != 64 || counter->shape[0] != 16) return -1;
  const float* const x = ((const Tensor*)args[0].address)->data;
  float* const y = ((const Tensor*)args[1].address)->data;
  const char* const c = pool->data;
  // 0x5eed5eed marks a counter that earlier runs have set.
  uint32_t* const runs = counter->data;
  runs[1] = runs[0] == 0x5eed5eedu ? runs[1] + 1 : 0;
  runs[0] = 0x5eed5eedu;
  float* const sums = workspace->data;
  for (int i = 0; i < 4; ++i) sums[i] = x[i] + ((const float*)(c + 128 * (i / 2)))[i % 2];
  for (int i = 0; i < 4; ++i) y[i] = sums[i] + (float)runs[1];
  return 0;
}
