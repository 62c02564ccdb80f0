// SPDX-License-Identifier: Apache-2.0
//
// A call script without its arrays.
#include "tests/fuzz/budget.hpp"
#include "tests/fuzz/fuzz.hpp"

#include "tools/gantry/common/call_script.hpp"

using namespace gantry;
using namespace gantry::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // An empty tuple of two bytes is a value of 100.
  const Budget budget(size, {.bytes_per_input_byte = 256});
  const auto script = cli::parse_call_script(text_of(data, size));
  if (!script.ok()) return expect_refusal(script.error(), size);

  for (std::size_t i = 0; i < script->calls.size(); ++i) {
    const cli::ScriptCall& call = script->calls[i];
    expect(!call.function.empty(), "a function has a name");
    expect(!(call.result && call.error), "a call has a result or an error");
    for (const auto& [index, value] : call.after)
      expect(index < call.args.size(), "an argument after the call is one of its arguments");
    for (const cli::ScriptValue& arg : call.args) {
      if (const auto* ref = std::get_if<cli::RefScriptValue>(&arg.content))
        expect(ref->call < i, "a reference is to an earlier call");
    }
  }
  if (script->calls.empty()) return 0;
  const std::string text = cli::call_script_text(*script);
  const auto again = cli::parse_call_script(text);
  expect(again.ok() && cli::call_script_text(*again) == text, "a script is written as it is read");
  return 0;
}
