// SPDX-License-Identifier: Apache-2.0
//
// Random numbers, `tvm.contrib.random.*`. With seeds they are TVM's, digit for digit: those of
// libstdc++'s distributions over std::mt19937.
//
// source   apache/tvm src/runtime/contrib/random/random.cc, mt_random_engine.cc
#include "arguments.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/device_name.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/half.hpp>
#include <gantry/tensor_text.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>

namespace gantry::contrib {
namespace {

using Engine = std::mt19937;

// The finalizer of SplitMix64.
std::uint64_t mixed(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

std::uint32_t seed_of(std::int64_t first, std::int64_t second) {
  const auto a = static_cast<std::uint64_t>(first), b = static_cast<std::uint64_t>(second);
  const std::uint64_t seed = mixed(a) ^ (mixed(b) + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2));
  return static_cast<std::uint32_t>((seed >> 32) ^ seed);
}

// The engine of calls without seeds: two threads, and two processes, have other numbers.
Engine& engine_of_thread() {
  thread_local Engine engine([] {
    static std::atomic<std::int64_t> threads = 0;
    return seed_of(std::chrono::system_clock::now().time_since_epoch().count(), ++threads);
  }());
  return engine;
}

// In [0, 1).
float next_unit(Engine& engine) {
  const float unit = static_cast<float>(engine()) / 4294967296.0F;
  return unit < 1.0F ? unit : std::nextafter(1.0F, 0.0F);
}

// Of the standard normal distribution, by Marsaglia's polar method.
class NormalNumbers {
 public:
  float next(Engine& engine) {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    float x = 0, y = 0, square = 0;
    do {
      x = 2.0F * next_unit(engine) - 1.0F;
      y = 2.0F * next_unit(engine) - 1.0F;
      square = x * x + y * y;
    } while (square > 1.0F || square == 0.0F);
    const float factor = std::sqrt(-2.0F * std::log(square) / square);
    second_ = x * factor;
    has_second_ = true;
    return y * factor;
  }

 private:
  float second_ = 0;
  bool has_second_ = false;
};

Result<std::int64_t> count_of(const gantry_tensor& tensor) {
  const std::uint64_t unit = element_bytes(tensor.dtype);
  if (is_empty(tensor) || unit == 0) return 0;
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(tensor), tensor.dtype));
  return static_cast<std::int64_t>(bytes / unit);
}

// The arguments of a distribution: seed, seed2, low, high, out, the first two since v0.24.
struct Distribution {
  // mean and deviation, or the limits
  double first = 0, second = 0;
  const gantry_tensor* out = nullptr;
  std::int64_t count = 0;
  bool has_seeds = false;
  Engine seeded;

  Engine& engine() { return has_seeds ? seeded : engine_of_thread(); }
};

// Errors of a call with three arguments have the names of those.
Call in_form(const Call& call, std::string_view short_usage) {
  return call.args.size() == 3 ? Call{short_usage, call.env, call.args} : call;
}

Result<Distribution> distribution_of(const Call& call) {
  if (call.args.size() != 3 && call.args.size() != 5) {
    return call.refuse("argument count is ", call.args.size(), ", expected 3, or 5 with seeds")
        .with_reason("ARGUMENT_COUNT");
  }
  const std::size_t begin = call.args.size() - 3;
  Distribution numbers;
  if (begin != 0) {
    GANTRY_TRY(const std::int64_t seed, call.integer(0));
    GANTRY_TRY(const std::int64_t second, call.integer(1));
    numbers.has_seeds = seed != 0 || second != 0;
    if (numbers.has_seeds) numbers.seeded.seed(seed_of(seed, second));
  }
  GANTRY_TRY(numbers.first, call.real(begin));
  GANTRY_TRY(numbers.second, call.real(begin + 1));
  GANTRY_TRY(numbers.out, compact_at(call, begin + 2));
  if (!same_dtype(numbers.out->dtype, dtypes::float32))
    return call.wrong(begin + 2, "a tensor of float32");
  GANTRY_TRY(numbers.count, count_of(*numbers.out));
  return numbers;
}

Result<Value> uniform(const Services& services, const Call& given) {
  const Call call = in_form(given, "uniform(low, high, out)");
  GANTRY_TRY(Distribution numbers, distribution_of(call));
  if (!(numbers.first < numbers.second)) {
    return call.refuse("the numbers are from ", numbers.first, " to below ", numbers.second);
  }
  const auto low = static_cast<float>(numbers.first), high = static_cast<float>(numbers.second);
  float* const out = data_of<float>(*numbers.out);
  Engine& engine = numbers.engine();
  const Work work{services.host, call.env, services.threads};
  GANTRY_CHECK(work.for_each({0, numbers.count}, [&](std::int64_t i) {
    out[i] = next_unit(engine) * (high - low) + low;
  }));
  return Value();
}

Result<Value> normal(const Services& services, const Call& given) {
  const Call call = in_form(given, "normal(mean, deviation, out)");
  GANTRY_TRY(Distribution numbers, distribution_of(call));
  if (!(numbers.second > 0)) {
    return call.refuse("the deviation is ", numbers.second, ", expected a positive number");
  }
  const auto mean = static_cast<float>(numbers.first),
             deviation = static_cast<float>(numbers.second);
  float* const out = data_of<float>(*numbers.out);
  Engine& engine = numbers.engine();
  NormalNumbers standard;
  const Work work{services.host, call.env, services.threads};
  GANTRY_CHECK(work.for_each({0, numbers.count}, [&](std::int64_t i) {
    out[i] = standard.next(engine) * deviation + mean;
  }));
  return Value();
}

template <class T>
Status fill_integers(const Services& services, const Call& call, std::int64_t low,
                     std::int64_t high, const gantry_tensor& out) {
  low = std::max<std::int64_t>(low, std::numeric_limits<T>::min());
  high = std::min<std::int64_t>(high, std::int64_t{std::numeric_limits<T>::max()} + 1);
  if (low >= high) {
    return call.refuse("no number of ", dtype_text(out.dtype), " is from ", low, " to below ",
                       high);
  }
  GANTRY_TRY(const std::int64_t count, count_of(out));
  T* const to = data_of<T>(out);
  Engine& engine = engine_of_thread();
  const auto range = static_cast<std::uint64_t>(high - low);
  const Work work{services.host, call.env, services.threads};
  return work.for_each({0, count}, [&](std::int64_t i) {
    to[i] = static_cast<T>(low + static_cast<std::int64_t>(engine() % range));
  });
}

Result<Value> randint(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const std::int64_t low, call.integer(0));
  GANTRY_TRY(const std::int64_t high, call.integer(1));
  GANTRY_TRY(const gantry_tensor* const out, compact_at(call, 2));
  if (low >= high) return call.refuse("the numbers are from ", low, " to below ", high);
  const auto fill = [&]<class T>(gantry_dtype dtype, T, Status& done) {
    if (!same_dtype(dtype, out->dtype)) return false;
    done = fill_integers<T>(services, call, low, high, *out);
    return true;
  };
  Status done;
  if (!fill(dtypes::int32, std::int32_t{}, done) && !fill(dtypes::int8, std::int8_t{}, done) &&
      !fill(dtypes::int16, std::int16_t{}, done) && !fill(dtypes::uint8, std::uint8_t{}, done) &&
      !fill(dtypes::uint16, std::uint16_t{}, done) &&
      !fill(dtypes::uint32, std::uint32_t{}, done)) {
    return call.wrong(2, "a tensor of integers of 8, 16 or 32 bits");
  }
  GANTRY_CHECK(std::move(done));
  return Value();
}

// The size of an element alone decides how a number is stored.
template <class T>
T stored(double number);
template <>
std::uint8_t stored(double number) {
  return static_cast<std::uint8_t>(number);
}
template <>
std::uint16_t stored(double number) {
  return half_of(number);
}
template <>
float stored(double number) {
  return static_cast<float>(number);
}
template <>
double stored(double number) {
  return number;
}

template <class T>
Status fill_tensor(const Services& services, const gantry_env* env, const gantry_tensor& out,
                   std::int64_t count) {
  T* const to = data_of<T>(out);
  const Work work{services.host, env, services.threads, services.threads.pieces_of(count)};
  return work.in_pieces(count, [&](Piece piece, std::int64_t) {
    Engine& engine = engine_of_thread();
    std::uniform_real_distribution<double> numbers(1, 10);
    return work.for_each(piece, [&](std::int64_t i) { to[i] = stored<T>(numbers(engine)); });
  });
}

// Fills a tensor on the CPU.
Status fill_any(const Services& services, const Call& call, const gantry_tensor& out) {
  GANTRY_TRY(const std::int64_t elements, count_of(out));
  const std::int64_t count = elements * out.dtype.lanes;
  switch (out.dtype.bits) {
    case 8:
      return fill_tensor<std::uint8_t>(services, call.env, out, count);
    case 16:
      return fill_tensor<std::uint16_t>(services, call.env, out, count);
    case 32:
      return fill_tensor<float>(services, call.env, out, count);
    case 64:
      return fill_tensor<double>(services, call.env, out, count);
    default:
      return call.wrong(0, "a tensor of elements of 8, 16, 32 or 64 bits");
  }
}

// Numbers from 1 to below 10, for measurements.
Result<Value> random_fill(const Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const out, call.tensor(0));
  if (!is_compact(*out)) return call.wrong(0, "a compact tensor");
  if (out->device.type == cpu_device_type) {
    GANTRY_CHECK(check_aligned(call, 0, *out));
    GANTRY_CHECK(fill_any(services, call, *out));
    return Value();
  }
  GANTRY_TRY(const Value filled, services.host.tensor_new(compact_tensor(out->dtype, shape_of(*out),
                                                                         {cpu_device_type, 0})));
  GANTRY_CHECK(fill_any(services, call, *filled.tensor()));
  GANTRY_CHECK(services.host.tensor_copy(*filled.tensor(), *out, call.env));
  return Value();
}

constexpr FunctionRow random_rows[] = {
    {"tvm.contrib.random.uniform", "uniform(seed, seed2, low, high, out)", uniform},
    {"tvm.contrib.random.normal", "normal(seed, seed2, mean, deviation, out)", normal},
    {"tvm.contrib.random.randint", "randint(low, high, out)", randint},
    {"tvm.contrib.random.random_fill", "random_fill(out)", random_fill},
    {"tvm.contrib.random.random_fill_for_measure", "random_fill_for_measure(out)", random_fill},
};

}  // namespace

std::span<const FunctionRow> random_functions() { return random_rows; }

}  // namespace gantry::contrib
