// SPDX-License-Identifier: Apache-2.0
//
// Modules, which the first call of a kernel loads on a device, and the errors of loading.
#include "tests/support/memory_sink.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/unit/cuda/world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <thread>

namespace gantry::cuda::test {
namespace {

using ::testing::ElementsAre;

class Modules : public WithFakeDriver {
 protected:
  gantry_module load(const Bytes& payload) {
    Result<gantry_module> made = world->load(payload);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return made.ok() ? *made : gantry_module{};
  }
  static void destroy(const gantry_module& module) { module.table->destroy(module.self); }
  // One kernel without parameters.
  static Bytes empty_payload(const Bytes& code) {
    return payload_of({{"empty_kernel", "", {}}}, code);
  }
  Status call_empty(const Bytes& code, std::int32_t index = 0) {
    const gantry_module module = load(empty_payload(code));
    Status called = world->call(world->function(module, "empty_kernel").value(), {}, index);
    destroy(module);
    return called;
  }
  static Bytes ptx(std::string_view version = "8.4", std::string_view target = "sm_75") {
    return text_bytes(ptx_with({"empty_kernel"}, version, target));
  }
};

TEST_F(Modules, FindOnlyTheirKernels) {
  const gantry_module module =
      load(payload_of({{"b_kernel"}, {"a_kernel"}}, text_bytes(ptx_text())));
  std::vector<std::string> names;
  const gantry_visitor visitor{
      sizeof visitor, 0, &names,
      [](void* self, const gantry_function_info* info, gantry_status*) -> gantry_code {
        static_cast<std::vector<std::string>*>(self)->emplace_back(view_of(info->name));
        return GANTRY_OK;
      }};

  ASSERT_EQ(module.table->list_functions(module.self, &visitor, nullptr), GANTRY_OK);

  EXPECT_THAT(names, ElementsAre("b_kernel", "a_kernel"));
  for (const std::string& name : names) EXPECT_TRUE(world->function(module, name).ok()) << name;
  for (const std::string_view name :
       {std::string_view("c_kernel"), std::string_view(), std::string_view("a_kernel\0", 9)}) {
    EXPECT_EQ(world->function(module, name).error().code, Code::not_found);
  }
  destroy(module);
}

TEST_F(Modules, AreLoadedOnceOnEachDevice) {
  const gantry_module module = load(empty_payload(ptx()));
  const gantry_function function = world->function(module, "empty_kernel").value();
  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 0u);

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(world->call(function, {}).ok());
  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 1u);
  EXPECT_EQ(fake.count_of("cuModuleGetFunction"), 1u);

  ASSERT_TRUE(world->call(function, {}, 1).ok());
  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 2u);
  destroy(module);
  EXPECT_EQ(fake.count_of("cuModuleUnload"), 2u);
}

TEST_F(Modules, ArePreparedSoThatCallsLoadNothing) {
  const gantry_module module = load(empty_payload(ptx()));
  const gantry_env env{};
  const gantry_device_id devices[] = {{cuda_type, 0}, {cuda_type, 1}};
  const gantry_prepare what{sizeof what, 2, devices};

  ASSERT_EQ(module.table->prepare(module.self, &env, &what, nullptr), GANTRY_OK);

  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fake.count_of("cuModuleGetFunction"), 2u);
  const gantry_function function = world->function(module, "empty_kernel").value();
  for (std::int32_t i = 0; i < 2; ++i) ASSERT_TRUE(world->call(function, {}, i).ok());
  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fake.count_of("cuModuleGetFunction"), 2u);
  destroy(module);
}

TEST_F(Modules, ReportTheFirstKernelThatCannotBePrepared) {
  const gantry_module module = load(payload_of({{"absent", "", {}}, {"empty_kernel", "", {}}},
                                               text_bytes(ptx_with({"empty_kernel"}))));
  const gantry_env env{};
  const gantry_device_id device{cuda_type, 0};
  const gantry_prepare what{sizeof what, 1, &device};
  StatusBuffer status;

  const gantry_code code = module.table->prepare(module.self, &env, &what, status.get());

  EXPECT_EQ(status.error(code, "prepare").reason, "KERNEL");
  EXPECT_EQ(fake.count_of("cuModuleGetFunction"), 2u);
  ASSERT_TRUE(world->call(world->function(module, "empty_kernel").value(), {}).ok());
  EXPECT_EQ(fake.count_of("cuModuleGetFunction"), 2u);
  destroy(module);
}

TEST_F(Modules, CompileOnceForAPreparationThatFails) {
  const gantry_module module = load(payload_of({{"empty_kernel", "", {}}, {"b", "", {}}},
                                               text_bytes(ptx_with({"empty_kernel", "b"}))));
  const gantry_env env{};
  const gantry_device_id device{cuda_type, 0};
  const gantry_prepare what{sizeof what, 1, &device};
  fake.fail_function = "cuModuleLoadDataEx";

  EXPECT_NE(module.table->prepare(module.self, &env, &what, nullptr), GANTRY_OK);

  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 1u);
  destroy(module);
}

TEST_F(Modules, AnnounceTheirKernelsWhileTheDriverCompiles) {
  std::vector<KernelFields> kernels;
  const std::vector<std::string> names{"empty_kernel", "b", "c", "d"};
  for (const std::string& name : names) kernels.push_back({name, "", {}});
  const gantry_module module = load(payload_of(kernels, text_bytes(ptx_with(names))));
  const gantry_function function = world->function(module, "empty_kernel").value();
  EXPECT_TRUE(world->host.works.empty());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(world->call(function, {}).ok());

  EXPECT_THAT(world->host.works,
              ElementsAre("compiling kernels \"empty_kernel\", \"b\", \"c\" and 1 more for "
                          "device 0 (Fake H200)"));
  EXPECT_EQ(world->host.running_works, 0);
  destroy(module);
}

TEST_F(Modules, AnnounceNothingForCodeOfTheirDevice) {
  ASSERT_TRUE(call_empty(cubin()).ok());

  EXPECT_TRUE(world->host.works.empty());
}

TEST_F(Modules, AreLoadedOnceByManyThreads) {
  const gantry_module module = load(empty_payload(ptx()));
  const gantry_function function = world->function(module, "empty_kernel").value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(world->call(function, {}, t % 2).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(fake.count_of("cuModuleLoadDataEx"), 2u);
  EXPECT_EQ(fake.count_of("cuLaunchKernel"), 160u);
  destroy(module);
}

// The payload has no NUL, so without a copy the driver would read past its end.
TEST_F(Modules, PassPtxWithANul) {
  const Bytes code = ptx();
  const auto exact = std::make_unique<std::uint8_t[]>(code.size());
  std::copy(code.begin(), code.end(), exact.get());

  EXPECT_TRUE(call_empty(Bytes(exact.get(), exact.get() + code.size())).ok());
}

TEST_F(Modules, RetainTheirBytes) {
  gantry_object* const pin = world->host.new_pin();
  const Bytes payload = empty_payload(ptx());
  const gantry_blob blob = gantry::test::payload_blob(payload, 5, true, pin);
  gantry_module module{};
  std::uint64_t consumed = 0;
  ASSERT_EQ(World::plugin_table().loaders[0]->load_binary(world->self(), &blob, world->host.node(),
                                                          &module, &consumed, nullptr),
            GANTRY_OK);
  EXPECT_EQ(world->host.references(pin), 2);

  destroy(module);

  EXPECT_EQ(world->host.references(pin), 1);
  world->host.release(pin);
}

TEST_F(Modules, SaveTheBytesThatTheyRead) {
  const Bytes payload = empty_payload(cubin());
  const gantry_module module = load(payload);
  gantry::test::MemorySink sink;
  const gantry_sink full{
      sizeof full, 0, nullptr, 0,
      [](void*, const void*, std::uint64_t, gantry_status* status) -> gantry_code {
        return gantry_fail(status, GANTRY_EXHAUSTED, "DISK", "disk is full");
      }};
  StatusBuffer status;

  EXPECT_EQ(module.table->save_binary(module.self, sink.raw(), nullptr), GANTRY_OK);
  EXPECT_EQ(module.table->save_binary(module.self, &full, status.get()), GANTRY_EXHAUSTED);

  EXPECT_EQ(sink.bytes, payload);
  EXPECT_EQ(status.error(GANTRY_EXHAUSTED, "save").message, "disk is full");
  destroy(module);
}

struct Misfit {
  std::string name;
  Bytes code;
  std::int32_t device;
  // Empty: no driver call is required.
  std::string driver_fails;
  CUresult result;
  Code whose;
  std::string reason, message;
  friend void PrintTo(const Misfit& misfit, std::ostream* out) { *out << misfit.name; }
};
class ModulesDoNotFit : public Modules, public ::testing::WithParamInterface<Misfit> {};
TEST_P(ModulesDoNotFit, AndReportPayloadDeviceAndDriver) {
  const Misfit& misfit = GetParam();
  fake.fail_function = misfit.driver_fails;
  fake.fail_result = misfit.result;

  const Status called = call_empty(misfit.code, misfit.device);

  ASSERT_FALSE(called.ok());
  EXPECT_EQ(called.error().code, misfit.whose);
  EXPECT_EQ(called.error().reason, misfit.reason);
  EXPECT_EQ(called.error().message, misfit.message);
}
constexpr char load[] = "cuModuleLoadDataEx";
Bytes ptx_of(std::string_view version, std::string_view target, std::string_view more = "") {
  return text_bytes(ptx_with({"empty_kernel"}, version, target) + std::string(more));
}
INSTANTIATE_TEST_SUITE_P(
    Codes, ModulesDoNotFit,
    ::testing::Values(
        Misfit{"CubinOfAnotherArchitecture", cubin({.flags = 86}), 1, "", CUDA_SUCCESS,
               Code::unavailable, "BLOB_ARCH",
               "cuda: payload has cubin for sm_86, device 1 (Fake T4) is sm_75; export the model "
               "for sm_75, or as PTX for it or an earlier one, which later devices run too"},
        Misfit{"FatbinOfOtherArchitectures", fatbin({{.architecture = 80}, {.architecture = 86}}),
               0, "", CUDA_SUCCESS, Code::unavailable, "BLOB_ARCH",
               "cuda: payload has fatbin with cubin for sm_80, cubin for sm_86, device 0 (Fake "
               "H200) is sm_90; export the model for sm_90, or as PTX for it or an earlier one, "
               "which later devices run too"},
        Misfit{"PtxOfALaterArchitecture", ptx_of("8.0", "sm_90a"), 1, "", CUDA_SUCCESS,
               Code::unavailable, "BLOB_ARCH",
               "cuda: payload has PTX 8.0 for sm_90a, device 1 (Fake T4) is sm_75; export the "
               "model for sm_75, or as PTX for it or an earlier one, which later devices run too"},
        Misfit{"CubinThatOnlyTheDriverCanTell", cubin(), 0, load, CUDA_ERROR_NO_BINARY_FOR_GPU,
               Code::unavailable, "BLOB_ARCH",
               "cuda: payload has cubin for sm_90, device 0 (Fake H200) is sm_90; export the model "
               "for sm_90, or as PTX for it or an earlier one, which later devices run too\n  "
               "driver: line 1 of the log\n  driver: line 2 of the log"},
        Misfit{
            "PtxOfALaterVersion", ptx_of("9.0", "sm_75"), 1, "", CUDA_SUCCESS, Code::unavailable,
            "PTX_VERSION",
            "cuda: payload has PTX 9.0 for sm_75, the driver of device 1 (Fake T4) is CUDA 12.4 "
            "and supports PTX up to 8.4; install a later driver, or export the model with a CUDA "
            "Toolkit of that version or as a cubin for sm_75"},
        Misfit{
            "PtxOfALaterVersionThatIsOnlyInvalid", ptx_of("9.0", "sm_75"), 0, load,
            CUDA_ERROR_INVALID_PTX, Code::unavailable, "PTX_VERSION",
            "cuda: payload has PTX 9.0 for sm_75, the driver of device 0 (Fake H200) is CUDA "
            "12.4 and supports PTX up to 8.4; install a later driver, or export the model with a "
            "CUDA Toolkit of that version or as a cubin for sm_90\n  driver: line 1 of the "
            "log\n  driver: line 2 of the log"},
        Misfit{"PtxThatDoesNotCompile", ptx_of("8.4", "sm_75", "syntax error"), 0, "", CUDA_SUCCESS,
               Code::malformed, "BLOB_CODE",
               "cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218), what the driver says\n  while "
               "loading PTX 8.4 for sm_75 on device 0 (Fake H200)\n  driver: ptxas application ptx "
               "input, line 4; error   : Parsing error near 'syntax'\n  driver: ptxas fatal   : "
               "Ptx assembly aborted due to errors"},
        Misfit{"SourceThatTheDriverRejects", ptx_of("8.4", "sm_75"), 0, load,
               CUDA_ERROR_INVALID_SOURCE, Code::malformed, "BLOB_CODE",
               "cuModuleLoadDataEx: error (300), unknown to the driver\n  while loading PTX 8.4 "
               "for sm_75 on device 0 (Fake H200)\n  driver: line 1 of the log\n  driver: line 2 "
               "of the log"},
        Misfit{"CubinThatTheDriverRejects", cubin(), 0, load, CUDA_ERROR_INVALID_IMAGE,
               Code::malformed, "BLOB_CODE",
               "cuModuleLoadDataEx: CUDA_ERROR_INVALID_IMAGE (200), what the driver says\n  while "
               "loading cubin for sm_90 on device 0 (Fake H200)\n  driver: line 1 of the log\n  "
               "driver: line 2 of the log"},
        Misfit{"PtxWithoutACompiler", ptx_of("8.4", "sm_75"), 0, load,
               CUDA_ERROR_JIT_COMPILER_NOT_FOUND, Code::unavailable, "DRIVER_CALL",
               "cuModuleLoadDataEx: CUDA_ERROR_JIT_COMPILER_NOT_FOUND (221), what the driver "
               "says\n  while loading PTX 8.4 for sm_75 on device 0 (Fake H200)\n  PTX is compiled "
               "by libnvidia-ptxjitcompiler.so.1, which comes with the driver\n  driver: line 1 of "
               "the log\n  driver: line 2 of the log"},
        Misfit{"CodeWithoutTheKernel", ptx_of("8.4", "sm_75"), 0, "cuModuleGetFunction",
               CUDA_ERROR_NOT_FOUND, Code::not_found, "KERNEL",
               "kernel \"empty_kernel\" is in the payload's table, but not in its PTX 8.4 for "
               "sm_75"}),
    [](const auto& test) { return test.param.name; });

TEST_F(Modules, PassTheirCodeUpToItsEnd) {
  // The driver reads PTX up to a NUL, and the bytes behind a payload are not its own.
  const Bytes payload = empty_payload(ptx());
  Bytes file = payload;
  for (const char c : std::string_view("syntax error")) {
    file.push_back(static_cast<std::uint8_t>(c));
  }
  const gantry_blob blob =
      gantry::test::payload_blob(std::span(file).first(payload.size()), 5, true, nullptr);
  gantry_module module{};
  std::uint64_t consumed = 0;
  ASSERT_EQ(World::plugin_table().loaders[0]->load_binary(world->self(), &blob, world->host.node(),
                                                          &module, &consumed, nullptr),
            GANTRY_OK);

  EXPECT_TRUE(world->call(world->function(module, "empty_kernel").value(), {}).ok());

  destroy(module);
}

TEST_F(Modules, AwaitTheirKernelsBeforeTheyAreUnloaded) {
  const gantry_module module = Modules::load(empty_payload(ptx()));
  ASSERT_TRUE(world->call(world->function(module, "empty_kernel").value(), {}).ok());
  const std::size_t before = fake.calls.size();

  destroy(module);

  const std::vector<std::string> unloading(fake.calls.begin() + static_cast<long>(before),
                                           fake.calls.end());
  EXPECT_THAT(unloading, ElementsAre("cuCtxPushCurrent_v2", "cuCtxSynchronize", "cuModuleUnload",
                                     "cuCtxPopCurrent_v2"));
}

TEST_F(Modules, ReportTheFirstLinesOfALongLog) {
  fake.fail_function = "cuModuleLoadDataEx";
  fake.compiler_log.clear();
  std::string shown =
      "cuModuleLoadDataEx: CUDA_ERROR_UNKNOWN (999), what the driver says\n  while "
      "loading PTX 8.4 for sm_75 on device 0 (Fake H200)";
  for (int i = 0; i < 20; ++i) {
    fake.compiler_log += concat("line ", i, '\n');
    if (i < 12) shown += concat("\n  driver: line ", i);
  }

  EXPECT_EQ(call_empty(ptx()).error().message, shown);
}

TEST_F(Modules, AreLoadedAgainAfterAFailure) {
  const gantry_module module = Modules::load(empty_payload(ptx()));
  const gantry_function function = world->function(module, "empty_kernel").value();
  fake.fail_function = "cuModuleLoadDataEx";
  fake.fail_result = CUDA_ERROR_OUT_OF_MEMORY;

  const Status failed = world->call(function, {});
  fake.fail_function.clear();

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::exhausted);
  EXPECT_TRUE(world->call(function, {}).ok());
  destroy(module);
}

TEST_F(Modules, ReportAVerdictWithoutLoading) {
  struct Judged {
    Bytes code;
    std::int32_t device, verdict;
  };
  for (const Judged& judged :
       {Judged{cubin(), 0, GANTRY_VERDICT_OPTIMAL}, Judged{cubin(), 1, GANTRY_VERDICT_NO},
        Judged{ptx(), 0, GANTRY_VERDICT_RECOMPILE}, Judged{ptx("9.0"), 0, GANTRY_VERDICT_NO},
        Judged{fatbin({{.kind = 1, .architecture = 90, .major = 9}, {.architecture = 90}}), 0,
               GANTRY_VERDICT_OPTIMAL}}) {
    const Bytes payload = empty_payload(judged.code);
    const gantry_blob blob = gantry::test::payload_blob(payload, 5);
    std::int32_t verdict = -1;

    ASSERT_EQ(World::plugin_table().loaders[0]->check_binary(world->self(), &blob, judged.device,
                                                             &verdict, nullptr),
              GANTRY_OK);

    EXPECT_EQ(verdict, judged.verdict);
    // The result of a call agrees with the verdict.
    EXPECT_EQ(call_empty(judged.code, judged.device).ok(), verdict != GANTRY_VERDICT_NO);
  }
}

}  // namespace
}  // namespace gantry::cuda::test
