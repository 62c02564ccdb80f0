// SPDX-License-Identifier: Apache-2.0
//
// Functions that choose tokens from the logits or probabilities of a model's output, and that
// change logits in place. All of them run on the CPU; those that choose also take tensors of other
// devices, which they copy.
//
// costs    O(vocabulary); choosing sorts the tokens that it may choose
#include "plugins/relax/error_kind.hpp"

#include <gantry/compact_tensor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gantry::relax {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// A tensor in host memory.
struct CpuFloats {
  // Owns the copy of a tensor of another device.
  Value copy;
  std::span<const float> elements;
};

template <class T>
std::span<T> elements_of(const gantry_tensor& tensor) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape_of(tensor)) count *= static_cast<std::size_t>(extent);
  auto* const data = static_cast<std::uint8_t*>(tensor.data) + tensor.byte_offset;
  return {reinterpret_cast<T*>(data), count};
}

constexpr TensorSpec any_floats{
    .dtype = dtypes::float32, .place = TensorPlace::any, .has_offset = true};
constexpr TensorSpec host_floats{.dtype = dtypes::float32, .has_offset = true};
constexpr TensorSpec host_ints{.dtype = dtypes::int32, .has_offset = true};

Result<CpuFloats> on_host(const Host& host, const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(i, any_floats));
  CpuFloats result;
  if (tensor->device.type != cpu_device_type) {
    GANTRY_TRY(result.copy, host.tensor_copied(*tensor, {cpu_device_type, 0}, call.env));
    tensor = result.copy.tensor();
  }
  result.elements = elements_of<const float>(*tensor);
  return result;
}

// Checks that all dimensions but the last are 1, and the last is not 0.
Status check_row(const Call& call, std::size_t i) {
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(i));
  const std::span<const std::int64_t> shape = shape_of(*tensor);
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  if (!shape.empty() && shape.back() > 0 &&
      std::ranges::all_of(shape.first(shape.size() - 1), is_one))
    return {};
  return call
      .refuse(call.title(i), " has the shape ", numbers_text(shape),
              ", expected 1 in all dimensions but the last, and at least 1 in that")
      .with_reason("ARGUMENT_SHAPE");
}

struct Candidate {
  float probability = 0;
  std::int64_t token = 0;
  // Most probable first.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.token < b.token;
  }
};

// The most probable candidates whose sum reaches top_p.
struct Nucleus {
  std::span<const Candidate> candidates;
  float sum = 0;
};

// sorted   [in]   most probable first, at least one
Nucleus nucleus_of(std::span<const Candidate> sorted, double top_p) {
  Nucleus nucleus{sorted.first(1), sorted.front().probability};
  while (nucleus.sum < top_p && nucleus.candidates.size() < sorted.size()) {
    nucleus.sum += sorted[nucleus.candidates.size()].probability;
    nucleus.candidates = sorted.first(nucleus.candidates.size() + 1);
  }
  return nucleus;
}

// Returns the token at `uniform`, in 0..1, of the cumulative distribution.
std::int64_t token_at(const Nucleus& nucleus, double uniform) {
  float sum = 0;
  for (const Candidate& candidate : nucleus.candidates) {
    sum += candidate.probability;
    if (uniform < sum / nucleus.sum) return candidate.token;
  }
  return nucleus.candidates.back().token;
}

using Candidates = std::pmr::vector<Candidate>;

// Returns the probabilities that are at least `minimum`, most probable first.
Candidates candidates_of(std::span<const float> probabilities, float minimum,
                         std::pmr::memory_resource* memory) {
  Candidates candidates(memory);
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] >= minimum)
      candidates.push_back({probabilities[i], static_cast<std::int64_t>(i)});
  }
  std::ranges::sort(candidates, std::less<>{});
  return candidates;
}

Result<Value> sample_top_p_from_prob(const Host& host, const Call& call,
                                     const std::shared_ptr<StorageMemory>& counted) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const CpuFloats prob, on_host(host, call, 0));
  GANTRY_CHECK(check_row(call, 0));
  GANTRY_TRY(const double top_p, call.real(1));
  GANTRY_TRY(const double uniform, call.real(2));

  // No more than 1,024 / top_p tokens are as probable as this; usually their sum reaches top_p.
  constexpr double max_candidates = 1024;
  Nucleus nucleus;
  HostMemory memory(host, counted, "candidates of a sample", UINT64_MAX);
  Candidates candidates(&memory);
  if (top_p < 1) {
    candidates = candidates_of(prob.elements, static_cast<float>(top_p / max_candidates), &memory);
    if (!candidates.empty()) nucleus = nucleus_of(candidates, top_p);
  }
  if (nucleus.candidates.empty() || nucleus.sum < top_p) {
    candidates = candidates_of(prob.elements, 0, &memory);
    if (candidates.empty())
      return call.refuse(call.title(0), " has no probability that is 0 or more");
    nucleus = nucleus_of(candidates, top_p);
  }
  // TVM returns the most probable token for more samples than its share of the sum.
  const Candidate& first = nucleus.candidates.front();
  if (uniform < first.probability / top_p) return Value::adopt(int_value(first.token));
  return Value::adopt(int_value(token_at(nucleus, uniform)));
}

Result<Value> sample_top_p_from_logits(const Host& host, const Call& call,
                                       const std::shared_ptr<StorageMemory>& counted) {
  GANTRY_CHECK(call.count_is(4));
  GANTRY_TRY(const CpuFloats logits, on_host(host, call, 0));
  GANTRY_CHECK(check_row(call, 0));
  GANTRY_TRY(const double temperature, call.real(1));
  GANTRY_TRY(const double top_p, call.real(2));
  GANTRY_TRY(const double uniform, call.real(3));

  HostMemory memory(host, counted, "candidates of a sample", UINT64_MAX);
  Candidates candidates = candidates_of(logits.elements, -infinity, &memory);
  if (candidates.size() != logits.elements.size() || std::isinf(candidates.front().probability))
    return call.refuse(call.title(0), " has no finite maximum, or has elements that are NaN");
  // Below this temperature only the most probable token remains.
  constexpr double min_temperature = 1e-6;
  if (temperature < min_temperature) return Value::adopt(int_value(candidates.front().token));

  const float max = candidates.front().probability;
  const auto scale = static_cast<float>(1 / temperature);
  float sum = 0;
  for (Candidate& candidate : candidates) {
    candidate.probability = std::exp((candidate.probability - max) * scale);
    sum += candidate.probability;
  }
  for (Candidate& candidate : candidates) candidate.probability /= sum;
  return Value::adopt(int_value(token_at(nucleus_of(candidates, top_p), uniform)));
}

Result<Value> multinomial_from_uniform(const Host& host, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const CpuFloats prob, on_host(host, call, 0));
  GANTRY_TRY(const CpuFloats uniform, on_host(host, call, 1));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(0));
  const std::span<const std::int64_t> shape = shape_of(*tensor);
  if (shape.size() != 2 || shape[1] < 1) {
    return call
        .refuse(call.title(0), " has the shape ", numbers_text(shape),
                ", expected [batch, vocabulary] with a vocabulary of at least 1")
        .with_reason("ARGUMENT_SHAPE");
  }
  if (std::cmp_not_equal(uniform.elements.size(), shape[0])) {
    return call
        .refuse(call.title(1), " has ", uniform.elements.size(), " samples, the batch of ",
                call.title(0), " is ", shape[0])
        .with_reason("ARGUMENT_SHAPE");
  }

  const std::int64_t extents[] = {shape[0], 1};
  GANTRY_TRY(Value tokens, host.tensor_new(compact_tensor(dtypes::int64, extents)));
  const auto vocabulary = static_cast<std::size_t>(shape[1]);
  auto row = prob.elements;
  auto sample = uniform.elements.begin();
  for (std::int64_t& token : elements_of<std::int64_t>(*tokens.tensor())) {
    GANTRY_CHECK(host.check_task(call.env));
    float sum = 0;
    std::size_t at = 0;
    while ((sum += row[at]) <= *sample && at + 1 < vocabulary) ++at;
    token = static_cast<std::int64_t>(at);
    row = row.subspan(vocabulary);
    ++sample;
  }
  return tokens;
}

// The logits and token numbers of the functions that apply a penalty.
struct Penalized {
  std::span<float> logits;
  std::span<const std::int32_t> tokens;
};

Result<Penalized> penalized(const Call& call) {
  GANTRY_TRY(const gantry_tensor* logits, call.tensor(0, host_floats));
  GANTRY_CHECK(check_row(call, 0));
  GANTRY_TRY(const gantry_tensor* tokens, call.tensor(1, host_ints));
  const Penalized result{elements_of<float>(*logits), elements_of<const std::int32_t>(*tokens)};
  for (const std::int32_t token : result.tokens) {
    if (token >= 0 && std::cmp_less(token, result.logits.size())) continue;
    return call
        .refuse(call.title(1), " contains token ", token, ", range is 0..",
                result.logits.size() - 1)
        .with_reason("ARGUMENT_RANGE");
  }
  return result;
}

Result<Value> apply_repetition_penalty(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(3));
  GANTRY_TRY(const Penalized target, penalized(call));
  GANTRY_TRY(const double penalty, call.real(2));
  for (const std::int32_t token : target.tokens) {
    float& logit = target.logits[static_cast<std::size_t>(token)];
    logit = static_cast<float>(logit <= 0 ? logit * penalty : logit / penalty);
  }
  return Value();
}

Result<Value> apply_presence_and_frequency_penalty(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(5));
  GANTRY_TRY(const Penalized target, penalized(call));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(2, host_ints));
  const auto frequencies = elements_of<const std::int32_t>(*tensor);
  if (frequencies.size() != target.tokens.size()) {
    return call
        .refuse(call.title(2), " has ", frequencies.size(), " elements, ", call.title(1), " has ",
                target.tokens.size(), ", the numbers must be equal")
        .with_reason("ARGUMENT_SHAPE");
  }
  GANTRY_TRY(const double presence, call.real(3));
  GANTRY_TRY(const double frequency, call.real(4));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    float& logit = target.logits[static_cast<std::size_t>(target.tokens[i])];
    logit = static_cast<float>(logit - (frequencies[i] * frequency + presence));
  }
  return Value();
}

Result<Value> apply_softmax_with_temperature(const Host&, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(0, host_floats));
  GANTRY_CHECK(check_row(call, 0));
  GANTRY_TRY(const double temperature, call.real(1));
  if (!(temperature > 0))
    return call.refuse(call.title(1), " must be more than 0").with_reason("ARGUMENT_RANGE");

  const std::span<float> logits = elements_of<float>(*tensor);
  const auto scale = static_cast<float>(1 / temperature);
  const float max = *std::ranges::max_element(logits) * scale;
  double sum = 0;
  for (float& logit : logits) sum += logit = std::exp(logit * scale - max);
  for (float& logit : logits) logit = static_cast<float>(logit / sum);
  return Value();
}

constexpr Builtin sampling_rows[] = {
    {"vm.builtin.sample_top_p_from_prob", "sample_top_p_from_prob(prob, top_p, uniform_sample)",
     nullptr, with_kind_counted<sample_top_p_from_prob>},
    {"vm.builtin.sample_top_p_from_logits",
     "sample_top_p_from_logits(logits, temperature, top_p, uniform_sample)", nullptr,
     with_kind_counted<sample_top_p_from_logits>},
    {"vm.builtin.multinomial_from_uniform", "multinomial_from_uniform(prob, uniform_sample)",
     with_kind<multinomial_from_uniform>},
    {"vm.builtin.apply_repetition_penalty", "apply_repetition_penalty(logits, token_ids, penalty)",
     with_kind<apply_repetition_penalty>},
    {"vm.builtin.apply_presence_and_frequency_penalty",
     "apply_presence_and_frequency_penalty(logits, token_ids, token_freqs, presence_penalty, "
     "frequency_penalty)",
     with_kind<apply_presence_and_frequency_penalty>},
    {"vm.builtin.apply_softmax_with_temperature",
     "apply_softmax_with_temperature(logits, temperature)",
     with_kind<apply_softmax_with_temperature>},
};

}  // namespace

std::span<const Builtin> sampling_builtins() { return sampling_rows; }

}  // namespace gantry::relax
