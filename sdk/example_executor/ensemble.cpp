// SPDX-License-Identifier: Apache-2.0
#include "ensemble.hpp"

#include "plugin.hpp"

#include <gantry/compact_tensor.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <utility>

namespace ensemble {
namespace {

using gantry::ParameterInfo, gantry::Result, gantry::Status, gantry::Value;

// of inputs and outputs: no more than members require, which copy their inputs
constexpr std::uint32_t alignment = 64;

// "x float32[4] -> float32[4]"
std::string types_text(const Member& member) {
  std::string text;
  for (const ParameterInfo& input : member.inputs())
    text += gantry::concat(text.empty() ? "" : ", ", input.name, " ", input.type_text);
  return text + " -> " + member.output().type_text;
}

}  // namespace

Executor::Executor(gantry::Host host, std::vector<Member> members)
    : host_(host), members_(std::move(members)) {
  const Member& first = members_.front();
  placements_.inputs.assign(first.inputs().size(), {cpu, alignment, 0, nullptr});
  placements_.outputs.assign(1, {cpu, alignment, 0, nullptr});
  std::size_t count = 1;
  for (const std::int64_t extent : first.output().type->shape)
    count *= static_cast<std::size_t>(extent);
  sums_.resize(count);
}

Status Executor::run(const gantry_env& env, gantry::ExecutorRun& run) {
  std::ranges::fill(sums_, 0.0);
  for (Member& member : members_) {
    GANTRY_CHECK(host_.check_task(&env));
    GANTRY_TRY(const Value output, member.run(env, run.inputs()));
    const float* const elements = floats_of(*output.tensor());
    for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += elements[i];
  }
  // Written last: after a failure, nothing has changed.
  Value made;
  const gantry_tensor* to = run.target(0);
  if (to == nullptr) {
    const gantry::TensorType& type = *members_.front().output().type;
    GANTRY_TRY(made, host_.tensor_new(gantry::compact_tensor(type.dtype, type.shape, cpu)));
    to = made.tensor();
  }
  const auto count = static_cast<double>(members_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i)
    floats_of(*to)[i] = static_cast<float>(sums_[i] / count);
  if (run.target(0) == nullptr) run.set_output(0, std::move(made));
  return {};
}

Result<std::unique_ptr<Ensemble>> Ensemble::load(Plugin& plugin, gantry::Blob& blob) {
  std::unique_ptr<Ensemble> made(new Ensemble(plugin.host));
  GANTRY_TRY(const std::uint64_t count, blob.reader().read_count(8, "members"));
  if (count == 0) {
    return gantry::malformed(blob.reader().offset() - 8, "ensemble has 0 members, minimum is 1")
        .with_reason("BLOB_FORMAT");
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    GANTRY_TRY(const std::string_view name, blob.reader().read_string("member"));
    made->names_.push_back(name);
  }
  made->node_ = blob.node();
  made->kept_ = blob.keep();
  made->info_.functions = {"predict"};
  made->info_.default_function = 0;
  made->info_.device_types = {gantry::cpu_device_type};
  made->info_.prepare();
  return made;
}

// Of an executor of the first member, because the imports are not loaded when the payload is.
Result<const gantry::Signature*> Ensemble::signature(std::uint32_t) {
  const std::lock_guard once(mutex_);
  if (signature_ == nullptr) {
    GANTRY_TRY(const Member first, Member::create(host_, node_, names_.front(), nullptr));
    signature_ =
        std::make_unique<const gantry::Signature>(first.inputs(), std::vector{first.output()});
  }
  return signature_.get();
}

Result<std::unique_ptr<Executor>> Ensemble::executor_new(const gantry_env& env,
                                                         const gantry::ExecutorOptions& options) {
  if (options.capture)
    return gantry::unsupported("an ensemble cannot be recorded").with_reason("CAPTURE");
  std::vector<Member> members;
  for (const std::string_view name : names_) {
    GANTRY_CHECK(host_.check_task(&env));
    GANTRY_TRY(Member member, Member::create(host_, node_, name, &env));
    members.push_back(std::move(member));
    const std::string types = types_text(members.back()), expected = types_text(members.front());
    if (types == expected) continue;
    return gantry::unsupported("member ", gantry::quoted(name), " is ", types, ", expected ",
                               expected, " as of the first")
        .with_reason("GRAPH");
  }
  return std::make_unique<Executor>(host_, std::move(members));
}

Result<Value> Ensemble::members(const gantry::Call& call) const {
  GANTRY_CHECK(call.count_is(0));
  std::vector<Value> names;
  for (const std::string_view name : names_) {
    GANTRY_TRY(Value text, host_.text(name));
    names.push_back(std::move(text));
  }
  return host_.array(names);
}

}  // namespace ensemble
