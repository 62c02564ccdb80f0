// SPDX-License-Identifier: Apache-2.0
//
// Functions of gantry.contrib beside those of Apache TVM's runtime, in one process and on the same
// memory.
//
//     contrib_times TREE LIBRARIES [--max N] [--only TEXT] [PRODUCT...]
//
// TREE     with gantry's plugins: build/release
// LIBRARIES
//          the directory of the wheel's libraries: site-packages/tvm/lib
// --max    lists of at most N elements, 10,000,000 by default
// --only   rows whose name contains TEXT
// PRODUCT  files that compile_products.py writes; the name ends with the size: matmul_256.so
//
// All sides of a row take turns, at least 7 times. A side on one thread is timed by the clock of that
// thread, so that other load of the machine does not count; two threads are compared with one by the
// wall clock. Exit code 1: a limit is missed.
#include <gantry/dtype_text.hpp>
#include <gantry/embed.hpp>

#include <dlfcn.h>
#include <dlpack/dlpack.h>
#include <time.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::bench {
namespace {

[[noreturn]] void fail(std::string_view text) {
  std::fprintf(stderr, "error: %.*s\n", static_cast<int>(text.size()), text.data());
  std::exit(2);
}
template <class T>
T or_exit(Result<T> result) {
  if (!result.ok()) fail(result.error().message.text());
  return std::move(*result);
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The memory of one of gantry's tensors for the peer.
DLTensor view_of(const Tensor& tensor) {
  static_assert(sizeof(DLTensor) == sizeof(gantry_tensor));
  DLTensor view;
  std::memcpy(&view, tensor.dlpack(), sizeof view);
  return view;
}

struct Side {
  std::function<void()> run;
  // seconds of a run, of the thread and of the wall clock
  std::vector<double> thread = {}, wall = {};
};

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

void measure(std::vector<Side*> sides) {
  // Runs that are shorter than the resolution of a clock are timed together.
  int batch = 1;
  for (Side* const side : sides) {
    side->run();
    const double start = seconds(CLOCK_MONOTONIC);
    side->run();
    const double once = seconds(CLOCK_MONOTONIC) - start;
    batch = std::max(batch, static_cast<int>(std::min(1e-3 / once, 1e4)));
  }
  const double end = seconds(CLOCK_MONOTONIC) + 0.5;
  for (int turn = 0; turn < 7 || (turn < 101 && seconds(CLOCK_MONOTONIC) < end); ++turn) {
    for (Side* const side : sides) {
      // Wakes threads, which sleep while the other sides run.
      side->run();
      const double wall = seconds(CLOCK_MONOTONIC), thread = seconds(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < batch; ++i) side->run();
      side->thread.push_back((seconds(CLOCK_THREAD_CPUTIME_ID) - thread) / batch);
      side->wall.push_back((seconds(CLOCK_MONOTONIC) - wall) / batch);
    }
  }
}

class Table {
 public:
  explicit Table(std::string only) : only_(std::move(only)) {}

  bool has(const std::string& what) const { return what.find(only_) != std::string::npos; }
  // Measures a row.
  //
  // limit      [in]   0: none
  // on_two     [in]   the same as `gantry` on two threads; may be empty
  // limit_on_two
  //            [in]   of its wall time beside one thread's
  void row(const std::string& what, double limit, const std::function<void()>& gantry,
           const std::function<void()>& tvm, const std::function<void()>& on_two = {},
           double limit_on_two = 0) {
    Side ours{gantry}, peer{tvm}, two{on_two};
    std::vector<Side*> sides{&ours, &peer};
    if (on_two) sides.push_back(&two);
    measure(sides);
    const double ratio = median(ours.thread) / median(peer.thread);
    print(what, limit, ratio, 1e6 * median(ours.thread), 1e6 * median(peer.thread));
    if (!on_two) return;
    const double of_one = median(two.wall) / median(ours.wall);
    print(what + ", two threads beside one", limit_on_two, of_one, 1e6 * median(two.wall),
          1e6 * median(ours.wall));
  }
  bool has_missed() const { return has_missed_; }

 private:
  void print(const std::string& what, double limit, double ratio, double us, double peer_us) {
    const bool is_met = limit == 0 || ratio <= limit;
    has_missed_ |= !is_met;
    char limit_text[16] = "none";
    if (limit != 0) std::snprintf(limit_text, sizeof limit_text, "%.1f", limit);
    std::printf("| %s | %s | %.2f | %s | %.1f us | %.1f us |\n", what.c_str(), limit_text, ratio,
                limit == 0 ? ""
                : is_met   ? "met"
                           : "MISSED",
                us, peer_us);
    std::fflush(stdout);
  }

  std::string only_;
  bool has_missed_ = false;
};

// One function on both sides.
struct Named {
  Function one, two;
  tvm::ffi::Function tvm;
};

class Functions {
 public:
  explicit Functions(const std::string& tree) : one_(runtime(tree, 1)), two_(runtime(tree, 2)) {}

  const Runtime& runtime() const { return one_; }
  Named named(const char* name) const {
    return {or_exit(one_.function(name)), or_exit(two_.function(name)),
            tvm::ffi::Function::GetGlobalRequired(name)};
  }

 private:
  static Runtime runtime(const std::string& tree, int threads) {
    RuntimeOptions options;
    options.plugin_paths = {tree + "/share/gantry/plugins.d"};
    options.only_these_plugins = true;
    options.log_level = "error";
    options.threads = threads;
    return or_exit(Runtime::create(options));
  }

  Runtime one_, two_;
};

enum class Order { random, ascending, equal };
constexpr const char* order_names[] = {"random", "ascending", "equal"};

template <class T>
void fill(std::span<T> elements, Order order) {
  std::mt19937_64 engine(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t drawn = engine();
    if (order == Order::equal) {
      elements[i] = 7;
    } else if (order == Order::ascending) {
      elements[i] = static_cast<T>(i);
    } else if constexpr (std::is_integral_v<T>) {
      elements[i] = static_cast<T>(drawn);
    } else {
      elements[i] = static_cast<T>(std::ldexp(static_cast<double>(drawn >> 11), -53));
    }
  }
}

struct Element {
  const char* name;
  gantry_dtype dtype;
};
constexpr Element element_types[] = {{"float32", dtypes::float32}, {"int64", dtypes::int64}};

Tensor list(const Functions& functions, const Element& element, std::int64_t size, Order order) {
  const Tensor made = or_exit(functions.runtime().tensor({size}, element.dtype));
  if (same_dtype(element.dtype, dtypes::float32)) {
    fill(made.elements<float>(), order);
  } else {
    fill(made.elements<std::int64_t>(), order);
  }
  return made;
}

void check_equal(const std::string& what, const Tensor& a, const Tensor& b) {
  if (std::memcmp(a.data(), b.data(), a.byte_size()) != 0)
    fail(what + ": gantry and TVM return other bytes");
}

void add_sorts(Table& table, const Functions& functions, std::int64_t max) {
  for (const bool is_arg : {false, true}) {
    const std::string name = is_arg ? "argsort" : "sort";
    const Named function = functions.named(("tvm.contrib.sort." + name).c_str());
    for (const Element& element : element_types) {
      for (std::int64_t size = 1000; size <= max; size *= 10) {
        for (const Order order : {Order::random, Order::ascending, Order::equal}) {
          const std::string what = name + " of " + std::to_string(size) + " " + element.name +
                                   ", " + order_names[static_cast<int>(order)];
          if (!table.has(what)) continue;
          const Tensor input = list(functions, element, size, order);
          const gantry_dtype type = is_arg ? dtypes::int32 : element.dtype;
          const Tensor ours = or_exit(functions.runtime().tensor({size}, type));
          const Tensor theirs = or_exit(functions.runtime().tensor({size}, type));
          DLTensor in = view_of(input), out = view_of(theirs);
          const auto gantry = [&] { or_exit(function.one(input, ours, 0, true)); };
          const auto on_two = [&] { or_exit(function.two(input, ours, 0, true)); };
          const auto tvm = [&] { function.tvm(&in, &out, 0, true); };
          tvm();
          for (const std::function<void()>& run : {std::function<void()>(on_two), {gantry}}) {
            std::memset(ours.data(), 0, ours.byte_size());
            run();
            check_equal(what, ours, theirs);
          }
          // Below, waking a thread takes longer than the work, so gantry uses one.
          table.row(what, 1.0, gantry, tvm, on_two, size >= 100000 ? 0.7 : 0);
        }
      }
    }
  }
}

void add_topk(Table& table, const Functions& functions) {
  constexpr std::int64_t size = 100'000;
  const Named function = functions.named("tvm.contrib.sort.topk");
  for (const Element& element : element_types) {
    for (const std::int64_t k : {1, 10, 100, 1000}) {
      for (const Order order : {Order::random, Order::ascending, Order::equal}) {
        const std::string what = "topk of 100000 " + std::string(element.name) + ", k " +
                                 std::to_string(k) + ", " + order_names[static_cast<int>(order)];
        if (!table.has(what)) continue;
        const Tensor input = list(functions, element, size, order);
        const auto made = [&](gantry_dtype type) {
          return or_exit(functions.runtime().tensor({k}, type));
        };
        const Tensor ours = made(element.dtype), ours_at = made(dtypes::int64);
        const Tensor theirs = made(element.dtype), theirs_at = made(dtypes::int64);
        DLTensor in = view_of(input), out = view_of(theirs), out_at = view_of(theirs_at);
        const auto gantry = [&] {
          or_exit(function.one(input, ours, ours_at, k, 0, "both", false));
        };
        const auto tvm = [&] { function.tvm(&in, &out, &out_at, k, 0, "both", false); };
        gantry();
        tvm();
        check_equal(what, ours, theirs);
        table.row(what, order == Order::ascending ? 0.2 : 1.0, gantry, tvm);
      }
    }
  }
}

void add_product(Table& table, const Functions& functions, const std::string& file) {
  const std::string stem = std::filesystem::path(file).stem();
  const std::int64_t size = std::strtoll(stem.c_str() + stem.rfind('_') + 1, nullptr, 10);
  const std::string what = "product of " + std::to_string(size) + " x " + std::to_string(size) +
                           " float32, cblas.matmul beside code that TVM compiles";
  if (!table.has(what)) return;
  const Function ours = or_exit(functions.runtime().function("tvm.contrib.cblas.matmul"));
  const tvm::ffi::Module module = tvm::ffi::Module::LoadFromFile(file);
  const tvm::ffi::Function theirs = module->GetFunction("product").value();
  Tensor tensors[4];
  for (Tensor& tensor : tensors)
    tensor = or_exit(functions.runtime().tensor({size, size}, dtypes::float32));
  fill(tensors[0].elements<float>(), Order::random);
  fill(tensors[1].elements<float>(), Order::random);
  DLTensor a = view_of(tensors[0]), b = view_of(tensors[1]), c = view_of(tensors[3]);
  const auto gantry = [&] { or_exit(ours(tensors[0], tensors[1], tensors[2], false, false)); };
  const auto tvm = [&] { theirs(&a, &b, &c); };
  gantry();
  tvm();
  const auto found = tensors[2].elements<float>(), expected = tensors[3].elements<float>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) > 1e-4f * std::abs(expected[i]))
      fail(what + ": gantry and TVM return other numbers");
  }
  table.row(what, 1.0, gantry, tvm);
}

// The library that gantry.contrib has opened.
const char* product_library() {
  for (const char* const name : {"libopenblas.so.0", "libblas.so.3"}) {
    if (dlopen(name, RTLD_NOW | RTLD_NOLOAD) != nullptr) return name;
  }
  return "loops";
}

int run(int argc, char** argv) {
  if (argc < 3) fail("usage: contrib_times TREE LIBRARIES [--max N] [--only TEXT] [PRODUCT...]");
  std::int64_t max = 10'000'000;
  std::string only;
  std::vector<std::string> products;
  for (int i = 3; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--max" && i + 1 < argc) {
      max = std::strtoll(argv[++i], nullptr, 10);
    } else if (word == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      products.emplace_back(word);
    }
  }
  // The second, of newer wheels, needs the first and has the functions of sorting.
  for (const char* const name : {"libtvm_runtime.so", "libtvm_runtime_extra.so"}) {
    const std::filesystem::path file = std::filesystem::path(argv[2]) / name;
    if (!std::filesystem::exists(file)) continue;
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) fail(dlerror());
  }

  const Functions functions(argv[1]);
  Table table(only);
  std::printf(
      "| what | limit | ratio | verdict | gantry | compared with |\n|---|---|---|---|---|---|\n");
  add_sorts(table, functions, max);
  add_topk(table, functions);
  for (const std::string& file : products) add_product(table, functions, file);
  if (!products.empty()) std::printf("products of gantry: %s\n", product_library());
  return table.has_missed() ? 1 : 0;
}

}  // namespace
}  // namespace gantry::bench

int main(int argc, char** argv) { return gantry::bench::run(argc, argv); }
