// SPDX-License-Identifier: Apache-2.0
#include "curand.hpp"

#include "find_library.hpp"

#include <random>

namespace gantry::cuda_libraries {
namespace {

constexpr StatusName curand_statuses[] = {
    {100, "CURAND_STATUS_VERSION_MISMATCH", Code::unavailable},
    {101, "CURAND_STATUS_NOT_INITIALIZED", Code::unavailable},
    {102, "CURAND_STATUS_ALLOCATION_FAILED", Code::exhausted},
    {103, "CURAND_STATUS_TYPE_ERROR", Code::invalid},
    {104, "CURAND_STATUS_OUT_OF_RANGE", Code::invalid},
    {105, "CURAND_STATUS_LENGTH_NOT_MULTIPLE", Code::invalid},
    {106, "CURAND_STATUS_DOUBLE_PRECISION_REQUIRED", Code::unsupported},
    {201, "CURAND_STATUS_LAUNCH_FAILURE", Code::unavailable},
    {202, "CURAND_STATUS_PREEXISTING_FAILURE", Code::unavailable},
    {203, "CURAND_STATUS_INITIALIZATION_FAILED", Code::unavailable},
    {204, "CURAND_STATUS_ARCH_MISMATCH", Code::unsupported},
    {999, "CURAND_STATUS_INTERNAL_ERROR", Code::unavailable},
};

constexpr const char* curand_sonames[] = {"libcurand.so.10"};
constexpr LibraryNames curand_names{"cuRAND", curand_sonames,       "curand",
                                    "curand", "nvidia-curand-cu12", "libcurand10"};

}  // namespace

Failure curand_failure(std::string_view function, int status) {
  return status_failure("cuRAND", curand_statuses, function, status);
}

Result<std::unique_ptr<const Curand>> Curand::open(const std::string& named) {
  GANTRY_TRY(const Library library, open_library(curand_names, named));
  auto made = std::make_unique<Curand>();
  made->name = library.name();
  GANTRY_CHECK(library.bind({
      required("curandCreateGenerator", made->create),
      required("curandDestroyGenerator", made->destroy),
      required("curandSetPseudoRandomGeneratorSeed", made->set_seed),
      required("curandSetStream", made->set_stream),
      required("curandGenerateUniform", made->uniform_float),
      required("curandGenerateUniformDouble", made->uniform_double),
  }));
  return std::unique_ptr<const Curand>(std::move(made));
}

Result<std::unique_ptr<CurandGenerator>> CurandGenerator::create(const Curand& api, const Driver&) {
  void* made = nullptr;
  if (const int status = api.create(&made, Curand::default_generator); status != 0)
    return curand_failure("curandCreateGenerator", status);
  auto generator = std::make_unique<CurandGenerator>(api, made);
  std::random_device device;
  const unsigned long long seed = (std::uint64_t{device()} << 32) | device();
  if (const int status = api.set_seed(made, seed); status != 0)
    return curand_failure("curandSetPseudoRandomGeneratorSeed", status);
  return generator;
}

}  // namespace gantry::cuda_libraries
