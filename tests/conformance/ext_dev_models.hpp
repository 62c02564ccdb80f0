// SPDX-License-Identifier: Apache-2.0
//
// Recipes of graphs on device number 12, ext_dev, and the CPU.
#pragma once

#include "tests/support/files.hpp"

#include <gantry/concat.hpp>

#include <filesystem>
#include <string_view>

namespace gantry::test {

// Device numbers of the artifact: 12 is the accelerator, 1 the CPU. The accelerator computes the
// sum, a host function processes it on the CPU, and the accelerator computes the result.
inline constexpr char spread_graph[] = R"({
  "nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "null", "name": "w", "inputs": []},
    {"op": "tvm_op", "name": "sum", "inputs": [[0, 0, 0], [1, 0, 0]],
     "attrs": {"func_name": "axpy2", "num_inputs": "2", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "down", "inputs": [[2, 0, 0]],
     "attrs": {"func_name": "__copy", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "half", "inputs": [[3, 0, 0]],
     "attrs": {"func_name": "halve", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "up", "inputs": [[4, 0, 0]],
     "attrs": {"func_name": "__copy", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "y", "inputs": [[5, 0, 0]],
     "attrs": {"func_name": "relu", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
  "arg_nodes": [0, 1],
  "heads": [[6, 0, 0]],
  "node_row_ptr": [0, 1, 2, 3, 4, 5, 6, 7],
  "attrs": {
    "dltype": ["list_str", ["float32", "float32", "float32", "float32", "float32", "float32", "float32"]],
    "shape": ["list_shape", [[100], [100], [100], [100], [100], [100], [100]]],
    "storage_id": ["list_int", [0, 1, 2, 3, 4, 2, 5]],
    "device_index": ["list_int", [12, 12, 12, 1, 1, 12, 12]]}})";

// y = x / 2 on the CPU: no module determines the device of number 12.
inline constexpr char copied_graph[] = R"({
  "nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "tvm_op", "name": "down", "inputs": [[0, 0, 0]],
     "attrs": {"func_name": "__copy", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}},
    {"op": "tvm_op", "name": "y", "inputs": [[1, 0, 0]],
     "attrs": {"func_name": "halve", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0"}}],
  "arg_nodes": [0],
  "heads": [[2, 0, 0]],
  "node_row_ptr": [0, 1, 2, 3],
  "attrs": {
    "dltype": ["list_str", ["float32", "float32", "float32"]],
    "shape": ["list_shape", [[100], [100], [100]]],
    "storage_id": ["list_int", [0, 1, 2]],
    "device_index": ["list_int", [12, 1, 1]]}})";

inline constexpr char halve_source[] = R"(
typedef struct { float* data; int device_type, device_id, ndim; unsigned dtype; long *shape, *strides; unsigned long at; } T;
int halve(void** args, int* codes, int count) {
  const T *x = args[0], *y = args[1];
  (void)codes;
  if (count != 2 || x->device_type != 1 || y->device_type != 1) return -1;
  for (long i = 0; i < x->shape[0]; ++i) y->data[i] = x->data[i] / 2;
  return 0;
}
)";

// The end of a recipe: the module of sdk/example/model, with all kernels of its source.
inline constexpr std::string_view abacus_modules = R"(device_modules:
  - type_key: example.abacus
    format: beads
    data: kernels.beads
    kernels:
      axpy2_kernel: {arguments: [handle, handle, handle, int32], launch: [blockIdx.x, threadIdx.x]}
      relu_kernel: {arguments: [handle, handle, int32], launch: [blockIdx.x, threadIdx.x]}
      lose_kernel: {arguments: [int32], launch: [blockIdx.x, threadIdx.x]}
)";

// Write the sources of a model into a directory. Each returns its recipe.
//
// y = max((x + 2 w) / 2, 0), with the modules of sdk/example/model.
inline std::filesystem::path write_spread_model(const std::filesystem::path& directory) {
  std::filesystem::copy(GANTRY_EXAMPLE_MODEL, directory, std::filesystem::copy_options::recursive);
  write_file(directory / "graph.json", std::string_view(spread_graph));
  write_file(directory / "halve.c", std::string_view(halve_source));
  write_file(directory / "spread.yaml", concat(R"(schema: "1.0"
sources: [host.c, halve.c]
graph: {file: graph.json}
)",
                                               abacus_modules));
  return directory / "spread.yaml";
}
// y = x / 2, without a module of a device.
inline std::filesystem::path write_copied_model(const std::filesystem::path& directory) {
  write_file(directory / "copied.json", std::string_view(copied_graph));
  write_file(directory / "halve.c", std::string_view(halve_source));
  write_file(directory / "copied.yaml", std::string_view(R"(schema: "1.0"
sources: [halve.c]
graph: {file: copied.json}
)"));
  return directory / "copied.yaml";
}

}  // namespace gantry::test
