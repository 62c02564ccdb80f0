// SPDX-License-Identifier: Apache-2.0
//
// Makes every driver call fail once in a scenario that uses all functions. The failure must be
// reported with the function's name and the driver's result, and nothing may leak.
#include "tests/unit/cuda/world.hpp"

#include <gantry/abi_boundary.hpp>

#include <gmock/gmock.h>

#include <sys/mman.h>
#include <unistd.h>

#include <set>

namespace gantry::cuda::test {
namespace {

// Releases the objects of the scenario in reverse order, also after a failure.
class Undo {
 public:
  ~Undo() {
    while (!steps_.empty()) {
      steps_.back()();
      steps_.pop_back();
    }
  }
  void then(std::function<void()> step) { steps_.push_back(std::move(step)); }

 private:
  std::vector<std::function<void()>> steps_;
};

class Scenario {
 public:
  explicit Scenario(World& world) : world_(world), device_(world.device()), self_(world.self()) {}

  Status run() {
    const std::size_t big = Staging::piece_bytes + 4096;
    // Outlives every copy; freeing the memory waits for copies.
    std::vector<float> sent(big / sizeof(float), 1);
    std::vector<float> received(sent.size());
    Undo undo;
    const Bytes payload =
        payload_of({{.tags = {"blockIdx.x", "threadIdx.x", "tir.use_dyn_shared_memory"}}},
                   text_bytes(ptx_with({"axpy2_kernel0"})));
    GANTRY_TRY(const gantry_module module, world_.load(payload));
    undo.then([=] { module.table->destroy(module.self); });
    GANTRY_TRY(const gantry_function axpy2, world_.function(module, "axpy2_kernel0"));
    GANTRY_CHECK(attributes());
    alignas(64) char map[128];
    alignas(64) char tiled[64];
    GANTRY_CHECK(
        world_.call_named("runtime.cuTensorMapEncodeTiled",
                          {pointer_value(map), dtype_value(dtypes::float32), int_value(1),
                           pointer_value(tiled), int_value(16), int_value(16), int_value(1),
                           int_value(0), int_value(0), int_value(0), int_value(0)}));

    GANTRY_TRY(void* const a, world_.alloc(big));
    undo.then([=, this] { world_.free(a); });
    GANTRY_TRY(void* const b, world_.alloc(big));
    undo.then([=, this] { world_.free(b); });
    GANTRY_TRY(void* const other, world_.alloc(big, 1));
    undo.then([=, this] { world_.free(other, 1); });

    void* stream = nullptr;
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.stream_create(self_, 0, 0, &stream, status);
    }));
    undo.then([=, this] { device_.stream_destroy(self_, 0, stream); });
    void* scratch = nullptr;
    gantry_alloc in_stream{};
    in_stream.struct_size = sizeof in_stream;
    in_stream.size = 4096;
    in_stream.flags = GANTRY_ALLOC_IN_STREAM;
    in_stream.stream = stream;
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.alloc(self_, 0, &in_stream, &scratch, status);
    }));
    device_.free_in_stream(self_, 0, scratch, stream);
    device_.trim(self_, 0);
    std::vector<float> imported(1024);
    const int descriptor = memfd_create("imported", MFD_CLOEXEC);
    undo.then([=] { close(descriptor); });
    EXPECT_EQ(ftruncate(descriptor, 4096), 0);
    for (const gantry_external& external :
         {gantry_external{sizeof(gantry_external), GANTRY_EXTERNAL_HOST, imported.data(), -1, 0,
                          4096},
          gantry_external{sizeof(gantry_external), GANTRY_EXTERNAL_FD, nullptr, descriptor, 0,
                          4096}}) {
      void* data = nullptr;
      GANTRY_CHECK(checked([&](gantry_status* status) {
        return device_.memory_import(self_, 0, &external, &data, status);
      }));
      world_.free(data);
    }
    for (const std::uint32_t size : {1, 2, 4}) {
      GANTRY_CHECK(checked([&](gantry_status* status) {
        return device_.fill(self_, 0, b, 0, 64, &size, size, nullptr, status);
      }));
    }
    void* events[2] = {};
    for (void*& event : events) {
      GANTRY_CHECK(checked([&](gantry_status* status) {
        return device_.event_create(self_, 0, 0, &event, status);
      }));
      undo.then([made = event, this] { device_.event_destroy(self_, 0, made); });
    }

    GANTRY_CHECK(record(events[0], nullptr));
    GANTRY_CHECK(world_.copy(on_host(sent.data()), on_cuda(a), big, 0));
    GANTRY_CHECK(world_.copy(on_cuda(a), on_cuda(b), big));
    GANTRY_CHECK(launch(axpy2, a, nullptr));
    GANTRY_CHECK(record(events[1], nullptr));
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.event_wait(self_, 0, events[1], stream, status);
    }));
    std::int32_t reached = 0;
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.event_reached(self_, 0, events[0], 0, &reached, status);
    }));
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.stream_notify(
          self_, 0, nullptr, [](void*) {}, nullptr, status);
    }));
    std::int64_t ns = 0;
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.event_elapsed(self_, 0, events[0], events[1], &ns, status);
    }));
    GANTRY_CHECK(world_.copy(on_cuda(a), on_cuda(other, 0, 1), big));
    GANTRY_CHECK(world_.copy(on_cuda(a), on_host(received.data()), big, 0));
    GANTRY_CHECK(world_.synchronize());

    void* graph = nullptr;
    GANTRY_CHECK(checked(
        [&](gantry_status* status) { return device_.capture_begin(self_, 0, stream, status); }));
    Status captured = launch(axpy2, a, stream);
    // A capture is ended even after a failure.
    const Status ended = checked([&](gantry_status* status) {
      return device_.capture_end(self_, 0, stream, &graph, status);
    });
    if (ended.ok()) undo.then([=, this] { device_.capture_destroy(self_, 0, graph); });
    GANTRY_CHECK(std::move(captured));
    if (!ended.ok()) return ended;
    GANTRY_CHECK(checked([&](gantry_status* status) {
      return device_.capture_launch(self_, 0, graph, stream, status);
    }));
    GANTRY_CHECK(world_.synchronize(stream));
    float last = 0;
    GANTRY_CHECK(world_.copy(on_cuda(a), on_host(&last), sizeof last));
    EXPECT_EQ(received[0], 3);
    EXPECT_EQ(last, 9);
    return {};
  }

 private:
  template <class Call>
  static Status checked(Call&& call) {
    StatusBuffer status;
    const gantry_code code = call(status.get());
    if (code != GANTRY_OK) return status.error(code, "device");
    return {};
  }
  Status attributes() {
    std::vector<std::int32_t> kinds{GANTRY_ATTRIBUTE_UUID, GANTRY_ATTRIBUTE_PCI_ADDRESS};
    for (std::int32_t kind = GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
         kind <= GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY; ++kind)
      kinds.push_back(kind);
    for (const std::int32_t kind : kinds) {
      if (kind == GANTRY_ATTRIBUTE_GCN_ARCH) continue;
      gantry_value value{};
      GANTRY_CHECK(checked([&](gantry_status* status) {
        return device_.attribute(self_, 0, kind, &value, status);
      }));
      const Value owned = Value::adopt(value);
    }
    return {};
  }
  Status record(void* event, void* stream) {
    return checked([&](gantry_status* status) {
      return device_.event_record(self_, 0, event, stream, status);
    });
  }
  Status launch(const gantry_function& axpy2, void* data, void* stream) {
    const gantry_value at = pointer_value(data);
    return world_.call(axpy2,
                       {at, at, at, int_value(1), int_value(1), int_value(1), int_value(1),
                        int_value(1), int_value(1), int_value(50 * 1024)},
                       0, stream);
  }

  World& world_;
  const gantry_device_table& device_;
  void* self_;
};

// Failures that cannot be reported: at the end of a module, a device or a scope.
const std::set<std::string> silent{"cuCtxPopCurrent_v2", "cuModuleUnload",
                                   "cuCtxSynchronize",   "cuMemFreeHost",
                                   "cuGraphDestroy",     "cuDevicePrimaryCtxRelease_v2",
                                   "cuMemPoolDestroy"};
// Called at the end of a device or module, but reported elsewhere.
const std::set<std::string> silent_at_the_end{"cuCtxPushCurrent_v2", "cuStreamSynchronize",
                                              "cuStreamDestroy_v2", "cuEventDestroy_v2"};

class Sweep : public ::testing::TestWithParam<int> {};

TEST_P(Sweep, ReportsEveryFailureAndLeaksNothing) {
  FakeDriver& fake = fake_driver();
  const auto result = static_cast<CUresult>(GetParam());
  std::set<std::string> failed;
  bool failed_nowhere = false;
  for (std::size_t at = 0; !failed_nowhere; ++at) {
    fake.reset();
    fake.fail_at = at;
    fake.fail_result = result;
    std::vector<std::string> log;
    Status run;
    bool before_the_end = false;
    {
      World world;
      run = Scenario(world).run();
      before_the_end = !fake.failed.empty();
      log = world.host.log;
    }
    failed_nowhere = fake.failed.empty();
    const std::string where = concat("call ", at, " ", fake.failed);
    EXPECT_EQ(fake.context_depth(), 0u) << where;
    // If the context cannot be made current, objects cannot be freed.
    if (fake.failed != "cuCtxPushCurrent_v2") {
      EXPECT_EQ(fake.live(), "") << where;
    }
    if (failed_nowhere) {
      EXPECT_TRUE(run.ok()) << run.error().message;
      break;
    }
    failed.insert(fake.failed);
    const std::string told = concat(fake.failed, ": CUDA_ERROR_");
    if (!run.ok()) {
      EXPECT_EQ(run.error().message.text().rfind(told, 0), 0u)
          << where << ": " << run.error().message;
      EXPECT_EQ(run.error().native_domain, "CUDA") << where;
      EXPECT_EQ(run.error().native_code, result) << where;
      EXPECT_EQ(run.error().code, code_of(result)) << where;
      continue;
    }
    const bool in_log = std::any_of(
        log.begin(), log.end(), [&](const std::string& line) { return line.rfind(told, 0) == 0; });
    const bool may_be_silent = silent.count(fake.failed) != 0 ||
                               (!before_the_end || silent_at_the_end.count(fake.failed) != 0);
    EXPECT_TRUE(in_log || may_be_silent) << where << " is not reported";
    if (failed.size() > 1000) break;
  }
  // All functions except those that are called only after a failure or have separate tests.
  const std::set<std::string> called(failed.begin(), failed.end());
#define REQUIRED(field, symbol)                                                          \
  if (std::string_view(#symbol).find("cuGetError") == std::string_view::npos) {          \
    EXPECT_EQ(called.count(#symbol), 1u) << #symbol << " is not called in the scenario"; \
  }
#define OPTIONAL(field, symbol) REQUIRED(field, symbol)
#include "plugins/cuda/driver.def"
#undef REQUIRED
#undef OPTIONAL
  fake.reset();
}
INSTANTIATE_TEST_SUITE_P(Results, Sweep,
                         ::testing::Values(CUDA_ERROR_UNKNOWN, CUDA_ERROR_OUT_OF_MEMORY,
                                           CUDA_ERROR_ILLEGAL_ADDRESS));

}  // namespace
}  // namespace gantry::cuda::test
