// SPDX-License-Identifier: Apache-2.0
//
// Reads payloads that TVM exported for CUDA, without a driver.
#include "core/formats/container.hpp"
#include "core/formats/elf/elf_file.hpp"
#include "plugins/cuda/payload.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/files.hpp"
#include "tests/support/payload_blob.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gantry::cuda::test {
namespace {

struct Golden {
  // Relative to tests/golden/data.
  std::string file;
  std::string name;
  std::string image;
  // Name, parameters and launch extents.
  std::vector<std::string> kernels;
  friend void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.file; }
};

constexpr char softmax[] = "tvmgen_default_fused_nn_softmax_kernel0 2 2";
constexpr char dense[] = "tvmgen_default_fused_nn_dense_add_kernel0 4 3";
constexpr char dense_relu[] = "tvmgen_default_fused_nn_dense_add_nn_relu_kernel0 4 3";
constexpr char dense_relu_1[] = "tvmgen_default_fused_nn_dense_add_nn_relu_1_kernel0 4 3";

class GoldenPayloads : public ::testing::TestWithParam<Golden> {};
TEST_P(GoldenPayloads, AreRead) {
  const auto mapped = MappedFile::open(gantry::test::golden(GetParam().file));
  const auto file = ElfFile::parse(*mapped);
  const PayloadLayouts layouts = PayloadLayouts::built_in();
  const auto container = read_container(*file, layouts);
  gantry::test::FakeHost host;
  for (const Entry& entry : container->entries) {
    if (entry.type_key != "cuda") continue;
    const gantry_blob blob = gantry::test::payload_blob(
        entry.payload, container->facts.generation == Generation::g5 ? 5 : 3);

    const Result<Payload> payload = gantry::test::read_whole(blob, read_payload);

    ASSERT_TRUE(payload.ok()) << payload.error().message;
    EXPECT_EQ(payload->kept.bytes.size(), entry.payload.size());
    EXPECT_EQ(payload->image.text(), GetParam().image);
    std::vector<std::string> kernels;
    for (const KernelCall& call : payload->calls) {
      kernels.push_back(
          concat(call.name(), ' ', call.parameter_count(), ' ', call.tags().argument_count()));
    }
    EXPECT_THAT(kernels, ::testing::ElementsAreArray(GetParam().kernels));
    return;
  }
  FAIL() << "the file has no cuda module";
}
INSTANTIATE_TEST_SUITE_P(
    Files, GoldenPayloads,
    ::testing::Values(
        Golden{
            "tvm-0.12/axpy2_cuda_ptx75.so", "Axpy2Ptx", "PTX 9.0 for sm_75", {"axpy2_kernel0 7 2"}},
        Golden{"tvm-0.12/axpy2_cuda_cubin90.so",
               "Axpy2Cubin",
               "fatbin with cubin for sm_90",
               {"axpy2_kernel0 7 2"}},
        Golden{"tvm-0.12/digits_mlp_cuda_ptx75.so",
               "DigitsPtx",
               "PTX 9.0 for sm_75",
               {dense_relu, dense_relu_1, dense, softmax}},
        Golden{"tvm-0.12/digits_mlp_cuda_cubin90.so",
               "DigitsCubin",
               "fatbin with cubin for sm_90",
               {dense_relu_1, softmax, dense, dense_relu}},
        Golden{
            "tvm-0.25/axpy2_cuda_ptx75.so", "Axpy2Ffi", "PTX 9.0 for sm_75", {"axpy2_kernel 4 2"}},
        Golden{"relax/cnn_cuda.so",
               "CnnRelax",
               "PTX 9.0 for sm_75",
               {"fused_conv2d1_add1_relu1_kernel 4 4", "fused_conv2d_add_relu_kernel 4 4",
                "fused_matmul_add2_kernel 4 3", "max_pool2d_kernel 2 2", "max_pool2d1_kernel 2 2",
                "reshape_kernel 2 2", "softmax_kernel 2 2"}},
        Golden{"relax/cnn_dyn_cuda.so",
               "CnnDynamicRelax",
               "PTX 9.0 for sm_75",
               {"fused_conv2d1_add1_relu1_kernel 5 4", "fused_conv2d_add_relu_kernel 5 4",
                "fused_matmul_add2_kernel 5 4", "max_pool2d_kernel 4 2", "max_pool2d1_kernel 4 2",
                "reshape_kernel 4 2", "softmax_kernel 3 2"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gantry::cuda::test
