// SPDX-License-Identifier: Apache-2.0
#include "executor.hpp"

#include <gantry/call_streams.hpp>
#include <gantry/device_name.hpp>

#include <utility>

namespace gantry::aot {

Result<std::unique_ptr<Executor>> Executor::create(const Source& source, const gantry_env* env) {
  GANTRY_TRY(Model model, find_model(source.host, source.node, env));
  std::unique_ptr<Executor> executor(new Executor(source, std::move(model)));
  GANTRY_CHECK(executor->memory_.create(*source.payload, source.with_parameters, env));
  GANTRY_CHECK(executor->prepare());
  return executor;
}

Status Executor::prepare() {
  batches_ = host_.extension<gantry_batch>(GANTRY_BATCH_1);
  if (batches_ == nullptr) return {};
  const std::span<const gantry_value> args = memory_.arguments();
  const gantry_batch_call call{model_.function.get(),
                               args.data(),
                               static_cast<std::int32_t>(args.size()),
                               0,
                               {cpu_device_type, 0}};
  gantry_object* batch = nullptr;
  StatusBuffer status;
  if (const gantry_code code = batches_->prepare(host_.table(), &call, 1, &batch, status.get()))
    return status.error(code, "prepare of gantry.batch/1");
  batch_ = ObjectRef::adopt(batch);
  return {};
}

// The host records single calls in a trace, and not those of a batch.
gantry_code Executor::run(const gantry_env* env, gantry_status* status) {
  const gantry_host* const host = host_.table();
  if (batch_ && !trace_.is_recording()) [[likely]] {
    std::uint64_t failed = GANTRY_NO_CALL;
    return batches_->run(host, batch_.get(), env, &failed, status);
  }
  const std::span<const gantry_value> args = memory_.arguments();
  const CallStreams streams(env != nullptr ? *env : gantry_env{});
  const gantry_env where = streams.on({cpu_device_type, 0});
  gantry_value result{};
  const gantry_code code = host->call(host, model_.function.get(), &where, args.data(),
                                      static_cast<std::int32_t>(args.size()), &result, status);
  if (result.kind >= GANTRY_OBJECT) gantry_release(result.object);
  return code;
}

}  // namespace gantry::aot
