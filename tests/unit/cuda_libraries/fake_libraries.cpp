// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cuda_libraries/fake_libraries.hpp"

#include "tests/unit/cuda_libraries/fake_work.hpp"

#include <algorithm>
#include <cstdint>

namespace gantry::cuda_libraries::test {

FakeLibraries& fake_libraries() {
  static FakeLibraries fake;
  return fake;
}
void FakeLibraries::reset() { *this = {}; }
std::size_t FakeLibraries::count_of(const std::string& function) const {
  return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), function));
}

}  // namespace gantry::cuda_libraries::test

namespace {

using namespace gantry::cuda_libraries::test;

constexpr int invalid_value = 7;

double factor(const void* value, int compute, int scale) {
  return load(value, compute == 72 ? int32 : compute == 70 ? float64 : scale, 0);
}

struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

// cublasLtEpilogue_t: ReLU, bias, and GELU with tanh.
enum : int { no_epilogue = 1, relu = 2, biased = 4, gelu = 32 };

double activated(double value, int epilogue) {
  if ((epilogue & relu) != 0) return std::max(value, 0.0);
  if ((epilogue & gelu) == 0) return value;
  const double inner = std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value);
  return 0.5 * value * (1 + std::tanh(inner));
}

// Checks the arguments as the libraries do, and adds the product to the stream.
int multiply(const FakeProduct& what, const void* alpha, const void* a, const void* b,
             const void* beta, void* c) {
  if (what.m < 0 || what.n < 0 || what.k < 0 || what.count < 0) return invalid_value;
  const std::int64_t a_rows = what.op_a == 0 ? what.m : what.k;
  const std::int64_t b_rows = what.op_b == 0 ? what.k : what.n;
  if (what.lda < std::max<std::int64_t>(a_rows, 1) ||
      what.ldb < std::max<std::int64_t>(b_rows, 1) || what.ldc < std::max<std::int64_t>(what.m, 1))
    return invalid_value;
  fake_libraries().products.push_back(what);
  const double scale = factor(alpha, what.compute, float32);
  const double kept = factor(beta, what.compute, float32);
  add(what.stream, [=] {
    for (std::int64_t batch = 0; batch < what.count; ++batch) {
      for (std::int64_t column = 0; column < what.n; ++column) {
        for (std::int64_t row = 0; row < what.m; ++row) {
          double sum = 0;
          for (std::int64_t i = 0; i < what.k; ++i) {
            const std::int64_t at_a = what.op_a == 0 ? row + i * what.lda : i + row * what.lda;
            const std::int64_t at_b =
                what.op_b == 0 ? i + column * what.ldb : column + i * what.ldb;
            sum += load(a, what.input, batch * what.a_step + at_a) *
                   load(b, what.input, batch * what.b_step + at_b);
          }
          const std::int64_t at = batch * what.c_step + row + column * what.ldc;
          const double before = kept == 0 ? 0 : kept * load(c, what.output, at);
          const double added = what.bias == nullptr ? 0 : load(what.bias, what.output, row);
          store(c, what.output, at, activated(scale * sum + before + added, what.epilogue));
        }
      }
    }
  });
  return 0;
}

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t distance;
  std::int32_t count = 1;
  std::int64_t step = 0;
};
struct Matmul {
  int compute, scale;
  int op_a = 0, op_b = 0, epilogue = no_epilogue;
  const void* bias = nullptr;
};
struct Preference {
  std::size_t max_workspace = 0;
  // of a, b, c and d
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};

struct Generator {
  void* stream = nullptr;
  unsigned long long state = 0;
  double next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (static_cast<double>(state >> 40) + 1) / double{1 << 24};
  }
};

}  // namespace

extern "C" {

int cublasCreate_v2(void** handle) {
  ENTER(cublasCreate_v2);
  return made(handle, new Handle);
}
int cublasDestroy_v2(void* handle) {
  enter("cublasDestroy_v2");
  return freed<Handle>(handle);
}
// Also forgets the workspace, as the library does.
int cublasSetStream_v2(void* handle, void* stream) {
  ENTER(cublasSetStream_v2);
  *static_cast<Handle*>(handle) = {stream};
  return 0;
}
int cublasSetWorkspace_v2(void* handle, void* workspace, std::size_t bytes) {
  ENTER(cublasSetWorkspace_v2);
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return invalid_value;
  static_cast<Handle*>(handle)->workspace = workspace;
  static_cast<Handle*>(handle)->workspace_bytes = bytes;
  return 0;
}
int cublasGemmEx(void* given, int op_a, int op_b, int m, int n, int k, const void* alpha,
                 const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                 const void* beta, void* c, int c_type, int ldc, int compute, int algorithm) {
  ENTER(cublasGemmEx);
  if (a_type != b_type || algorithm != -1) return invalid_value;
  const Handle& handle = *static_cast<Handle*>(given);
  return multiply({"cublasGemmEx", op_a, op_b, m, n, k, a_type, c_type, compute, lda, ldb, ldc, 0,
                   0, 0, 1, handle.stream, handle.workspace, handle.workspace_bytes},
                  alpha, a, b, beta, c);
}
int cublasGemmStridedBatchedEx(void* given, int op_a, int op_b, int m, int n, int k,
                               const void* alpha, const void* a, int a_type, int lda,
                               long long a_step, const void* b, int b_type, int ldb,
                               long long b_step, const void* beta, void* c, int c_type, int ldc,
                               long long c_step, int count, int compute, int algorithm) {
  ENTER(cublasGemmStridedBatchedEx);
  if (a_type != b_type || algorithm != -1) return invalid_value;
  const Handle& handle = *static_cast<Handle*>(given);
  return multiply(
      {"cublasGemmStridedBatchedEx", op_a, op_b, m, n, k, a_type, c_type, compute, lda, ldb, ldc,
       a_step, b_step, c_step, count, handle.stream, handle.workspace, handle.workspace_bytes},
      alpha, a, b, beta, c);
}

int cublasLtCreate(void** handle) {
  ENTER(cublasLtCreate);
  return made(handle, new Handle);
}
int cublasLtDestroy(void* handle) {
  enter("cublasLtDestroy");
  return freed<Handle>(handle);
}
int cublasLtMatmulDescCreate(void** matmul, int compute, int scale) {
  ENTER(cublasLtMatmulDescCreate);
  return made(matmul, new Matmul{compute, scale});
}
int cublasLtMatmulDescDestroy(void* matmul) { return freed<Matmul>(matmul); }
int cublasLtMatmulDescSetAttribute(void* given, int attribute, const void* value,
                                   std::size_t bytes) {
  ENTER(cublasLtMatmulDescSetAttribute);
  Matmul& matmul = *static_cast<Matmul*>(given);
  int* const numbers[] = {&matmul.op_a, &matmul.op_b, nullptr, nullptr, &matmul.epilogue};
  constexpr int first = 3, bias_pointer = 8;
  if (attribute == bias_pointer) {
    if (bytes != sizeof(void*)) return invalid_value;
    matmul.bias = *static_cast<const void* const*>(value);
    return 0;
  }
  if (attribute < first || attribute >= bias_pointer || numbers[attribute - first] == nullptr ||
      bytes != sizeof(int))
    return invalid_value;
  *numbers[attribute - first] = *static_cast<const int*>(value);
  return 0;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t distance) {
  ENTER(cublasLtMatrixLayoutCreate);
  return made(layout, new Layout{type, rows, columns, distance});
}
int cublasLtMatrixLayoutDestroy(void* layout) { return freed<Layout>(layout); }
int cublasLtMatrixLayoutSetAttribute(void* given, int attribute, const void* value,
                                     std::size_t bytes) {
  ENTER(cublasLtMatrixLayoutSetAttribute);
  Layout& layout = *static_cast<Layout*>(given);
  if (attribute == 5 && bytes == sizeof layout.count) {
    layout.count = *static_cast<const std::int32_t*>(value);
  } else if (attribute == 6 && bytes == sizeof layout.step) {
    layout.step = *static_cast<const std::int64_t*>(value);
  } else {
    return invalid_value;
  }
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  ENTER(cublasLtMatmulPreferenceCreate);
  return made(preference, new Preference);
}
int cublasLtMatmulPreferenceDestroy(void* preference) { return freed<Preference>(preference); }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         std::size_t bytes) {
  ENTER(cublasLtMatmulPreferenceSetAttribute);
  constexpr int first_alignment = 5, last_alignment = 8;
  if (attribute >= first_alignment && attribute <= last_alignment &&
      bytes == sizeof(std::uint32_t)) {
    static_cast<Preference*>(preference)->alignments[attribute - first_alignment] =
        *static_cast<const std::uint32_t*>(value);
    return 0;
  }
  if (attribute != 1 || bytes != sizeof(std::uint64_t)) return invalid_value;
  static_cast<Preference*>(preference)->max_workspace = *static_cast<const std::uint64_t*>(value);
  return 0;
}
// The choice is 96 bytes: an algorithm of 64 and the size of its workspace.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void* preference,
                                   int max_count, void* choices, int* count) {
  ENTER(cublasLtMatmulAlgoGetHeuristic);
  *count = std::min(max_count, fake_libraries().choices);
  auto* const words = static_cast<std::uint64_t*>(choices);
  words[0] = 0xa190;
  // The algorithm reads as many bytes at once as the addresses may have.
  std::copy_n(static_cast<Preference*>(preference)->alignments, 4,
              reinterpret_cast<std::uint32_t*>(words + 1));
  words[8] = std::min(fake_libraries().chosen_workspace,
                      static_cast<Preference*>(preference)->max_workspace);
  return 0;
}
int cublasLtMatmul(void*, void* given, const void* alpha, const void* a, void* a_layout,
                   const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                   void* d, void* d_layout, const void* algorithm, void* workspace,
                   std::size_t bytes, void* stream) {
  ENTER(cublasLtMatmul);
  if (c != d || c_layout != d_layout) return invalid_value;
  if (*static_cast<const std::uint64_t*>(algorithm) != 0xa190) return invalid_value;
  std::uint32_t alignments[4];
  std::copy_n(static_cast<const std::uint32_t*>(algorithm) + 2, 4, alignments);
  const void* const addresses[] = {a, b, c, d};
  for (std::size_t i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(addresses[i]) % alignments[i] != 0)
      fault("a product reads addresses of another alignment than its algorithm");
  }
  const Matmul& matmul = *static_cast<Matmul*>(given);
  const Layout &first = *static_cast<Layout*>(a_layout), &second = *static_cast<Layout*>(b_layout),
               &output = *static_cast<Layout*>(d_layout);
  const auto number = [](std::uint64_t extent) { return static_cast<std::int64_t>(extent); };
  const std::uint64_t k = matmul.op_a == 0 ? first.columns : first.rows;
  if ((matmul.op_a == 0 ? first.rows : first.columns) != output.rows ||
      (matmul.op_b == 0 ? second.columns : second.rows) != output.columns ||
      (matmul.op_b == 0 ? second.rows : second.columns) != k || first.count != output.count ||
      second.count != output.count)
    return invalid_value;
  if (((matmul.epilogue & biased) != 0) != (matmul.bias != nullptr)) return invalid_value;
  return multiply({"cublasLtMatmul",
                   matmul.op_a,
                   matmul.op_b,
                   number(output.rows),
                   number(output.columns),
                   number(k),
                   first.type,
                   output.type,
                   matmul.compute,
                   first.distance,
                   second.distance,
                   output.distance,
                   first.step,
                   second.step,
                   output.step,
                   output.count,
                   stream,
                   workspace,
                   bytes,
                   matmul.epilogue,
                   matmul.bias},
                  alpha, a, b, beta, d);
}

int curandCreateGenerator(void** generator, int type) {
  ENTER(curandCreateGenerator);
  if (type != 100) return 103;
  return made(generator, new Generator);
}
int curandDestroyGenerator(void* generator) {
  enter("curandDestroyGenerator");
  return freed<Generator>(generator);
}
int curandSetPseudoRandomGeneratorSeed(void* generator, unsigned long long seed) {
  ENTER(curandSetPseudoRandomGeneratorSeed);
  fake_libraries().seeds.push_back(seed);
  static_cast<Generator*>(generator)->state = seed;
  return 0;
}
int curandSetStream(void* generator, void* stream) {
  ENTER(curandSetStream);
  static_cast<Generator*>(generator)->stream = stream;
  return 0;
}
int curandGenerateUniform(void* given, float* out, std::size_t count) {
  ENTER(curandGenerateUniform);
  auto* const generator = static_cast<Generator*>(given);
  fake_libraries().generator_streams.push_back(generator->stream);
  add(generator->stream, [=, state = *generator]() mutable {
    std::generate_n(out, count, [&] { return static_cast<float>(state.next()); });
  });
  return 0;
}
int curandGenerateUniformDouble(void* given, double* out, std::size_t count) {
  ENTER(curandGenerateUniformDouble);
  auto* const generator = static_cast<Generator*>(given);
  fake_libraries().generator_streams.push_back(generator->stream);
  add(generator->stream, [=, state = *generator]() mutable {
    std::generate_n(out, count, [&] { return state.next(); });
  });
  return 0;
}
}
