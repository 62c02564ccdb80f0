// SPDX-License-Identifier: Apache-2.0
//
// Scratch memory of compiled code on a device: device type 12 in the code, memory as handles,
// concurrent streams.
#include "core/writing/pack.hpp"
#include "tests/conformance/ext_dev_models.hpp"
#include "tests/support/files.hpp"
#include "under_test.hpp"

namespace gantry::conformance {
namespace {

// c = max(a + 2 b, 0), computed through a vector in scratch memory.
constexpr char scratch_source[] = R"(
#include "host.c"
void* (*__TVMBackendAllocWorkspace)(int, int, uint64_t, int, int);
int (*__TVMBackendFreeWorkspace)(int, int, void*);

int32_t axpy2_relu(TVMValue* args, int* codes, int32_t count) {
  DLTensor* v[3];
  if (count != 3 || read_vectors(args, codes, 3, v) != 0) return -1;
  DLTensor scratch = *v[2];
  const int index = v[0]->device_id;
  scratch.data = __TVMBackendAllocWorkspace(EXT_DEV, index, (uint64_t)v[0]->shape[0] * 4, 2, 32);
  if (!scratch.data) return -1;
  DLTensor* first[3] = {v[0], v[1], &scratch};
  DLTensor* second[2] = {&scratch, v[2]};
  if (launch("axpy2_kernel", first, 3) != 0 || launch("relu_kernel", second, 2) != 0) return -1;
  return __TVMBackendFreeWorkspace(EXT_DEV, index, scratch.data);
}
)";

class DeviceWorkspace : public ::testing::Test {
 protected:
  DeviceWorkspace() : runtime(make_runtime().value()) {
    std::filesystem::copy(GANTRY_EXAMPLE_MODEL, directory.path(),
                          std::filesystem::copy_options::recursive);
    test::write_file(directory / "scratch.c", std::string_view(scratch_source));
    test::write_file(directory / "scratch.yaml", concat(R"(schema: "1.0"
sources: [scratch.c]
graph:
  inputs: {a: "float32[1000]", b: "float32[1000]"}
  operators:
    - function: axpy2_relu
      inputs: [a, b]
      outputs: {c: "float32[1000]"}
  outputs: [c]
)",
                                                        test::abacus_modules));
    const auto recipe = read_recipe(directory / "scratch.yaml");
    EXPECT_TRUE(recipe.ok()) << recipe.error().message;
    const Status packed = pack(*recipe, directory / "scratch.so");
    EXPECT_TRUE(packed.ok()) << packed.error().message;
    function = runtime.load((directory / "scratch.so").string())->function("axpy2_relu").value();
  }
  Tensor vector(float value, std::int64_t size = 1000) {
    const std::int64_t shape[] = {size};
    Tensor host = runtime.tensor(shape, {2, 32, 1}).value();
    for (float& element : host.elements<float>()) element = value;
    Tensor there = runtime.tensor(shape, {2, 32, 1}, "abacus:1").value();
    EXPECT_TRUE(runtime.copy(host, there).ok());
    return there;
  }
  std::vector<float> elements(const Tensor& tensor) {
    Tensor host = runtime.tensor(tensor.shape(), tensor.dtype()).value();
    EXPECT_TRUE(runtime.copy(tensor, host).ok());
    return {host.elements<float>().begin(), host.elements<float>().end()};
  }

  test::TempDir directory;
  Runtime runtime;
  Function function;
};

TEST_F(DeviceWorkspace, IsOnTheDeviceOfTheCall) {
  const Tensor a = vector(1), b = vector(2), c = vector(-1);

  for (int k = 0; k < 3; ++k) {
    const auto called = function(a, b, c);
    ASSERT_TRUE(called.ok()) << called.error().message;
    EXPECT_EQ(elements(c), std::vector<float>(1000, 5));
  }
}

// A recording writes to its own scratch memory in every run, also if other calls allocate some.
TEST_F(DeviceWorkspace, OfARecordingIsNotShared) {
  const Module model = runtime.load((directory / "scratch.so").string()).value();
  auto executor = Executor::create(runtime, model, {"abacus:1"}, "cuda_graph_create");
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const Tensor a = vector(1), b = vector(2), c = vector(0);

  for (int k = 0; k < 6; ++k) {
    ASSERT_TRUE(executor->set_input("a", a).ok());
    ASSERT_TRUE(executor->set_input("b", b).ok());
    ASSERT_TRUE(executor->run().ok());
    ASSERT_TRUE(function(b, b, c).ok());
    EXPECT_EQ(elements(executor->output(0).value()), std::vector<float>(1000, 5)) << k;
    EXPECT_EQ(elements(c), std::vector<float>(1000, 6)) << k;
  }
}

// One thread enqueues work into two streams. If they shared a block of scratch memory, one sum
// would contain values of the other. The vectors are long, so that the streams overlap.
TEST_F(DeviceWorkspace, IsNotSharedByStreamsThatRunAtOnce) {
  const gantry_device device = runtime.device_table(runtime.device("abacus").value()).value();
  const TestStream first(device, 1), second(device, 1);
  constexpr std::int64_t size = 200000;
  const Tensor one = vector(1, size), ten = vector(10, size);
  const Tensor small = vector(0, size), large = vector(0, size);
  const auto call_in = [&](const TestStream& stream, const Tensor& x, const Tensor& out) {
    const gantry_env env{{device.id.type, 1}, stream.get(), nullptr, nullptr};
    gantry_value args[3] = {};
    const Tensor* const tensors[] = {&x, &x, &out};
    for (std::size_t i = 0; i < 3; ++i) {
      args[i].kind = GANTRY_TENSOR;
      args[i].object = tensors[i]->get();
    }
    const auto called = function.call(args, &env);
    ASSERT_TRUE(called.ok()) << called.error().message;
  };

  for (int k = 0; k < 5; ++k) {
    call_in(first, one, small);
    call_in(second, ten, large);
  }
  for (const TestStream* const stream : {&first, &second}) {
    ASSERT_EQ(device.table->synchronize(device.self, 1, stream->get(), nullptr), GANTRY_OK);
  }

  EXPECT_EQ(elements(small), std::vector<float>(size, 3));
  EXPECT_EQ(elements(large), std::vector<float>(size, 30));
}

}  // namespace
}  // namespace gantry::conformance
