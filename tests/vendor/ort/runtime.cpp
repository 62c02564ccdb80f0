// SPDX-License-Identifier: Apache-2.0
#include "runtime.hpp"

#include <gantry/library.hpp>

#include <algorithm>
#include <string>

namespace ort {

using gantry::Result, gantry::Status;

Result<std::unique_ptr<Runtime>> Runtime::open(gantry::Host host) {
  constexpr std::uint32_t version = 1;
  const std::string name = host.option_text("library");
  GANTRY_TRY(const gantry::Library library, gantry::Library::open("ONNX Runtime", {name.c_str()}));
  const ApiBase* (*base)() = nullptr;
  GANTRY_CHECK(library.bind({gantry::required("OrtGetApiBase", base)}));
  const Api* const api = base()->GetApi(version);
  if (api == nullptr) {
    return gantry::unavailable("ONNX Runtime ", base()->GetVersionString(), " in ", name,
                               " lacks version ", version, " of its API")
        .with_reason("DRIVER_TOO_OLD");
  }
  std::unique_ptr<Runtime> runtime(new Runtime(api));
  GANTRY_CHECK(runtime->create(host));
  return runtime;
}

Status Runtime::create(gantry::Host host) {
  OrtEnv* environment = nullptr;
  GANTRY_CHECK(check(api_->CreateEnv(log_level_error, "gantry", &environment)));
  environment_ = {environment, {api_->ReleaseEnv}};
  OrtSessionOptions* options = nullptr;
  GANTRY_CHECK(check(api_->CreateSessionOptions(&options)));
  options_ = {options, {api_->ReleaseSessionOptions}};
  const auto threads = host.option("threads");
  const std::int64_t count = threads ? gantry::value_int(*threads).value_or(1) : 1;
  GANTRY_CHECK(check(api_->SetIntraOpNumThreads(
      options, static_cast<int>(std::clamp<std::int64_t>(count, 1, 256)))));
  OrtMemoryInfo* memory = nullptr;
  GANTRY_CHECK(check(api_->CreateCpuMemoryInfo(arena_allocator, default_memory, &memory)));
  memory_ = {memory, {api_->ReleaseMemoryInfo}};
  return check(api_->GetAllocatorWithDefaultOptions(&allocator_));
}

Status Runtime::check(OrtStatus* status) const {
  if (status == nullptr) return {};
  const Owned<OrtStatus> owned(status, {api_->ReleaseStatus});
  const int code = api_->GetErrorCode(status);
  return gantry::Error(code == not_implemented ? gantry::Code::unsupported : gantry::Code::invalid,
                       gantry::Message::lines(api_->GetErrorMessage(status)))
      .native("ONNXRUNTIME", code)
      .with_reason("DRIVER_CALL");
}

}  // namespace ort
