// SPDX-License-Identifier: Apache-2.0
//
// The payload of a graph factory: loads it and runs an executor on a fake host; writes it with
// aligned data and reads it again.
#include "tests/fuzz/payload_frame.hpp"

#include "plugins/graph/plugin.hpp"
#include "tests/support/fake_host.hpp"

#include <gantry/abi_boundary.hpp>
#include <gantry/handle.hpp>

#include <algorithm>

using namespace gantry;
using namespace gantry::fuzz;

namespace {

// A model may declare tensors of any size; only small ones are allocated here.
constexpr std::uint64_t max_tensor_bytes = 1 << 16;

bool is_small(const Graph& graph) {
  std::uint64_t bytes = 0;
  for (const GraphEntry& entry : graph.entries) {
    if (entry.bytes > max_tensor_bytes) return false;
    bytes += entry.bytes;
  }
  return bytes <= max_tensor_bytes;
}

// Stands in for a compiled operator: reads its arguments.
gantry_code look(const gantry_env*, std::span<const gantry_value> arguments, gantry_value*,
                 gantry_status*) {
  for (const gantry_value& argument : arguments) {
    expect(argument.tensor->ndim >= 0 && argument.tensor->data != nullptr,
           "an operator's argument is a tensor with memory");
  }
  return GANTRY_OK;
}

using Bytes = std::vector<std::uint8_t>;

Bytes written(const graph::Payload& payload, std::uint64_t position) {
  return written_by([&](const Sink& sink) { return graph::write_payload(payload, true, sink); },
                    record_data_alignment, position);
}

bool same(const graph::Parameter* a, const graph::Parameter* b) {
  return a->name == b->name && a->array.shape == b->array.shape &&
         std::memcmp(&a->array.dtype, &b->array.dtype, sizeof a->array.dtype) == 0 &&
         std::ranges::equal(a->array.data, b->array.data);
}

void check_written(const graph::Payload& payload, gantry_object* pin, std::uint64_t position) {
  const Bytes once = written(payload, position);
  std::uint64_t consumed = 0;
  const auto again =
      test::read_whole(test::payload_blob(once, -1, true, pin), graph::read_payload, &consumed);
  expect(again.ok() && consumed == once.size(), "what was written can be read");
  expect((*again)->list.graph_json == payload.list.graph_json, "a graph is read back unchanged");
  expect((*again)->list.module_name == payload.list.module_name,
         "a module's name is read back unchanged");
  expect(std::ranges::equal((*again)->parameters, payload.parameters, same),
         "parameters are read back unchanged");
  for (const graph::Parameter* parameter : (*again)->parameters) {
    expect((position + parameter->array.data_at) % record_data_alignment == 0,
           "a parameter's data are aligned");
  }
  expect(written(**again, position) == once, "a second writer call produces the same bytes");
}

// Creates and runs an executor. It may refuse the payload; the budget does not include its memory.
void make_and_run(const Host& host, const Value& factory, std::string_view name) {
  const gantry_env env{test::cpu, nullptr, nullptr, nullptr};
  const auto make = host.find(factory.object(), GANTRY_FIND_SELF, name);
  if (!make.ok()) return;
  const gantry_value device = device_value(test::cpu);
  const auto executor = host.call(make->get(), &env, std::span(&device, 1));
  if (!executor.ok() || executor->object() == nullptr) return;
  const auto run = host.find(executor->object(), GANTRY_FIND_SELF, "run");
  expect(run.ok(), "an executor runs");
  (void)host.call(run->get(), &env, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  test::FakeHost fake;
  for (const char* name : {"add", "negate", "fused_nn_dense", "f", "g"}) {
    fake.add_function(name, look);
  }
  const Host host(fake.table());
  graph::Plugin plugin(host);
  gantry_object* const pin = fake.new_pin();
  bool small = false;
  std::shared_ptr<const graph::Payload> read;
  {
    // As graph_json_fuzz.cpp.
    const Budget budget(size, {.bytes_per_input_byte = 64});
    const gantry_blob blob = test::payload_blob({data, size}, -1, true, pin);
    std::uint64_t consumed = 0;
    const auto payload = test::read_whole(blob, graph::read_payload, &consumed);
    if (payload.ok()) {
      expect(consumed == size, "an exact payload is consumed completely");
      const Status parsed = (*payload)->parse_graph();
      if (!parsed.ok()) expect_refusal(parsed.error(), size);
      small = parsed.ok() && is_small((*payload)->graph);
      read = *payload;
    } else {
      expect_refusal(payload.error(), size);
    }
  }
  if (read != nullptr) {
    expect_written({data, size},
                   [&](const Sink& sink) { return graph::write_payload(*read, true, sink); });
    check_written(*read, pin, size);
  }
  read.reset();
  if (small) {
    const gantry_blob blob = test::payload_blob({data, size}, -1, true, pin);
    gantry_module module{};
    std::uint64_t consumed = 0;
    StatusBuffer status;
    const gantry_code code = loader_table<graph::Plugin, graph::Factory>.load_binary(
        &plugin, &blob, fake.node(), &module, &consumed, status.get());
    if (code == GANTRY_OK) {
      gantry_value made{};
      fake.table()->module_new(fake.table(), fake.node(), module, 0, &made, nullptr);
      make_and_run(host, Value::adopt(made), "default");
    }
  }
  fake.release(pin);
  expect(fake.live_objects() == 0, "no object remains alive");
  return 0;
}
