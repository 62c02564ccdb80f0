// SPDX-License-Identifier: Apache-2.0
//
// Runs Model Library Format archives that carry device modules, on this machine's drivers.
#include "core/base/digest/digest.hpp"
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "tests/golden/cli_command.hpp"
#include "tests/support/npz_file.hpp"
#include "tests/unit/mlf/model_archive.hpp"

#include <gmock/gmock.h>

#include <array>

namespace gantry::test {
namespace {

// Calls the kernel of axpy2_opencl.so as its CPU code does.
constexpr std::string_view host_source = R"(#include "tvm/runtime/c_runtime_api.h"
#include "tvm/runtime/c_backend_api.h"
void* __tvm_module_ctx = NULL;
static void* kernel = NULL;
TVM_DLL int32_t axpy2(void* args, int* codes, int n, void* out, int* out_code, void* resource) {
  DLTensor* tensors[3];
  TVMValue values[9], result;
  int tags[9] = {3, 3, 3, 0, 0, 0, 0, 0, 0}, tag;
  for (int i = 0; i < 3; ++i) tensors[i] = (DLTensor*)((TVMValue*)args)[i].v_handle;
  if (kernel == NULL && TVMBackendGetFuncFromEnv(__tvm_module_ctx, "axpy2_kernel0", &kernel) != 0)
    return -1;
  values[0].v_handle = tensors[2]->data;
  values[1].v_handle = tensors[0]->data;
  values[2].v_handle = tensors[1]->data;
  values[3].v_int64 = tensors[2]->shape[0];
  for (int i = 4; i < 7; ++i) values[i].v_int64 = 1;
  values[7].v_int64 = (tensors[2]->shape[0] + 63) / 64;
  values[8].v_int64 = 64;
  return TVMFuncCall(kernel, values, tags, 9, &result, &tag);
}
)";

// c = a + 2 b on OpenCL
constexpr std::string_view graph = R"({"nodes": [
{"op": "null", "name": "a", "inputs": []}, {"op": "null", "name": "b", "inputs": []},
{"op": "tvm_op", "name": "c", "attrs": {"func_name": "axpy2", "num_inputs": "2",
 "num_outputs": "1", "flatten_data": "0"}, "inputs": [[0, 0, 0], [1, 0, 0]]}],
"arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3],
"attrs": {"dltype": ["list_str", ["float32", "float32", "float32"]],
"device_index": ["list_int", [4, 4, 4]], "storage_id": ["list_int", [0, 1, 2]],
"shape": ["list_shape", [[4], [4], [4]]]}})";

constexpr std::string_view metadata = R"({"version": 7, "modules": {"axpy": {
"model_name": "axpy", "export_datetime": "2022-06-17 00:00:00Z", "target": ["c", "opencl"],
"executors": ["graph"], "style": "full-model", "memory": {"sids": [],
"functions": {"main": [], "operator_functions": []}},
"x_blobs": [{"path": "codegen/opencl/axpy_0.bin", "type_key": "opencl", "sha256": "DIGEST"}]}}})";

TEST(ArchiveWithKernels, RunsOnTheirDevice) {
  const TempDir temp;
  const auto file = MappedFile::open(golden("tvm-0.12/axpy2_opencl.so")).value();
  const ElfFile elf = ElfFile::parse(file).value();
  const Container container = read_container(elf, PayloadLayouts::built_in()).value();
  const auto payload = container.entries.at(1).payload;
  ArchiveText archive{{"metadata.json", std::string(metadata)},
                      {"codegen/host/src/axpy_lib0.c", std::string(host_source)},
                      {"executor-config/graph/axpy.graph", std::string(graph)},
                      {"codegen/opencl/axpy_0.bin", std::string(as_text(payload))}};
  replace_metadata(archive, "DIGEST", hex_text(sha256(payload)));
  write_file(temp / "axpy.tar", tar_of(archive));
  const std::array<float, 4> a = {0, 1, 2, 3}, b = {10, 20, 30, 40};
  const std::vector<std::int64_t> shape = {4};
  const NpzItem items[] = {
      {"a", {2, 32, 1}, shape, {reinterpret_cast<const std::uint8_t*>(a.data()), sizeof a}},
      {"b", {2, 32, 1}, shape, {reinterpret_cast<const std::uint8_t*>(b.data()), sizeof b}}};
  ASSERT_TRUE(write_npz(temp / "in.npz", items).ok());
  write_file(temp / "runtime.yaml",
             concat("cache: ", (temp / "cache").native(), "\nplugins: {dirs: [",
                    built_plugins("graph"), ", ", built_plugins("opencl"), "]}\n"));
  // Drivers keep their compilers until the process exits.
  const std::vector<std::string> environment = {
      "POCL_CACHE_DIR=" + (build_tree() / "pocl_cache").string(), "LSAN_OPTIONS=detect_leaks=0"};
  const std::string config = temp / "runtime.yaml";
  const Outcome devices = run_gantry({"--config", config, "devices"}, environment);
  if (devices.out.find("opencl:0") == std::string::npos)
    GTEST_SKIP() << "no opencl:0: " << devices.out << devices.err;

  const Outcome run = run_gantry({"--config", config, "run", temp / "axpy.tar", "--device",
                                  "opencl:0", "--input", temp / "in.npz"},
                                 environment);

  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, ::testing::HasSubstr("float32[4]  20 41 62 83\n"));
}

}  // namespace
}  // namespace gantry::test
