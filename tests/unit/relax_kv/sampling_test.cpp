// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/relax_kv/functions.hpp"

#include <cmath>
#include <limits>

namespace gantry::relax::test {
namespace {

class Sampling : public Functions {
 protected:
  std::int64_t prob(double top_p, double uniform) {
    return call("sample_top_p_from_prob",
                {probabilities.value(), float_value(top_p), float_value(uniform)})
        ->get()
        .i;
  }
  std::int64_t logit(double temperature, double top_p, double uniform) {
    return call("sample_top_p_from_logits", {logits.value(), float_value(temperature),
                                             float_value(top_p), float_value(uniform)})
        ->get()
        .i;
  }

  Floats probabilities{{1, 4}, {0.1F, 0.4F, 0.2F, 0.3F}};
  Floats logits{{4}, {std::log(0.1F), std::log(0.4F), std::log(0.2F), std::log(0.3F)}};
};

TEST_F(Sampling, ChoosesFromTheMostProbableTokens) {
  EXPECT_EQ(prob(1, 0.39), 1);
  EXPECT_EQ(prob(1, 0.41), 3);
  EXPECT_EQ(prob(1, 0.71), 2);
  EXPECT_EQ(prob(1, 0.91), 0);
  // Tokens 1 and 3 reach 0.6: their shares are 4/7 and 3/7.
  EXPECT_EQ(prob(0.6, 0.7), 3);
  EXPECT_EQ(prob(0.6, 0.999), 3);
  EXPECT_EQ(prob(0.3, 0.999), 1);
  EXPECT_EQ(prob(0, 0.999), 1);
  EXPECT_EQ(logit(1, 1, 0.39), 1);
  EXPECT_EQ(logit(1, 1, 0.91), 0);
  EXPECT_EQ(logit(1, 0.6, 0.58), 3);
  EXPECT_EQ(logit(1, 0.6, 0.56), 1);
}

TEST_F(Sampling, TakesMoreTokensThanItsShareForTheMostProbable) {
  // 0.4 / 0.6 is more than the share of 4/7.
  EXPECT_EQ(prob(0.6, 0.66), 1);
  EXPECT_EQ(prob(0.6, 0.67), 3);
}

TEST_F(Sampling, UsesSmallProbabilitiesWhereTheOthersDoNotReachTopP) {
  probabilities.values = {0.0001F, 0.0002F, 0.0001F, 0.0003F};
  EXPECT_EQ(prob(0.9, 0.9), 2);
}

TEST_F(Sampling, AppliesTheTemperature) {
  // Squared, the probabilities are 1, 16, 4 and 9 of 30.
  EXPECT_EQ(logit(0.5, 1, 0.52), 1);
  EXPECT_EQ(logit(0.5, 1, 0.54), 3);
  EXPECT_EQ(logit(0, 1, 0.99), 1);
}

TEST_F(Sampling, CopiesTensorsOfOtherDevices) {
  gantry_tensor like = *gantry_value_tensor(std::vector{probabilities.value()}.data());
  like.device = gantry::test::handles;
  const Value remote = host.tensor_new(like).value();
  ASSERT_TRUE(host.tensor_copy(probabilities.tensor, *remote.tensor(), &env).ok());
  EXPECT_EQ(
      call("sample_top_p_from_prob", {remote.get(), int_value(1), float_value(0.41)})->get().i, 3);
}

TEST_F(Sampling, EndsWithItsTaskBetweenRows) {
  Floats rows({2, 3}, {0.2F, 0.3F, 0.5F, 0.6F, 0.2F, 0.1F});
  Floats uniform({2, 1}, {0.2F, 0.95F});
  const int task = 0;
  env.task = &task;
  fake.cancelled = true;

  const auto tokens = call("multinomial_from_uniform", {rows.value(), uniform.value()});

  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().code, Code::cancelled);
}

TEST_F(Sampling, ChoosesOneTokenForEachRow) {
  Floats rows({2, 3}, {0.2F, 0.3F, 0.5F, 0.6F, 0.2F, 0.1F});
  Floats uniform({2, 1}, {0.2F, 0.95F});
  const Value tokens = call("multinomial_from_uniform", {rows.value(), uniform.value()}).value();
  const gantry_tensor& found = *tokens.tensor();
  EXPECT_EQ(type_text(found.dtype, shape_of(found)), "int64[2, 1]");
  const auto* data = static_cast<const std::int64_t*>(found.data);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[1], 2);
}

TEST_F(Sampling, AppliesPenalties) {
  Floats target({1, 4}, {2, -2, 3, 4});
  Ints tokens({2}, {0, 1});
  Ints frequencies({2}, {1, 3});
  ASSERT_TRUE(
      call("apply_repetition_penalty", {target.value(), tokens.value(), float_value(2)}).ok());
  EXPECT_EQ(target.values, (std::vector<float>{1, -4, 3, 4}));
  ASSERT_TRUE(call("apply_presence_and_frequency_penalty",
                   {target.value(), tokens.value(), frequencies.value(), float_value(0.5),
                    float_value(0.25)})
                  .ok());
  EXPECT_EQ(target.values, (std::vector<float>{0.25F, -5.25F, 3, 4}));
}

TEST_F(Sampling, AppliesSoftmaxInPlace) {
  ASSERT_TRUE(call("apply_softmax_with_temperature", {logits.value(), float_value(0.5)}).ok());
  const std::vector<float> expected = {1 / 30.F, 16 / 30.F, 4 / 30.F, 9 / 30.F};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(logits.values[i], expected[i], 1e-6);
  Floats low({2}, {-1000, -1000});
  ASSERT_TRUE(call("apply_softmax_with_temperature", {low.value(), int_value(1)}).ok());
  EXPECT_EQ(low.values, (std::vector<float>{0.5F, 0.5F}));
}

TEST_F(Sampling, RefusesArguments) {
  Floats rows({2, 2}, {1, 2, 3, 4});
  Floats none({1, 0}, {});
  Floats nan({2}, {NAN, NAN});
  Floats endless({2}, {std::numeric_limits<float>::infinity(), 0});
  Ints tokens({2}, {0, 4});
  Ints one({1}, {0});
  const gantry_value half = float_value(0.5);
  EXPECT_EQ(failure("sample_top_p_from_prob", {rows.value(), half, half}),
            "InternalError: sample_top_p_from_prob(prob, top_p, uniform_sample): argument 0 (prob) "
            "has the shape [2, 2], expected 1 in all dimensions but the last, and at least 1 in "
            "that");
  EXPECT_EQ(failure("sample_top_p_from_prob", {nan.value(), half, half}),
            "InternalError: sample_top_p_from_prob(prob, top_p, uniform_sample): argument 0 (prob) "
            "has no probability that is 0 or more");
  EXPECT_EQ(failure("sample_top_p_from_prob", {int_value(1), half, half}),
            "TypeError: sample_top_p_from_prob(prob, top_p, uniform_sample): argument 0 (prob) is "
            "an integer, expected a tensor");
  EXPECT_EQ(failure("sample_top_p_from_prob", {rows.value()}),
            "TypeError: sample_top_p_from_prob(prob, top_p, uniform_sample): argument count is 1, "
            "expected 3");
  for (Floats* bad : {&nan, &endless}) {
    EXPECT_EQ(failure("sample_top_p_from_logits", {bad->value(), half, half, half}),
              "InternalError: sample_top_p_from_logits(logits, temperature, top_p, "
              "uniform_sample): argument 0 (logits) has no finite maximum, or has elements that "
              "are NaN");
  }
  EXPECT_EQ(failure("sample_top_p_from_logits", {none.value(), half, half, half}),
            "InternalError: sample_top_p_from_logits(logits, temperature, top_p, uniform_sample): "
            "argument 0 (logits) has the shape [1, 0], expected 1 in all dimensions but the last, "
            "and at least 1 in that");
  EXPECT_EQ(failure("multinomial_from_uniform", {nan.value(), nan.value()}),
            "InternalError: multinomial_from_uniform(prob, uniform_sample): argument 0 (prob) has "
            "the shape [2], expected [batch, vocabulary] with a vocabulary of at least 1");
  EXPECT_EQ(failure("multinomial_from_uniform", {rows.value(), rows.value()}),
            "InternalError: multinomial_from_uniform(prob, uniform_sample): argument 1 "
            "(uniform_sample) has 4 samples, the batch of argument 0 (prob) is 2");
  EXPECT_EQ(failure("apply_repetition_penalty", {logits.value(), tokens.value(), half}),
            "InternalError: apply_repetition_penalty(logits, token_ids, penalty): argument 1 "
            "(token_ids) contains token 4, range is 0..3");
  EXPECT_EQ(failure("apply_repetition_penalty", {rows.value(), tokens.value(), half}),
            "InternalError: apply_repetition_penalty(logits, token_ids, penalty): argument 0 "
            "(logits) has the shape [2, 2], expected 1 in all dimensions but the last, and at "
            "least 1 in that");
  tokens.values[1] = 1;
  EXPECT_EQ(failure("apply_presence_and_frequency_penalty",
                    {logits.value(), tokens.value(), one.value(), half, half}),
            "InternalError: apply_presence_and_frequency_penalty(logits, token_ids, token_freqs, "
            "presence_penalty, frequency_penalty): argument 2 (token_freqs) has 1 elements, "
            "argument 1 (token_ids) has 2, the numbers must be equal");
  EXPECT_EQ(failure("apply_softmax_with_temperature", {logits.value(), int_value(0)}),
            "InternalError: apply_softmax_with_temperature(logits, temperature): argument 1 "
            "(temperature) must be more than 0");
  EXPECT_EQ(failure("apply_softmax_with_temperature", {rows.value(), int_value(1)}),
            "InternalError: apply_softmax_with_temperature(logits, temperature): argument 0 "
            "(logits) has the shape [2, 2], expected 1 in all dimensions but the last, and at "
            "least 1 in that");
}

}  // namespace
}  // namespace gantry::relax::test
