// SPDX-License-Identifier: Apache-2.0
//
// Loads a sub-graph in the plugin and runs it, in a fake host.
#pragma once

#include "plugins/dnnl/plugin.hpp"
#include "tests/support/fake_host.hpp"
#include "tests/support/payload_blob.hpp"
#include "tests/support/subgraphs/subgraph_cases.hpp"
#include "tests/support/words.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gantry::dnnl_plugin::test {

using gantry::test::CaseArray;
using gantry::test::subgraph_case;
using gantry::test::subgraph_cases;
using gantry::test::SubgraphCase;

using DnnlModule = SubgraphModule<Plugin, Program>;

class SubgraphRunner {
 public:
  // is_tracing  [in]  the host records spans
  explicit SubgraphRunner(bool is_tracing = false) : plugin(host(is_tracing)) {}

  gantry::test::FakeHost fake;
  Plugin plugin;
  // of the calls
  const void* task = nullptr;

  // Loads the module; its constants are not set.
  Result<std::unique_ptr<DnnlModule>> load(const SubgraphCase& what) {
    gantry::test::Words& payload = *payloads_.emplace_back(std::make_unique<gantry::test::Words>());
    payload.str("main_0").str(what.json).u64(what.constants.size());
    for (std::size_t i = 0; i < what.constants.size(); ++i) payload.str(concat("c", i));
    const ObjectRef pin = ObjectRef::adopt(fake.new_pin());
    gantry_blob raw = gantry::test::payload_blob(payload.bytes(), 3, true, pin.get());
    raw.type_key = bytes_of(what.key);
    Blob blob(raw);
    return DnnlModule::load(plugin, blob);
  }

  Result<Value> call(DnnlModule& module, std::string_view function,
                     std::vector<gantry_value> args) {
    const gantry_env env{{cpu_device_type, 0}, nullptr, task, nullptr};
    return module.find(function)->call(Call{{}, &env, args});
  }

  // Passes the constants to __init_main_0.
  Status initialize(DnnlModule& module, const SubgraphCase& what) {
    std::vector<Value> constants;
    for (const CaseArray& constant : what.constants) {
      CaseArray copy = constant;
      GANTRY_TRY(Value made, plugin.host.tensor_new(copy.tensor()));
      std::copy(copy.bytes.begin(), copy.bytes.end(),
                static_cast<std::uint8_t*>(made.tensor()->data));
      constants.push_back(std::move(made));
    }
    GANTRY_TRY(const Value list, plugin.host.array(constants));
    GANTRY_CHECK(call(module, "__init_main_0", {list.get()}));
    return {};
  }

  // Runs with the inputs of the case. The outputs are filled with 0xa5 before.
  Result<std::vector<CaseArray>> run(DnnlModule& module, const SubgraphCase& what) {
    std::vector<CaseArray> inputs = what.inputs, outputs = what.outputs;
    std::vector<gantry_tensor> tensors;
    for (CaseArray& input : inputs) tensors.push_back(input.tensor());
    for (CaseArray& output : outputs) {
      std::fill(output.bytes.begin(), output.bytes.end(), std::uint8_t{0xa5});
      tensors.push_back(output.tensor());
    }
    std::vector<gantry_value> args;
    for (gantry_tensor& tensor : tensors) args.push_back(tensor_ref_value(&tensor));
    GANTRY_CHECK(call(module, "main_0", args));
    return outputs;
  }

  Result<std::vector<CaseArray>> run(const SubgraphCase& what) {
    GANTRY_TRY(const auto module, load(what));
    GANTRY_CHECK(initialize(*module, what));
    return run(*module, what);
  }

 private:
  // The plugin reads the host's extensions when it is created.
  Host host(bool is_tracing) {
    fake.tracing = is_tracing;
    return Host(fake.table());
  }

  std::vector<std::unique_ptr<gantry::test::Words>> payloads_;
};

}  // namespace gantry::dnnl_plugin::test
