// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda_libraries/world.hpp"

#include <bit>

namespace gantry::cuda_libraries::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* cublas = "tvm.contrib.cublas.matmul";
constexpr const char* batches = "tvm.contrib.cublas.batch_matmul";
constexpr const char* cublaslt = "tvm.contrib.cublaslt.matmul";

// [2, 3] x [3, 2]
class CudaProducts : public World {
 protected:
  std::vector<gantry_value> arguments(bool transa = false, bool transb = false) {
    return {a->value(), b->value(), c->value(), bool_value(transa), bool_value(transb)};
  }
  std::vector<float> result() const { return c->values<float>(4); }

  std::unique_ptr<Tensor> a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  std::unique_ptr<Tensor> b = floats({3, 2}, {7, 8, 9, 10, 11, 12});
  std::unique_ptr<Tensor> c = floats({2, 2}, {1, 1, 1, 1});
};

TEST_F(CudaProducts, AreInTheDefaultStreamOfTheDevice) {
  for (const char* name : {cublas, cublaslt}) {
    std::fill_n(c->data<float>(), 4, 1.0f);
    done(name, arguments());

    EXPECT_THAT(result(), Each(1)) << "the call does not wait";
    synchronize();
    EXPECT_THAT(result(), ElementsAre(58, 64, 139, 154)) << name;
  }
}

TEST_F(CudaProducts, AreInTheStreamOfTheCall) {
  env.stream = new_stream();
  for (const char* name : {cublas, cublaslt}) {
    std::fill_n(c->data<float>(), 4, 1.0f);
    done(name, arguments());

    EXPECT_EQ(libraries.products.back().stream, env.stream);
    synchronize();
    EXPECT_THAT(result(), Each(1)) << "it is in another stream";
    synchronize(env.stream);
    EXPECT_THAT(result(), ElementsAre(58, 64, 139, 154)) << name;
  }
  device().stream_destroy(self, 0, env.stream);
}

// The code of a graph has the CPU as its device, and the stream among those of others.
TEST_F(CudaProducts, FindTheStreamOfTheirDevice) {
  const gantry_device_stream item{cuda, new_stream()};
  const gantry_streams streams{&item, 1};
  env = {gantry::test::cpu, nullptr, nullptr, &streams};

  done(cublas, arguments());

  EXPECT_EQ(libraries.products.back().stream, item.stream);
  device().stream_destroy(self, 0, item.stream);
}

TEST_F(CudaProducts, HaveFactors) {
  for (const char* name : {cublas, cublaslt}) {
    std::fill_n(c->data<float>(), 4, 1.0f);
    std::vector<gantry_value> args = arguments();
    args.insert(args.end(), {float_value(0.5), int_value(2)});

    done(name, args);

    synchronize();
    EXPECT_THAT(result(), ElementsAre(31, 34, 71.5, 79)) << name;
  }
}

// Flags, views and both, with each way in which C = op(A) op(B) can be stored.
TEST_F(CudaProducts, TransposeTheirOperands) {
  a->strides = {1, 2};
  a->tensor.strides = a->strides.data();
  for (const char* name : {cublas, cublaslt}) {
    done(name, {b->value(), a->value(), c->value(), bool_value(true), bool_value(true)});
    synchronize();
    // b^T a^T, where a is {{1, 3, 5}, {2, 4, 6}}
    EXPECT_THAT(result(), ElementsAre(89, 116, 98, 128)) << name;

    done(name, {a->value(), b->value(), c->value(), bool_value(false), bool_value(false)});
    synchronize();
    EXPECT_THAT(result(), ElementsAre(89, 98, 116, 128)) << name;
  }
}

TEST_F(CudaProducts, ReadOffsetsAndRowsWithGaps) {
  auto wide = floats({2, 3}, std::vector<float>(12));
  const std::vector<float> rows{0, 1, 2, 3, 0, 4, 5, 6, 0};
  std::copy(rows.begin(), rows.end(), wide->data<float>());
  wide->strides = {4, 1};
  wide->tensor.strides = wide->strides.data();
  wide->tensor.byte_offset = sizeof(float);

  done(cublas, {wide->value(), b->value(), c->value(), bool_value(false), bool_value(false)});

  synchronize();
  EXPECT_THAT(result(), ElementsAre(58, 64, 139, 154));
}

TEST_F(CudaProducts, OfBatchesUseOneMatrixForEach) {
  const auto one = floats({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto many = floats({2, 3, 2}, {7, 8, 9, 10, 11, 12, 1, 0, 0, 1, 0, 0});
  const auto out = floats({2, 2, 2}, std::vector<float>(8));

  done(batches, {one->value(), many->value(), out->value(), bool_value(false), bool_value(false)});

  synchronize();
  EXPECT_THAT(out->values<float>(8), ElementsAre(58, 64, 139, 154, 1, 2, 4, 5));
  EXPECT_EQ(libraries.products.back().b_step, 0);
  EXPECT_EQ(libraries.products.back().a_step, 6);
}

TEST_F(CudaProducts, WithoutInnerElementsAreZero) {
  const auto x = floats({2, 0}, {}), y = floats({0, 2}, {});

  done(cublas, {x->value(), y->value(), c->value(), bool_value(false), bool_value(false)});

  synchronize();
  EXPECT_THAT(result(), Each(0));
}

TEST_F(CudaProducts, WithoutElementsNeedNoLibrary) {
  host.options["cublas"] = "/nowhere/libcublas.so";
  const auto x = floats({0, 3}, {}), out = floats({0, 2}, {});

  done(cublas, {x->value(), b->value(), out->value(), bool_value(false), bool_value(false)});

  EXPECT_THAT(libraries.calls, IsEmpty());
}

struct TypeCase {
  gantry_dtype input, output;
  // of 2 x 3
  int compute;
};
class CudaProductTypes : public CudaProducts, public ::testing::WithParamInterface<TypeCase> {
 protected:
  std::unique_ptr<Tensor> tensor(gantry_dtype type, std::vector<std::int64_t> shape, double value) {
    switch (type.bits) {
      case 64:
        return on_device(shape, std::vector<double>{value}, type);
      case 8:
        return on_device(shape, std::vector<std::int8_t>{static_cast<std::int8_t>(value)}, type);
      case 32:
        if (same_dtype(type, dtypes::int32))
          return on_device(shape, std::vector<std::int32_t>{static_cast<std::int32_t>(value)},
                           type);
        return on_device(shape, std::vector<float>{static_cast<float>(value)}, type);
      default:
        if (same_dtype(type, dtypes::float16))
          return on_device(shape, std::vector<_Float16>{static_cast<_Float16>(value)}, type);
        // the upper half of a float32
        return on_device(shape,
                         std::vector<std::uint16_t>{static_cast<std::uint16_t>(
                             std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)},
                         type);
    }
  }
  static double value_of(const Tensor& tensor) {
    const gantry_dtype type = tensor.tensor.dtype;
    if (same_dtype(type, dtypes::float64)) return *tensor.data<double>();
    if (same_dtype(type, dtypes::int32)) return *tensor.data<std::int32_t>();
    if (same_dtype(type, dtypes::float32)) return static_cast<double>(*tensor.data<float>());
    if (same_dtype(type, dtypes::float16)) return static_cast<double>(*tensor.data<_Float16>());
    return static_cast<double>(
        std::bit_cast<float>(std::uint32_t{*tensor.data<std::uint16_t>()} << 16));
  }
};

TEST_P(CudaProductTypes, AreComputedAs) {
  const auto [input, output, compute] = GetParam();
  const auto x = tensor(input, {1, 1}, 3), y = tensor(input, {1, 1}, -5);
  for (const char* name : {cublas, cublaslt}) {
    const auto z = tensor(output, {1, 1}, 1);

    done(name, {x->value(), y->value(), z->value(), bool_value(false), bool_value(false),
                int_value(2), int_value(1)});

    synchronize();
    EXPECT_EQ(value_of(*z), -29) << name;
    EXPECT_EQ(libraries.products.back().compute, compute);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaProductTypes,
                         ::testing::Values(TypeCase{dtypes::float32, dtypes::float32, 68},
                                           TypeCase{dtypes::float64, dtypes::float64, 70},
                                           TypeCase{dtypes::float16, dtypes::float16, 68},
                                           TypeCase{dtypes::float16, dtypes::float32, 68},
                                           TypeCase{dtypes::bfloat16, dtypes::bfloat16, 68},
                                           TypeCase{dtypes::bfloat16, dtypes::float32, 68},
                                           TypeCase{dtypes::int8, dtypes::int32, 72},
                                           TypeCase{dtypes::int8, dtypes::float32, 68}),
                         [](const auto& test) {
                           return dtype_text(test.param.input) + "_" +
                                  dtype_text(test.param.output);
                         });

// ---- workspaces, captures, handles

TEST_F(CudaProducts, HaveAWorkspaceOfThePoolInTheOrderOfTheStream) {
  done(cublas, arguments());

  EXPECT_EQ(libraries.products.back().workspace_bytes, std::size_t{32} << 20);
  EXPECT_NE(libraries.products.back().workspace, nullptr);
  EXPECT_EQ(driver.count_of("cuMemAllocFromPoolAsync"), 1u);
  EXPECT_EQ(driver.count_of("cuMemFreeAsync"), 1u);
  EXPECT_EQ(driver.count_of("cuStreamSynchronize"), 0u);

  done(cublaslt, arguments());

  EXPECT_EQ(libraries.products.back().workspace_bytes, 4096u) << "what the heuristic chose";
  EXPECT_EQ(driver.count_of("cuMemFreeAsync"), 2u);
  synchronize();
}

TEST_F(CudaProducts, HaveAWorkspaceOfTheConfiguredSize) {
  for (const std::int64_t mib : {0, 5}) {
    host.options["workspace_mib"] = mib;
    open();

    done(cublas, arguments());

    EXPECT_EQ(libraries.products.back().workspace_bytes, static_cast<std::size_t>(mib) << 20);
  }
  host.options["workspace_mib"] = std::int64_t{4097};
  const auto refused = Plugin::create(Host(host.table()));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().reason, "CONFIG");
  EXPECT_EQ(refused.error().message.text(),
            "option workspace_mib is not an integer from 0 to 4096");
}

// A graph runs its work later, when memory of the call is freed.
TEST_F(CudaProducts, OfCapturedStreamsHaveNoWorkspace) {
  env.stream = new_stream();
  for (const char* name : {cublas, cublaslt}) {
    void* graph = nullptr;
    ASSERT_EQ(device().capture_begin(self, 0, env.stream, nullptr), GANTRY_OK);
    done(name, arguments());
    ASSERT_EQ(device().capture_end(self, 0, env.stream, &graph, nullptr), GANTRY_OK);
    EXPECT_EQ(libraries.products.back().workspace_bytes, 0u);

    for (const float first : {1.0f, 2.0f}) {
      a->data<float>()[0] = first;
      ASSERT_EQ(device().capture_launch(self, 0, graph, env.stream, nullptr), GANTRY_OK);
      synchronize(env.stream);
      EXPECT_EQ(result()[0], 51 + 7 * first) << name;
    }
    device().capture_destroy(self, 0, graph);
  }
  device().stream_destroy(self, 0, env.stream);
}

TEST_F(CudaProducts, KeepOneHandleForEachDevice) {
  for (int i = 0; i < 3; ++i) done(cublas, arguments());
  EXPECT_EQ(libraries.count_of("cublasCreate_v2"), 1u);

  const auto x = on_device<float>({1, 1}, {2}, dtypes::float32, 1);
  done(cublas, {x->value(), x->value(), x->value(), bool_value(false), bool_value(false)});

  EXPECT_EQ(libraries.count_of("cublasCreate_v2"), 2u);
  synchronize();
  synchronize(nullptr, 1);
  EXPECT_EQ(*x->data<float>(), 4);
}

TEST_F(CudaProducts, UseAHandleInOneCallAtATime) {
  Services& services = plugin->services;
  const Driver* const opened = *services.driver();
  const Cublas* const library = *services.cublas();
  const auto session = Session::begin(*opened, services.host, env, cuda);
  ASSERT_TRUE(session.ok()) << session.error().message;
  {
    const auto first = services.cublas_handles.take(*library, *opened, *session);
    const auto second = services.cublas_handles.take(*library, *opened, *session);
    EXPECT_NE((*first)->handle, (*second)->handle);
  }
  const auto third = services.cublas_handles.take(*library, *opened, *session);
  EXPECT_EQ(libraries.count_of("cublasCreate_v2"), 2u);
}

// A context that the device's plugin has released would be gone.
TEST_F(CudaProducts, ReleaseTheirHandlesAfterTheDevicesPlugin) {
  done(cublas, arguments());
  synchronize();
  for (const auto& [data, index] : memory) device().free(self, index, data);
  memory.clear();
  cuda_plugin().destroy(self);

  plugin.reset();

  EXPECT_EQ(libraries.live, 0);
  EXPECT_EQ(driver.live(), "");
  ASSERT_EQ(cuda_plugin().create(host.table(), &self, nullptr), GANTRY_OK);
}

TEST_F(CudaProducts, RecordTheLibraryInTheTrace) {
  host.tracing = true;
  open();

  done(cublas, arguments());
  done(cublaslt, arguments());

  EXPECT_THAT(host.spans, ElementsAre("library:matmul with " GANTRY_FAKE_CUDA_LIBRARIES,
                                      "library:matmul with " GANTRY_FAKE_CUDA_LIBRARIES));
  synchronize();
}

// ---- failures

struct FailureCase {
  const char* name;
  const char* function;
  int status;
  Code code;
  const char* text;
};
class CudaProductFailures : public CudaProducts,
                            public ::testing::WithParamInterface<FailureCase> {};

TEST_P(CudaProductFailures, HaveTheNameOfTheLibrary) {
  const FailureCase& failure = GetParam();
  libraries.failing[failure.function] = failure.status;

  const Error error = error_of(failure.name, arguments());

  EXPECT_EQ(error.code, failure.code);
  EXPECT_EQ(error.reason, "DRIVER_CALL");
  EXPECT_EQ(error.native_domain, "cuBLAS");
  EXPECT_EQ(error.native_code, failure.status);
  EXPECT_THAT(std::string(error.message.text()),
              ::testing::StartsWith(concat(failure.function, ": ", failure.text)));
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaProductFailures,
    ::testing::Values(
        FailureCase{cublas, "cublasCreate_v2", 1, Code::unavailable,
                    "CUBLAS_STATUS_NOT_INITIALIZED (1)"},
        FailureCase{cublas, "cublasSetStream_v2", 7, Code::invalid,
                    "CUBLAS_STATUS_INVALID_VALUE (7)"},
        FailureCase{cublas, "cublasSetWorkspace_v2", 3, Code::exhausted,
                    "CUBLAS_STATUS_ALLOC_FAILED (3)"},
        FailureCase{cublas, "cublasGemmEx", 15, Code::unsupported,
                    "CUBLAS_STATUS_NOT_SUPPORTED (15)\n  in a product of float32[2, 3] and "
                    "float32[3, 2] with "},
        FailureCase{cublas, "cublasGemmEx", 8, Code::unsupported,
                    "CUBLAS_STATUS_ARCH_MISMATCH (8)"},
        FailureCase{cublas, "cublasGemmEx", 99, Code::unavailable, "unknown status (99)"},
        FailureCase{cublaslt, "cublasLtCreate", 1, Code::unavailable,
                    "CUBLAS_STATUS_NOT_INITIALIZED (1)"},
        FailureCase{cublaslt, "cublasLtMatmulDescCreate", 3, Code::exhausted,
                    "CUBLAS_STATUS_ALLOC_FAILED (3)"},
        FailureCase{cublaslt, "cublasLtMatmulDescSetAttribute", 7, Code::invalid,
                    "CUBLAS_STATUS_INVALID_VALUE (7)"},
        FailureCase{cublaslt, "cublasLtMatrixLayoutCreate", 7, Code::invalid,
                    "CUBLAS_STATUS_INVALID_VALUE (7)"},
        FailureCase{cublaslt, "cublasLtMatmulPreferenceCreate", 3, Code::exhausted,
                    "CUBLAS_STATUS_ALLOC_FAILED (3)"},
        FailureCase{cublaslt, "cublasLtMatmulPreferenceSetAttribute", 7, Code::invalid,
                    "CUBLAS_STATUS_INVALID_VALUE (7)"},
        FailureCase{cublaslt, "cublasLtMatmulAlgoGetHeuristic", 15, Code::unsupported,
                    "CUBLAS_STATUS_NOT_SUPPORTED (15)\n  in a product of float32[2, 3] and "
                    "float32[3, 2]"},
        FailureCase{cublaslt, "cublasLtMatmul", 13, Code::unavailable,
                    "CUBLAS_STATUS_EXECUTION_FAILED (13)"}));

TEST_F(CudaProducts, NeedAnAlgorithmOfCublasLt) {
  libraries.choices = 0;

  const Error error = error_of(cublaslt, arguments());

  EXPECT_EQ(error.code, Code::unsupported);
  EXPECT_THAT(std::string(error.message.text()),
              HasSubstr("cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED (15)"));
}

TEST_F(CudaProducts, ReportAMissingLibraryAndTryAgain) {
  host.options["cublas"] = "/nowhere/libcublas.so";

  const Error error = error_of(cublas, arguments());

  EXPECT_EQ(error.code, Code::unavailable);
  EXPECT_EQ(error.reason, "DRIVER_MISSING");
  EXPECT_THAT(std::string(error.message.text()), HasSubstr("cuBLAS is missing, tried 1 name\n"));
  EXPECT_THAT(std::string(error.message.text()), HasSubstr("/nowhere/libcublas.so: "));
  EXPECT_THAT(std::string(error.message.text()),
              HasSubstr("the plugin's option cublas names this file"));
  host.options["cublas"] = GANTRY_FAKE_CUDA_LIBRARIES;
  done(cublas, arguments());
  synchronize();
}

TEST_F(CudaProducts, ReportALibraryWithoutTheFunctions) {
  host.options["cublas"] = GANTRY_FAKE_CUDA;

  const Error error = error_of(cublas, arguments());

  EXPECT_EQ(error.reason, "DRIVER_SYMBOL");
  EXPECT_THAT(std::string(error.message.text()),
              HasSubstr("lacks 6 of 6 functions: cublasCreate_v2, cublasDestroy_v2"));
}

TEST_F(CudaProducts, ReportFailuresOfTheDriver) {
  driver.fail_function = "cuStreamIsCapturing";
  driver.fail_result = CUDA_ERROR_ILLEGAL_ADDRESS;

  const Error error = error_of(cublas, arguments());

  EXPECT_EQ(error.code, Code::lost);
  EXPECT_EQ(error.native_domain, "CUDA");
  EXPECT_EQ(error.message.text(), "cuStreamIsCapturing: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
}

TEST_F(CudaProducts, NeedTheDevicesPlugin) {
  host.devices.clear();

  EXPECT_FALSE(call(cublas, arguments()).ok());

  host.devices[2] = {self, cuda_plugin().devices[0], cuda};
}

TEST_F(CudaProducts, RefuseOperandsThatDoNotFit) {
  const auto message = [&](const char* name, std::vector<gantry_value> args) {
    return std::string(error_of(name, std::move(args)).message.text());
  };
  const auto with = [&](Tensor& x, Tensor& y, Tensor& z, double alpha = 1) {
    return std::vector<gantry_value>{x.value(),         y.value(),         z.value(),
                                     bool_value(false), bool_value(false), float_value(alpha)};
  };
  float on_host[6] = {};
  Tensor cpu;
  cpu.shape = {2, 3};
  cpu.tensor = compact_tensor(dtypes::float32, cpu.shape, gantry::test::cpu, on_host);
  const auto other = on_device<float>({3, 2}, std::vector<float>(6), dtypes::float32, 1);
  const auto bytes = on_device<std::int8_t>({2, 3}, std::vector<std::int8_t>(6), dtypes::int8);
  const auto turned = on_device<std::int8_t>({3, 2}, std::vector<std::int8_t>(6), dtypes::int8);
  const auto sums = on_device<std::int32_t>({2, 2}, std::vector<std::int32_t>(4), dtypes::int32);
  const auto words = on_device<std::int16_t>({2, 3}, std::vector<std::int16_t>(6), dtypes::int16);
  const auto wider = on_device<std::int16_t>({3, 2}, std::vector<std::int16_t>(6), dtypes::int16);

  EXPECT_THAT(
      message(cublas, with(cpu, *b, *c)),
      HasSubstr("argument 0 (A) is a tensor, expected a tensor of rank 2 on a device cuda"));
  EXPECT_THAT(message(batches, with(*a, *b, *c)), HasSubstr("expected a tensor of rank 3"));
  EXPECT_THAT(message(cublas, with(*a, *other, *c)),
              HasSubstr("tensors are on cuda:0 and cuda:1, expected one device"));
  EXPECT_THAT(message(cublas, with(*a, *turned, *c)),
              HasSubstr("argument 1 (B) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message(cublas, with(*words, *wider, *c)),
              HasSubstr("expected a tensor of float16, bfloat16, float32, float64 or int8"));
  EXPECT_THAT(message(cublas, with(*a, *b, *sums)),
              HasSubstr("argument 2 (C) is a tensor, expected a tensor of float32 for products of "
                        "float32"));
  EXPECT_THAT(message(cublaslt, with(*bytes, *turned, *sums, 0.5)),
              HasSubstr("factor is 0.5, expected an integer of 32 bits for int32"));
  a->strides = {1, 1};
  a->tensor.strides = a->strides.data();
  EXPECT_THAT(message(cublas, with(*a, *b, *c)),
              HasSubstr("has rows that overlap, or extents of more than 2147483647"));
  EXPECT_THAT(libraries.calls, IsEmpty());
}

}  // namespace
}  // namespace gantry::cuda_libraries::test
