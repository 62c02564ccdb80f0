// SPDX-License-Identifier: Apache-2.0
//
// The part of ONNX Runtime's C API that is used here, version 1 of its table, which never changes:
// the wheel of PyPI has the library, and no header.
//
// source   microsoft/onnxruntime include/onnxruntime/core/session/onnxruntime_c_api.h
#pragma once

#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtValue;
struct OrtMemoryInfo;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtAllocator;

namespace ort {

// Members are named for functions of OrtApi. A result is NULL, or a status that the caller releases.
struct Api {
  void* to_1[1];
  int (*GetErrorCode)(const OrtStatus*);
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(int log_level, const char* log_id, OrtEnv** out);
  void* to_8[4];
  OrtStatus* (*CreateSessionFromArray)(const OrtEnv*, const void* model, std::size_t size,
                                       const OrtSessionOptions*, OrtSession** out);
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names,
                    const OrtValue* const* inputs, std::size_t input_count,
                    const char* const* output_names, std::size_t output_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions** out);
  void* to_24[13];
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions*, int count);
  void* to_30[5];
  OrtStatus* (*SessionGetInputCount)(const OrtSession*, std::size_t* out);
  OrtStatus* (*SessionGetOutputCount)(const OrtSession*, std::size_t* out);
  void* to_33[1];
  OrtStatus* (*SessionGetInputTypeInfo)(const OrtSession*, std::size_t index, OrtTypeInfo** out);
  OrtStatus* (*SessionGetOutputTypeInfo)(const OrtSession*, std::size_t index, OrtTypeInfo** out);
  void* to_36[1];
  OrtStatus* (*SessionGetInputName)(const OrtSession*, std::size_t index, OrtAllocator*,
                                    char** out);
  OrtStatus* (*SessionGetOutputName)(const OrtSession*, std::size_t index, OrtAllocator*,
                                     char** out);
  void* to_49[11];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, std::size_t bytes,
                                               const std::int64_t* shape, std::size_t ndim,
                                               int element_type, OrtValue** out);
  void* to_51[1];
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void** out);
  void* to_55[3];
  // NULL: no tensor
  OrtStatus* (*CastTypeInfoToTensorInfo)(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo** out);
  void* to_60[4];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo*, int* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, std::size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, std::int64_t* out,
                              std::size_t count);
  // Empty: a fixed extent, or one without a name.
  OrtStatus* (*GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo*, const char** out,
                                      std::size_t count);
  void* to_65[1];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo** out);
  void* to_69[3];
  OrtStatus* (*CreateCpuMemoryInfo)(int allocator, int memory, OrtMemoryInfo** out);
  void* to_76[6];
  OrtStatus* (*AllocatorFree)(OrtAllocator*, void*);
  void* to_78[1];
  OrtStatus* (*GetAllocatorWithDefaultOptions)(OrtAllocator** out);
  void* to_92[13];
  void (*ReleaseEnv)(OrtEnv*);
  void (*ReleaseStatus)(OrtStatus*);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo*);
  void (*ReleaseSession)(OrtSession*);
  void (*ReleaseValue)(OrtValue*);
  void (*ReleaseRunOptions)(OrtRunOptions*);
  void (*ReleaseTypeInfo)(OrtTypeInfo*);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void (*ReleaseSessionOptions)(OrtSessionOptions*);
};
static_assert(offsetof(Api, SessionGetInputName) == 36 * sizeof(void*));
static_assert(offsetof(Api, GetSymbolicDimensions) == 63 * sizeof(void*));
static_assert(offsetof(Api, ReleaseSessionOptions) == 100 * sizeof(void*));

// The result of OrtGetApiBase, the library's only function here.
struct ApiBase {
  const Api* (*GetApi)(std::uint32_t version);
  const char* (*GetVersionString)();
};

enum { log_level_error = 3, arena_allocator = 1, default_memory = 0, not_implemented = 9 };

}  // namespace ort
