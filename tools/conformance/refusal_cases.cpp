// SPDX-License-Identifier: Apache-2.0
//
// Case 55: payloads for another architecture.
#include "tools/conformance/cases.hpp"
#include "tools/conformance/golden_call.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/quoted.hpp>

#include <string>

namespace gantry::kit {
namespace {

// The error of a payload that is to be refused.
Status check_error(const Error& error, std::string_view what, const Payload& payload) {
  if (error.code != Code::unsupported && error.code != Code::unavailable) {
    return bug(what, " fails as ", name_of(error.code),
               ", expected unsupported or unavailable: ", first_line(error));
  }
  for (const std::string& word : payload.refused) {
    if (error.message.text().find(word) == std::string::npos)
      return bug("the error of ", what, " does not contain ", quoted(word), ": ",
                 first_line(error));
  }
  return {};
}

Status check_refused(const Stage& stage, const Payload& payload) {
  GANTRY_TRY(const auto device, stage.device_for(payload));
  const auto verdict = stage.verdict(payload, payload.bytes);
  if (verdict.ok() && *verdict && **verdict != GANTRY_VERDICT_NO)
    return bug("check_binary returns verdict ", **verdict, ", expected ",
               std::int32_t{GANTRY_VERDICT_NO}, " or a failure");
  const PinnedBytes given = pinned(payload.bytes);
  const auto module = stage.load(payload, given.bytes->bytes(), given.pin.get());
  if (!module.ok()) return check_error(module.error(), "load_binary", payload);
  // It may be refused later, by a look-up or a call.
  for (const GoldenCall& call : payload.calls) {
    const auto function = stage.function(*module, call.function);
    if (!function.ok()) return check_error(function.error(), "get_function", payload);
    GANTRY_TRY(const auto arguments, CallArguments::make(*device, call));
    const CallOutcome outcome =
        call_function(*device, function->pair, arguments->values, {.name = call.function});
    if (outcome.code != GANTRY_OK) return check_error(outcome.error, "the call", payload);
  }
  return bug("the payload is accepted");
}

// 55
Status names_architectures(Subject& subject) {
  if (subject.refused_payloads().empty())
    return skipped("the payload file has no payload with `refused`");
  GANTRY_TRY(const auto stage, Stage::open(subject));
  for (const Payload& payload : subject.refused_payloads()) {
    Status done = check_refused(*stage, payload);
    if (!done.ok()) return std::move(done).error().at("of ", payload.name);
  }
  return {};
}

constexpr Case kRefusalCases[] = {
    {55, Level::D, Weight::must, "names-architectures",
     "a payload for another architecture is refused with its words; check_binary refuses it, too",
     "compare the payload's architecture with the device's, and name both", names_architectures},
};

}  // namespace

std::span<const Case> refusal_cases() { return kRefusalCases; }

}  // namespace gantry::kit
