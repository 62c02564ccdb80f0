// SPDX-License-Identifier: Apache-2.0
//
// Runs an assembled Relax executable with kernels for a device: OpenCL C, GLSL, and PTX for the fake
// driver. TVM's packages export no Relax executable for Vulkan.
#include "tests/golden/packed_executable.hpp"
#include "tests/golden/played_script.hpp"

#ifdef GANTRY_FAKE_CUDA
#include "tests/unit/cuda/fake_driver.hpp"
#endif

#include <gantry/dtype_text.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gantry::test {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t extent = 4;

// out = a + 2 * b. The strides are 1.
struct DeviceKernel {
  const char* device;
  const char* format;
  const char* file;
  const char* source;
};
void PrintTo(const DeviceKernel& kernel, std::ostream* out) { *out << kernel.device; }

constexpr DeviceKernel opencl = {
    "opencl", "cl", "axpy2.cl",
    "__kernel void axpy2_kernel0(__global float* out, __global const float* a,\n"
    "                            __global const float* b, int n, int u, int v, int w) {\n"
    "  if (get_global_id(0) < n) out[get_global_id(0)] = a[get_global_id(0)] +\n"
    "      2 * b[get_global_id(0)];\n"
    "}\n"};
constexpr DeviceKernel vulkan = {
    "vulkan", "vulkan", "axpy2.comp",
    "#version 450\n"
    "layout(local_size_x = 4) in;\n"
    "layout(binding = 0) buffer Out { float result[]; };\n"
    "layout(binding = 1) readonly buffer A { float a[]; };\n"
    "layout(binding = 2) readonly buffer B { float b[]; };\n"
    "layout(push_constant) uniform Scalars { int n; int u; int v; int w; };\n"
    "void main() {\n"
    "  const uint i = gl_GlobalInvocationID.x;\n"
    "  if (i < n) result[i] = a[i] + 2 * b[i];\n"
    "}\n"};

// An artifact with the functions
//
//     main(x)      x + 2 * [1, 2, 3, 4]
//     moved(x)     main() of x on this device, then on the CPU
//     recorded(x)  main() as a CUDA graph, with a result in memory that is allocated once
class Executable {
 public:
  explicit Executable(const DeviceKernel& kernel) {
    const auto storage = code_.packed("vm.builtin.alloc_storage");
    const auto tensor = code_.packed("vm.builtin.alloc_tensor");
    const auto axpy2 = code_.packed("axpy2_kernel0");
    const auto weights = code_.floats({extent}, {1, 2, 3, 4});
    const auto allocate = code_.function("allocate", {}, 1);
    code_.call(0, storage,
               {relax_register(relax_vm), code_.shape({4 * extent}), relax_immediate(0),
                code_.dtype(dtypes::uint8), code_.text("global")});
    code_.call(0, tensor,
               {relax_register(0), relax_immediate(0), code_.shape({extent}),
                code_.dtype(dtypes::float32)});
    code_.ret(0);
    const auto work = code_.function("work", {"x", "y"}, 2);
    code_.call(
        relax_void, axpy2,
        {relax_register(1), relax_register(0), weights, relax_immediate(extent), relax_immediate(1),
         relax_immediate(1), relax_immediate(1), relax_immediate(1), relax_immediate(extent)});
    code_.ret(1);
    const auto main = code_.function("main", {"x"}, 2);
    code_.call(1, allocate, {});
    code_.call(1, work, {relax_register(0), relax_register(1)});
    code_.ret(1);
    const auto to_device = code_.packed("vm.builtin.to_device");
    code_.function("moved", {"x", "type"}, 3);
    code_.call(2, to_device, {relax_register(0), relax_register(1), relax_immediate(0)});
    code_.call(2, main, {relax_register(2)});
    code_.call(2, to_device, {relax_register(2), relax_immediate(1), relax_immediate(0)});
    code_.ret(2);
    const auto cached = code_.packed("vm.builtin.cuda_graph.get_cached_alloc");
    const auto tuple = code_.packed("vm.builtin.make_tuple");
    const auto run_or_capture = code_.packed("vm.builtin.cuda_graph.run_or_capture");
    code_.function("recorded", {"x"}, 2);
    code_.call(1, cached, {relax_register(relax_vm), relax_function(allocate), relax_immediate(0)});
    code_.call(1, tuple, {relax_register(0), relax_register(1)});
    code_.call(
        1, run_or_capture,
        {relax_register(relax_vm), relax_function(work), relax_register(1), relax_immediate(0)});
    code_.ret(1);

    write_file(directory_ / kernel.file, kernel.source);
    DeviceModuleSource module;
    module.type_key = kernel.device;
    module.format = kernel.format;
    KernelSource axpy;
    axpy.name = "axpy2_kernel0";
    axpy.arguments = {dtypes::handle, dtypes::handle, dtypes::handle, dtypes::int32,
                      dtypes::int32,  dtypes::int32,  dtypes::int32};
    axpy.launch = {"blockIdx.x", "threadIdx.x"};
    if (module.format == "ptx") {
      module.data = directory_ / kernel.file;
    } else {
      axpy.source = kernel.file;
    }
    module.kernels = {axpy};
    auto packed = pack_executable(directory_.path(), code_, module);
    if (!packed.ok()) ADD_FAILURE() << packed.error().message;
    path = std::move(packed).value().string();
  }

  std::string path;

 private:
  const TempDir directory_;
  RelaxAssembler code_{RelaxRelease::v0_16};
};

// The machine of an executable on a device.
class RelaxKernel : public ::testing::Test {
 protected:
  void start(const DeviceKernel& kernel, const RuntimeOptions& options = built_plugins_only()) {
    runtime = Runtime::create(options);
    ASSERT_TRUE(runtime.ok()) << runtime.error().message;
    const auto found = runtime->device(kernel.device);
    if (!found.ok()) GTEST_SKIP() << found.error().message;
    id = *found;
    device = kernel.device;
    executable.emplace(kernel);
    const auto model = runtime->load(executable->path);
    ASSERT_TRUE(model.ok()) << model.error().message;
    auto made = (*model->function("vm_load_executable"))(id);
    ASSERT_TRUE(made.ok()) << made.error().message;
    vm = made->module().value();
  }
  void fill(const Tensor& tensor, std::array<float, extent> values) {
    const Tensor host = runtime->tensor({extent}, dtypes::float32).value();
    std::ranges::copy(values, host.elements<float>().begin());
    ASSERT_TRUE(runtime->copy(host, tensor).ok());
  }
  Tensor tensor(const std::string& where, std::array<float, extent> values) {
    Tensor made =
        runtime->tensor(std::vector<std::int64_t>{extent}, dtypes::float32, where).value();
    fill(made, values);
    return made;
  }
  template <class... Arguments>
  std::vector<float> run(std::string_view name, const Arguments&... arguments) {
    const auto result = (*vm.function(name))(arguments...);
    if (!result.ok()) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    const Tensor output = result->tensor().value();
    result_device = output.dlpack()->device;
    const Tensor host = runtime->tensor({extent}, dtypes::float32).value();
    EXPECT_TRUE(runtime->copy(output, host).ok());
    return {host.elements<float>().begin(), host.elements<float>().end()};
  }

  std::optional<Executable> executable;
  Result<Runtime> runtime = invalid("not created");
  std::string device;
  gantry_device_id id{};
  Module vm;
  gantry_device_id result_device{};
};

class KernelOnDevice : public RelaxKernel, public ::testing::WithParamInterface<DeviceKernel> {
 protected:
  void SetUp() override { start(GetParam()); }
};

TEST_P(KernelOnDevice, ReadsConstantsAndWritesToStorages) {
  const Tensor x = tensor(device, {10, 20, 30, 40});

  EXPECT_THAT(run("main", x), ElementsAre(12, 24, 36, 48));
  EXPECT_EQ(result_device.type, id.type);
}

TEST_P(KernelOnDevice, ReceivesWhatIsMovedToItsDevice) {
  const Tensor x = tensor("cpu", {10, 20, 30, 40});

  EXPECT_THAT(run("moved", x, id.type), ElementsAre(12, 24, 36, 48));
  EXPECT_EQ(result_device.type, 1);
}

// Neither PoCL nor lavapipe records work.
TEST_P(KernelOnDevice, RunsAsACudaGraphWithoutCaptures) {
  const Tensor x = tensor(device, {0, 0, 0, 0});

  for (const float number : {1.0F, 2.0F, 3.0F}) {
    fill(x, {number, number, number, number});
    EXPECT_THAT(run("recorded", x), ElementsAre(number + 2, number + 4, number + 6, number + 8));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, KernelOnDevice, ::testing::Values(opencl, vulkan),
                         [](const auto& test) { return std::string(test.param.device); });

#ifdef GANTRY_FAKE_CUDA

namespace fake = gantry::cuda::test;

constexpr DeviceKernel cuda = {
    "cuda", "ptx", "axpy2.ptx",
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry axpy2_kernel0(.param .u64 o, .param .u64 a, .param .u64 b, .param .u32 n,\n"
    "  .param .u32 u, .param .u32 v, .param .u32 w)\n.maxntid 4, 1, 1\n{ ret; }\n"};

class CudaGraph : public RelaxKernel {
 protected:
  CudaGraph() { fake::fake_driver().reset(); }
  ~CudaGraph() override {
    vm = Module();
    runtime = invalid("destroyed");
    EXPECT_EQ(fake::fake_driver().live(), "");
  }
  void SetUp() override {
    write_file(temp_ / "runtime.yaml",
               concat("backends: {gantry.cuda: {config: {library: ", GANTRY_FAKE_CUDA, "}}}\n"));
    RuntimeOptions options = built_plugins_only();
    options.config_file = (temp_ / "runtime.yaml").string();
    start(cuda, options);
  }
  // The number of launches, and of those of recordings, since the last call.
  std::pair<std::size_t, std::size_t> launches() {
    fake::FakeDriver& driver = fake::fake_driver();
    const std::pair counts(driver.launches.size(), driver.count_of("cuGraphLaunch"));
    driver.launches.clear();
    driver.calls.clear();
    return counts;
  }

 private:
  const TempDir temp_;
};

TEST_F(CudaGraph, RunsOnceThenIsRecordedThenLaunched) {
  const Tensor x = tensor(device, {1, 1, 1, 1});

  EXPECT_THAT(run("recorded", x), ElementsAre(3, 5, 7, 9));
  EXPECT_EQ(launches(), std::pair(std::size_t{1}, std::size_t{0}));
  fill(x, {2, 2, 2, 2});
  EXPECT_THAT(run("recorded", x), ElementsAre(4, 6, 8, 10));
  EXPECT_EQ(launches(), std::pair(std::size_t{1}, std::size_t{1}));
  for (const float number : {3.0F, 4.0F}) {
    fill(x, {number, number, number, number});
    EXPECT_THAT(run("recorded", x), ElementsAre(number + 2, number + 4, number + 6, number + 8));
    EXPECT_EQ(launches(), std::pair(std::size_t{0}, std::size_t{1}));
  }
}

TEST_F(CudaGraph, IsRecordedAgainForAnotherInput) {
  const Tensor x = tensor(device, {1, 1, 1, 1}), y = tensor(device, {2, 2, 2, 2});
  run("recorded", x);
  run("recorded", x);
  launches();

  EXPECT_THAT(run("recorded", y), ElementsAre(4, 6, 8, 10));
  EXPECT_EQ(launches(), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_THAT(run("recorded", y), ElementsAre(4, 6, 8, 10));
  EXPECT_EQ(launches(), std::pair(std::size_t{0}, std::size_t{1}));
}

#endif

}  // namespace
}  // namespace gantry::test
