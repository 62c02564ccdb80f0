// SPDX-License-Identifier: Apache-2.0
//
// `runtime.contrib.curand.RandomFill`: uniform numbers from cuRAND.
//
// source   apache/tvm src/runtime/contrib/curand/curand.cc
#include "function.hpp"

#include <gantry/dtype_text.hpp>
#include <gantry/tensor_text.hpp>
#include <gantry/trace.hpp>

namespace gantry::cuda_libraries {
namespace {

Status generate(Services& services, const Call& call, const gantry_tensor& out,
                std::uint64_t count) {
  GANTRY_TRY(const Driver* const driver, services.driver());
  GANTRY_TRY(const Curand* const curand, services.curand());
  GANTRY_TRY(const Session session, Session::begin(*driver, services.host, *call.env, out.device));
  const TracedWork traced(services.host, concat("RandomFill with ", curand->name), "library");
  GANTRY_TRY(const auto generator, services.generators.take(*curand, *driver, session));
  if (const int status = curand->set_stream(generator->generator, session.stream()); status != 0)
    return curand_failure("curandSetStream", status);
  void* const data = address_of(out);
  if (same_dtype(out.dtype, dtypes::float64)) {
    const int status =
        curand->uniform_double(generator->generator, static_cast<double*>(data), count);
    if (status != 0) return curand_failure("curandGenerateUniformDouble", status);
    return {};
  }
  Session::Memory floats;
  if (same_dtype(out.dtype, dtypes::float16)) {
    if (session.is_captured()) {
      return unsupported(call.usage, ": a captured run cannot fill ", tensor_text(out),
                         ", whose numbers are float32 first, in memory of this call")
          .with_reason("CAPTURE");
    }
    if (!generator->halves) {
      GANTRY_TRY(HalfConversion halves, HalfConversion::create(*driver));
      generator->halves.emplace(std::move(halves));
    }
    GANTRY_TRY(floats, session.allocate(count * sizeof(float)));
  }
  void* const to = floats.data() != nullptr ? floats.data() : data;
  const int status = curand->uniform_float(generator->generator, static_cast<float*>(to), count);
  if (status != 0) return curand_failure("curandGenerateUniform", status);
  if (to == data) return {};
  return generator->halves->run(to, data, count, session.stream());
}

Result<Value> random_fill(Services& services, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const gantry_tensor* const out, compact_cuda_at(call, 0));
  bool is_known = false;
  for (const gantry_dtype type : {dtypes::float16, dtypes::float32, dtypes::float64})
    is_known = is_known || same_dtype(out->dtype, type);
  if (!is_known) return call.wrong(0, "a tensor of float16, float32 or float64");
  if (is_empty(*out)) return Value();
  GANTRY_TRY(const std::uint64_t bytes, tensor_bytes(shape_of(*out), out->dtype));
  GANTRY_CHECK(generate(services, call, *out, bytes / element_bytes(out->dtype)));
  return Value();
}

constexpr FunctionRow random_rows[] = {
    {"runtime.contrib.curand.RandomFill", "RandomFill(out)", random_fill},
};

}  // namespace

std::span<const FunctionRow> random_functions() { return random_rows; }

}  // namespace gantry::cuda_libraries
