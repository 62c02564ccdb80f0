// SPDX-License-Identifier: Apache-2.0
//
// The functions of thrust with the fake driver, whose kernels are those of the plugin's source.
#include "tests/support/page.hpp"
#include "tests/unit/cuda/fake_nvrtc.hpp"
#include "tests/unit/cuda/world.hpp"

#include <gantry/compact_tensor.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace gantry::cuda::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* sort = "tvm.contrib.thrust.sort";
constexpr const char* by_key = "tvm.contrib.thrust.stable_sort_by_key";
constexpr const char* scan = "tvm.contrib.thrust.sum_scan";

template <class T>
constexpr gantry_dtype dtype_of() {
  if constexpr (std::is_same_v<T, _Float16>) return dtypes::float16;
  if constexpr (std::is_same_v<T, float>) return dtypes::float32;
  if constexpr (std::is_same_v<T, double>) return dtypes::float64;
  if constexpr (std::is_same_v<T, std::int32_t>) return dtypes::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return dtypes::int64;
  return dtypes::uint8;
}

class Thrust : public WithFakeDriver {
 protected:
  // Without NVRTC.
  Thrust() { world = std::make_unique<World>(World::fake_library(), no_nvrtc); }
  ~Thrust() override {
    for (const auto& [data, index] : memory) world->free(data, index);
  }

  // A tensor on a device, whose memory is the host's with the fake driver.
  template <class T>
  struct On {
    std::vector<std::int64_t> shape;
    std::size_t count = 0;
    gantry_tensor tensor{};
    T* data() const { return static_cast<T*>(tensor.data); }
    std::vector<T> values() const { return {data(), data() + count}; }
    gantry_value value() { return tensor_ref_value(&tensor); }
  };
  template <class T>
  std::unique_ptr<On<T>> on(std::vector<std::int64_t> shape, const std::vector<T>& values,
                            std::int32_t index = 0) {
    auto made = std::make_unique<On<T>>();
    made->shape = std::move(shape);
    made->count = values.size();
    void* const data =
        world->alloc(std::max<std::size_t>(values.size() * sizeof(T), 1), index).value();
    memory.emplace_back(data, index);
    std::copy(values.begin(), values.end(), static_cast<T*>(data));
    made->tensor = compact_tensor(dtype_of<T>(), made->shape, {cuda_type, index}, data);
    return made;
  }
  void done(const char* name, const std::vector<gantry_value>& args) {
    const Status called = world->call_named(name, args, env);
    EXPECT_TRUE(called.ok()) << called.error().message;
  }
  std::string message(const char* name, const std::vector<gantry_value>& args) {
    const Status called = world->call_named(name, args, env);
    EXPECT_FALSE(called.ok()) << name;
    return called.ok() ? "" : std::string(called.error().message.text());
  }
  void synchronize() { EXPECT_TRUE(world->synchronize(env.stream).ok()); }

  const std::map<std::string, std::string> no_nvrtc{{"nvrtc", "/nowhere/libnvrtc.so"}};
  gantry_env env{{cuda_type, 0}, nullptr, nullptr, nullptr};
  std::vector<std::pair<void*, std::int32_t>> memory;
};

// Numbers with many equal ones.
template <class T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> all(count);
  std::uint32_t state = 7;
  for (T& number : all) {
    state = state * 1664525 + 1013904223;
    number = static_cast<T>(static_cast<int>(state >> 20) % 401 - 200);
  }
  return all;
}

// GCC's library has no typeinfo for _Float16, which GoogleTest would use.
template <class T>
struct Element {
  using Type = T;
};

template <class Sorted>
class ThrustSort : public Thrust {
 protected:
  using T = typename Sorted::Type;
  // rows     [in]   of `length` elements
  template <class Index>
  void check(std::int64_t rows, std::int64_t length, bool is_ascending, std::vector<T> x) {
    const auto input = this->on({rows, length}, x);
    const auto values = this->on({rows, length}, std::vector<T>(x.size(), T(77)));
    const auto indices = this->on({rows, length}, std::vector<Index>(x.size(), Index(77)));

    done(sort, {input->value(), values->value(), indices->value(), bool_value(is_ascending)});
    synchronize();

    std::vector<T> sorted;
    std::vector<Index> order;
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(length));
      std::iota(numbers.begin(), numbers.end(), 0);
      const T* const from = x.data() + row * length;
      // NaN is larger than every number.
      const auto less = [&](T a, T b) { return a < b || (b != b && a == a); };
      std::stable_sort(numbers.begin(), numbers.end(), [&](std::int64_t a, std::int64_t b) {
        return is_ascending ? less(from[a], from[b]) : less(from[b], from[a]);
      });
      for (const std::int64_t i : numbers) {
        sorted.push_back(from[i]);
        order.push_back(static_cast<Index>(i));
      }
    }
    EXPECT_EQ(indices->values(), order) << rows << " x " << length;
    const std::vector<T> found = values->values();
    EXPECT_EQ(std::memcmp(found.data(), sorted.data(), sorted.size() * sizeof(T)), 0)
        << rows << " x " << length;
  }
};
using SortedTypes = ::testing::Types<Element<_Float16>, Element<float>, Element<double>,
                                     Element<std::int32_t>, Element<std::int64_t>>;
TYPED_TEST_SUITE(ThrustSort, SortedTypes);

// Lengths around those of threads and tiles.
TYPED_TEST(ThrustSort, IsStableInEachRow) {
  using T = typename TypeParam::Type;
  for (const std::int64_t length : {1, 7, 50, 256, 2048, 2049, 4500}) {
    for (const bool is_ascending : {true, false}) {
      const std::int64_t rows = length < 100 ? 5 : 2;
      this->template check<std::int32_t>(rows, length, is_ascending,
                                         numbers<T>(static_cast<std::size_t>(rows * length)));
    }
  }
}

TYPED_TEST(ThrustSort, WritesNumbersOfEachType) {
  using T = typename TypeParam::Type;
  this->template check<std::int64_t>(2, 30, true, numbers<T>(60));
  this->template check<float>(2, 30, true, numbers<T>(60));
  this->template check<double>(2, 30, false, numbers<T>(60));
}

TYPED_TEST(ThrustSort, OrdersTheLimitsOfTheType) {
  using T = typename TypeParam::Type;
  using Limits = std::numeric_limits<T>;
  std::vector<T> x{T(3), Limits::max(), T(0), Limits::lowest(), T(-1)};
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    x.insert(x.end(), {Limits::quiet_NaN(), -Limits::infinity(), T(-0.0), Limits::infinity(),
                       Limits::denorm_min(), -Limits::denorm_min()});
  }
  const auto count = static_cast<std::int64_t>(x.size());
  this->template check<std::int32_t>(1, count, true, x);
  this->template check<std::int32_t>(1, count, false, x);
}

TEST_F(Thrust, SortsInTheStreamOfTheCall) {
  void* stream = nullptr;
  ASSERT_EQ(world->device().stream_create(world->self(), 0, 0, &stream, nullptr), GANTRY_OK);
  const gantry_device_stream item{{cuda_type, 0}, stream};
  const gantry_streams streams{&item, 1};
  const auto x = on<float>({3}, {3, 1, 2}), values = on<float>({3}, {0, 0, 0});
  const auto indices = on<std::int32_t>({3}, {7, 7, 7});
  // As code of a graph, whose device is the CPU.
  env = {{cpu_device_type, 0}, nullptr, nullptr, &streams};

  done(sort, {x->value(), values->value(), indices->value(), int_value(1)});

  EXPECT_THAT(indices->values(), Each(7)) << "the call does not wait";
  for (const FakeLaunch& launch : fake.launches) EXPECT_EQ(launch.stream, stream);
  EXPECT_TRUE(world->synchronize(stream).ok());
  EXPECT_THAT(indices->values(), ElementsAre(1, 2, 0));
  EXPECT_EQ(fake.count_of("cuMemAllocFromPoolAsync"), 1u);
  EXPECT_EQ(fake.count_of("cuMemFreeAsync"), 1u);
  world->device().stream_destroy(world->self(), 0, stream);
}

TEST_F(Thrust, SortsOnTheDeviceOfTheTensors) {
  const auto x = on<float>({3}, {3, 1, 2}, 1), values = on<float>({3}, {0, 0, 0}, 1);
  const auto indices = on<std::int32_t>({3}, {7, 7, 7}, 1);

  done(sort, {x->value(), values->value(), indices->value(), int_value(0)});

  EXPECT_TRUE(world->synchronize(nullptr, 1).ok());
  EXPECT_THAT(values->values(), ElementsAre(3, 2, 1));
}

TEST_F(Thrust, StartsThePassesOfEachDigit) {
  const auto x = on<_Float16>({2}, {_Float16(2), _Float16(1)}), values = on<_Float16>({2}, {0, 0});
  const auto indices = on<std::int32_t>({2}, {7, 7});

  done(sort, {x->value(), values->value(), indices->value(), int_value(1)});

  std::vector<std::string> kernels;
  for (const FakeLaunch& launch : fake.launches) kernels.push_back(launch.kernel);
  EXPECT_THAT(kernels,
              ElementsAre("gantry_keys_f16", "gantry_count_32", "gantry_scan_i32", "gantry_move_32",
                          "gantry_count_32", "gantry_scan_i32", "gantry_move_32", "gantry_count_32",
                          "gantry_scan_i32", "gantry_move_32", "gantry_count_32", "gantry_scan_i32",
                          "gantry_move_32", "gantry_ordered_16", "gantry_numbers_i32"));
  synchronize();
}

// ---- memory

TEST_F(Thrust, UsesAWorkspaceThatIsLargeEnough) {
  const auto x = on<float>({3}, {3, 1, 2}), values = on<float>({3}, {0, 0, 0});
  const auto indices = on<std::int32_t>({3}, {7, 7, 7});
  const auto workspace = on<std::uint8_t>({4096}, std::vector<std::uint8_t>(4096));
  const auto small = on<std::uint8_t>({64}, std::vector<std::uint8_t>(64));

  done(sort, {x->value(), values->value(), indices->value(), int_value(1), workspace->value()});
  EXPECT_EQ(fake.count_of("cuMemAllocFromPoolAsync"), 0u);

  done(sort, {x->value(), values->value(), indices->value(), int_value(1), small->value()});
  EXPECT_EQ(fake.count_of("cuMemAllocFromPoolAsync"), 1u);
  synchronize();
  EXPECT_THAT(values->values(), ElementsAre(1, 2, 3));
}

TEST_F(Thrust, IsCapturedWithAWorkspace) {
  void* stream = nullptr;
  ASSERT_EQ(world->device().stream_create(world->self(), 0, 0, &stream, nullptr), GANTRY_OK);
  env.stream = stream;
  const auto x = on<float>({3}, {3, 1, 2}), values = on<float>({3}, {0, 0, 0});
  const auto indices = on<std::int32_t>({3}, {7, 7, 7});
  const auto workspace = on<std::uint8_t>({4096}, std::vector<std::uint8_t>(4096));
  ASSERT_EQ(world->device().capture_begin(world->self(), 0, stream, nullptr), GANTRY_OK);

  EXPECT_THAT(message(sort, {x->value(), values->value(), indices->value(), int_value(1)}),
              HasSubstr("a captured run requires a workspace of"));
  done(sort, {x->value(), values->value(), indices->value(), int_value(1), workspace->value()});

  void* graph = nullptr;
  ASSERT_EQ(world->device().capture_end(world->self(), 0, stream, &graph, nullptr), GANTRY_OK);
  for (const float first : {3.0f, 0.0f}) {
    x->data()[0] = first;
    ASSERT_EQ(world->device().capture_launch(world->self(), 0, graph, stream, nullptr), GANTRY_OK);
    synchronize();
    EXPECT_EQ(values->values()[0], std::min(first, 1.0f));
  }
  world->device().capture_destroy(world->self(), 0, graph);
  world->device().stream_destroy(world->self(), 0, stream);
}

// ---- by key

TEST_F(Thrust, SortsValuesByKeysStably) {
  const auto keys = on<std::int32_t>({5}, {3, -1, 3, 0, -1});
  const auto values = on<float>({5}, {0, 1, 2, 3, 4});
  const auto keys_out = on<std::int32_t>({5}, std::vector<std::int32_t>(5));
  const auto values_out = on<float>({5}, std::vector<float>(5));

  done(by_key,
       {keys->value(), values->value(), keys_out->value(), values_out->value(), bool_value(false)});
  synchronize();
  EXPECT_THAT(keys_out->values(), ElementsAre(-1, -1, 0, 3, 3));
  EXPECT_THAT(values_out->values(), ElementsAre(1, 4, 3, 0, 2));

  // Negative keys count from the end.
  done(by_key,
       {keys->value(), values->value(), keys_out->value(), values_out->value(), bool_value(true)});
  synchronize();
  EXPECT_THAT(keys_out->values(), ElementsAre(0, 3, 3, 4, 4));
  EXPECT_THAT(values_out->values(), ElementsAre(3, 0, 2, 1, 4));
}

TEST_F(Thrust, SortsByWideKeys) {
  const auto keys = on<std::int64_t>({3}, {std::int64_t{1} << 40, -2, 5});
  const auto values = on<std::int64_t>({3}, {10, 11, 12});
  const auto keys_out = on<std::int64_t>({3}, {0, 0, 0});
  const auto values_out = on<std::int64_t>({3}, {0, 0, 0});

  done(by_key,
       {keys->value(), values->value(), keys_out->value(), values_out->value(), bool_value(true)});
  synchronize();

  EXPECT_THAT(keys_out->values(), ElementsAre(1, 5, std::int64_t{1} << 40));
  EXPECT_THAT(values_out->values(), ElementsAre(11, 12, 10));
}

// ---- sums

template <class Out, class In>
std::vector<Out> summed(const std::vector<In>& x, std::int64_t length, bool is_exclusive) {
  std::vector<Out> sums;
  Out sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % static_cast<std::size_t>(length) == 0) sum = 0;
    if (is_exclusive) sums.push_back(sum);
    sum += static_cast<Out>(x[i]);
    if (!is_exclusive) sums.push_back(sum);
  }
  return sums;
}

template <class Types>
class ThrustScan : public Thrust {};
using ScannedTypes =
    ::testing::Types<std::pair<std::uint8_t, std::int32_t>, std::pair<std::int32_t, std::int32_t>,
                     std::pair<std::int32_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>,
                     std::pair<std::int64_t, double>, std::pair<float, float>,
                     std::pair<float, double>, std::pair<double, double>>;
TYPED_TEST_SUITE(ThrustScan, ScannedTypes);

// Small integers, whose sums are exact in every order.
TYPED_TEST(ThrustScan, AddsUpEachRow) {
  using In = typename TypeParam::first_type;
  using Out = typename TypeParam::second_type;
  for (const std::int64_t length : {1, 9, 2048, 2049, 700000}) {
    for (const bool is_exclusive : {false, true}) {
      if (length > 10000 && (is_exclusive || sizeof(Out) != 8)) continue;
      const std::int64_t rows = length > 10000 ? 1 : 3;
      const std::vector<In> x = numbers<In>(static_cast<std::size_t>(rows * length));
      const auto input = this->on({rows, length}, x);
      const auto out = this->on({rows, length}, std::vector<Out>(x.size(), Out(77)));

      this->done(scan, {input->value(), out->value(), bool_value(is_exclusive)});
      this->synchronize();

      EXPECT_EQ(out->values(), summed<Out>(x, length, is_exclusive)) << length;
    }
  }
}

TEST_F(Thrust, AddsUpInPlace) {
  const auto x = on<float>({4}, {1, 2, 3, 4});

  done(scan, {x->value(), x->value()});
  synchronize();

  EXPECT_THAT(x->values(), ElementsAre(1, 3, 6, 10));
}

TEST_F(Thrust, AddsUpBools) {
  const auto x = on<std::uint8_t>({4}, {1, 0, 1, 1});
  x->tensor.dtype = dtypes::of(TypeCode::uint, 1);
  const auto out = on<std::int64_t>({4}, {0, 0, 0, 0});

  done(scan, {x->value(), out->value(), bool_value(true)});
  synchronize();

  EXPECT_THAT(out->values(), ElementsAre(0, 1, 1, 2));
}

TEST_F(Thrust, OfEmptyRowsDoesNothing) {
  const auto x = on<float>({3, 0}, {}), values = on<float>({3, 0}, {});
  const auto indices = on<std::int32_t>({3, 0}, {});

  done(sort, {x->value(), values->value(), indices->value(), int_value(1)});
  done(scan, {x->value(), values->value()});

  EXPECT_THAT(fake.launches, IsEmpty());
}

// ---- code, and refusals

TEST_F(Thrust, IsCompiledFromSourceWhereNvrtcIs) {
  fake_nvrtc().reset();
  world = std::make_unique<World>(World::fake_library(),
                                  std::map<std::string, std::string>{{"nvrtc", GANTRY_FAKE_NVRTC}});
  const auto x = on<float>({2}, {1, 2});

  done(scan, {x->value(), x->value()});
  synchronize();

  EXPECT_THAT(x->values(), ElementsAre(1, 3));
  ASSERT_EQ(fake_nvrtc().compilations.size(), 1u);
  EXPECT_EQ(fake_nvrtc().compilations[0].source,
            gantry::test::read_page("plugins/cuda/kernels/sort_scan.cu"));
}

TEST_F(Thrust, RefusesTensorsThatDoNotFit) {
  const auto x = on<float>({4}, {1, 2, 3, 4}), values = on<float>({4}, {0, 0, 0, 0});
  const auto indices = on<std::int32_t>({4}, {0, 0, 0, 0});
  const auto shorter = on<float>({3}, {0, 0, 0});
  const auto bytes = on<std::uint8_t>({4}, {0, 0, 0, 0});
  const auto far = on<float>({4}, {0, 0, 0, 0}, 1);
  float on_host[4] = {};
  On<float> cpu;
  cpu.shape = {4};
  cpu.tensor = compact_tensor(dtypes::float32, cpu.shape, {cpu_device_type, 0}, on_host);
  On<float> point;
  point.tensor = compact_tensor(dtypes::float32, point.shape, {cuda_type, 0}, x->data());
  const gantry_value up = int_value(1);

  EXPECT_THAT(message(sort, {cpu.value(), values->value(), indices->value(), up}),
              HasSubstr("argument 0 (x) is a tensor, expected a compact tensor on a device cuda"));
  EXPECT_THAT(message(sort, {x->value(), far->value(), indices->value(), up}),
              HasSubstr("argument 1 (values) is a tensor, expected a compact tensor on cuda:0"));
  EXPECT_THAT(message(sort, {x->value(), shorter->value(), indices->value(), up}),
              HasSubstr("argument 1 (values) is float32[3], expected the extents of argument 0, "
                        "float32[4]"));
  EXPECT_THAT(message(sort, {bytes->value(), values->value(), indices->value(), up}),
              HasSubstr("expected a tensor of float16, float32, float64, int32 or int64"));
  EXPECT_THAT(message(sort, {x->value(), indices->value(), indices->value(), up}),
              HasSubstr("argument 1 (values) is a tensor, expected a tensor of float32"));
  EXPECT_THAT(message(sort, {x->value(), values->value(), bytes->value(), up}),
              HasSubstr("expected a tensor of int32, int64, float32 or float64"));
  EXPECT_THAT(message(sort, {x->value(), x->value(), indices->value(), up}),
              HasSubstr("argument 1 (values) overlaps an input"));
  EXPECT_THAT(message(sort, {x->value(), values->value(), indices->value(), up, cpu.value()}),
              HasSubstr("argument 4 (workspace) is a tensor, expected a compact tensor on cuda:0"));
  EXPECT_THAT(message(scan, {point.value(), point.value()}),
              HasSubstr("expected a tensor of rank 1 or more"));
  EXPECT_THAT(message(scan, {x->value(), indices->value()}),
              HasSubstr("argument 1 (out) is a tensor, expected a tensor of float32 or float64"));
  EXPECT_THAT(message(by_key, {x->value(), values->value(), shorter->value(), values->value(), up}),
              HasSubstr("argument 2 (keys_out) is float32[3]"));
  EXPECT_THAT(
      message(by_key, {x->value(), indices->value(), values->value(), indices->value(), up}),
      HasSubstr("argument 0 (keys) is a tensor, expected a tensor of int32 or int64, for a "
                "scatter"));
  EXPECT_THAT(fake.launches, IsEmpty());
}

// Before any memory is used: the extents are those of the caller.
TEST_F(Thrust, RefusesRowsOfMoreThan32Bits) {
  const auto x = on<float>({4}, {1, 2, 3, 4}), out = on<float>({4}, {0, 0, 0, 0});
  x->shape[0] = out->shape[0] = std::int64_t{1} << 31;

  EXPECT_THAT(message(scan, {x->value(), out->value()}),
              HasSubstr("float32[2147483648] is too large, rows have at most 2147483647 elements"));
}

}  // namespace
}  // namespace gantry::cuda::test
