// SPDX-License-Identifier: Apache-2.0
//
// The modules of kit_plugin as models: sum(x, y) -> z, float32[3], and a second function "_none".
#include "kit_plugin.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace kit {
namespace {

constexpr std::uint32_t kExtent = 3;
constexpr gantry_device_id kHost{1, 0};

// The sum of the defect executors_share_memory.
alignas(64) float shared_memory[kExtent];

struct Executor {
  const Module* module;
  std::int64_t shape[1] = {kExtent};
  // memory for x, and the output of the defect returns_its_memory
  alignas(64) float own_x[kExtent] = {};
  alignas(64) float own_z[kExtent] = {};
  gantry_tensor own{};
  gantry_placement inputs[2] = {};
  gantry_placement output{};
  bool was_cancelled = false;
  bool has_failed = false;
  bool has_seen_zero = false;
  const float* last_x = nullptr;

  explicit Executor(const Module* of) : module(of) {
    own = tensor_over(own_x);
    std::uint32_t alignment = 64;
    if (has("understates_its_alignment")) alignment = 4;
    if (has("aligns_to_3")) alignment = 3;
    inputs[0] = {kHost, alignment, 0, &own};
    inputs[1] = {kHost, alignment, 0, nullptr};
    output = {kHost, 64, 0, nullptr};
    if (has("executors_share_memory")) output.flags = GANTRY_PLACEMENT_REUSED;
  }
  gantry_tensor tensor_over(float* data) { return {data, kHost, 1, {2, 32, 1}, shape, nullptr, 0}; }
};

const float* data_of(const gantry_value& value) {
  const gantry_tensor* const tensor = gantry_value_tensor(&value);
  return reinterpret_cast<const float*>(static_cast<const char*>(tensor->data) +
                                        tensor->byte_offset);
}

gantry_code fail_run(Executor& executor, gantry_executor_run* run, gantry_code code,
                     gantry_status* status) {
  executor.has_failed = true;
  if (has("writes_outputs_of_a_failure")) {
    run->outputs[0].kind = GANTRY_INT;
    run->outputs[0].i = 1;
  }
  if (!has("fails_runs_as_bug")) return code;
  return fail(status, GANTRY_BUG, "BUG", "kit plugin: the host fails");
}

gantry_code run_sum(Executor& executor, const gantry_env* env, gantry_executor_run* run,
                    gantry_status* status) {
  const gantry_host* const host = executor.module->plugin->host;
  if (host->is_cancelled(host, env) != 0 ||
      (has("stays_cancelled_in_runs") && executor.was_cancelled)) {
    executor.was_cancelled = true;
    if (has("ignores_cancelled_runs")) usleep(150 * 1000);
    const bool is_wrong = has("wrong_code_of_cancelled_runs");
    return fail(status, is_wrong ? GANTRY_INVALID : GANTRY_CANCELLED, "CANCELLED",
                "kit plugin: the run is cancelled");
  }
  const float* const x = data_of(run->inputs[0]);
  const float* const y = data_of(run->inputs[1]);
  if (has("understates_its_alignment") && reinterpret_cast<std::uintptr_t>(x) % 64 != 0)
    return fail(status, GANTRY_INVALID, "ALIGNMENT", "kit plugin: x is not aligned to 64");
  if (has("writes_its_inputs")) *const_cast<volatile float*>(x) = x[0];
  if (has("keeps_its_inputs") && executor.last_x != nullptr)
    (void)*static_cast<const volatile float*>(executor.last_x);
  executor.last_x = x;
  if (has("moves_its_placements")) executor.output.alignment = 32;

  float sum[kExtent];
  for (std::uint32_t i = 0; i < kExtent; ++i) sum[i] = x[i] + y[i];
  if (has("sums_wrong") || (has("breaks_after_a_failure") && executor.has_failed) ||
      (has("remembers_runs") && executor.has_seen_zero))
    ++sum[0];
  executor.has_seen_zero = executor.has_seen_zero || x[0] == 0;

  if (const gantry_tensor* const target = gantry_value_tensor(&run->outputs[0])) {
    if (!has("ignores_targets")) std::memcpy(target->data, sum, sizeof sum);
    return GANTRY_OK;
  }
  gantry_value made{};
  gantry_code code = GANTRY_OK;
  if (has("returns_its_memory") || has("executors_share_memory")) {
    float* const memory = has("returns_its_memory") ? executor.own_z : shared_memory;
    const gantry_tensor view = executor.tensor_over(memory);
    code = host->tensor_view(host, &view, nullptr, 0, &made, status);
  } else {
    const gantry_tensor like = executor.tensor_over(nullptr);
    code = host->tensor_new(host, &like, gantry_text(""), 0, &made, status);
  }
  if (code != GANTRY_OK) return fail_run(executor, run, code, status);
  std::memcpy(gantry_value_tensor(&made)->data, sum, sizeof sum);
  run->outputs[0] = made;
  return GANTRY_OK;
}

gantry_code run(void* self, const gantry_env* env, gantry_executor_run* what,
                gantry_status* status) {
  if (what->function == 0) return run_sum(*static_cast<Executor*>(self), env, what, status);
  return GANTRY_OK;
}

gantry_code placements(void* self, std::uint32_t function, const gantry_placement** inputs,
                       const gantry_placement** outputs, gantry_status*) {
  Executor& executor = *static_cast<Executor*>(self);
  *inputs = function == 0 ? executor.inputs : nullptr;
  *outputs = function == 0 ? &executor.output : nullptr;
  return GANTRY_OK;
}

const gantry_executor_table executor_table = {
    sizeof executor_table, 0, [](void* self) { delete static_cast<Executor*>(self); }, placements,
    run};

gantry_code executor_new(void* self, const gantry_env*, const gantry_executor_options* options,
                         gantry_executor* out, gantry_status* status) {
  if ((options->flags & ~std::uint32_t{GANTRY_EXECUTOR_PREPARE}) != 0 &&
      !has("accepts_executor_flags"))
    return fail(status, GANTRY_UNSUPPORTED, "FLAGS", "kit plugin: unknown flags");
  auto* const executor = new (std::nothrow) Executor(static_cast<const Module*>(self));
  if (executor == nullptr) return fail(status, GANTRY_EXHAUSTED, "MEMORY", "kit plugin: no memory");
  *out = {executor, &executor_table};
  return GANTRY_OK;
}

gantry_code info(void*, gantry_model_info* out, gantry_status*) {
  static const gantry_bytes names[] = {gantry_text("sum"), gantry_text("_none")};
  static const gantry_bytes equal[] = {gantry_text("sum"), gantry_text("sum")};
  out->flags = 0;
  out->functions = has("names_a_function_twice") ? equal : names;
  out->function_count = 2;
  out->default_function = has("default_out_of_range") ? 5 : GANTRY_NO_FUNCTION;
  if (has("names_a_function_twice")) out->default_function = 0;
  out->device_types = nullptr;
  out->device_count = 0;
  return GANTRY_OK;
}

// sum(x, y) -> z
struct Signature {
  std::int64_t extent;
  gantry_parameter parameters[3];
  const gantry_parameter* addresses[3];
  gantry_signature table{};

  explicit Signature(std::int64_t stated) : extent(stated) {
    const char* const names[] = {"x", "y", "z"};
    const char* const type = stated == kExtent ? "float32[3]" : "float32[4]";
    for (std::size_t i = 0; i < 3; ++i) {
      gantry_parameter& each = parameters[i];
      each = {};
      each.struct_size = sizeof each;
      each.kind = GANTRY_TENSOR;
      each.name = gantry_text(names[i]);
      each.type = gantry_text(type);
      each.shape = &extent;
      each.ndim = 1;
      each.dtype = {2, 32, 1};
      addresses[i] = &each;
    }
    table.struct_size = sizeof table;
    table.flags = GANTRY_SIGNATURE_OUTPUTS;
    table.input_count = 2;
    table.output_count = 1;
    table.inputs = addresses;
    table.outputs = addresses + 2;
  }
  Signature(const Signature&) = delete;
};

gantry_code signature(void*, std::uint32_t function, const gantry_signature** out, gantry_status*) {
  static const Signature one(kExtent), other(kExtent), wrong(kExtent + 1);
  static const gantry_signature none = {
      sizeof none, GANTRY_SIGNATURE_OUTPUTS, 0, 0, nullptr, nullptr, {}, {}, {}};
  static std::atomic<unsigned> calls{0};
  *out = function == 1                                          ? &none
         : has("states_another_type")                           ? &wrong.table
         : has("states_a_new_signature") && (calls++ & 1u) != 0 ? &other.table
                                                                : &one.table;
  return GANTRY_OK;
}

const gantry_model model = {sizeof model, 0, info, signature, executor_new};

}  // namespace

const void* module_extension(void*, const char* id) {
  if (has("finds_a_model_by_its_prefix") && std::string_view(id).starts_with(GANTRY_MODEL_1))
    return &model;
  return std::strcmp(id, GANTRY_MODEL_1) == 0 ? &model : nullptr;
}

}  // namespace kit
