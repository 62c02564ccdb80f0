// SPDX-License-Identifier: Apache-2.0
//
// The functions of an executor's module.
#include "executor.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/call.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/module.hpp>
#include <gantry/param_names.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <array>

namespace gantry::graph {
namespace {

// Returns the first names, for messages; "none" if there are none.
//
// name_of  [in]   a text of name_of(std::size_t)
template <class NameOf>
std::string list_names(std::size_t count, NameOf&& name_of) {
  constexpr std::size_t max = 16;
  std::string names;
  for (std::size_t i = 0; i < count && i < max; ++i)
    names += concat(i == 0 ? "" : ", ", quoted(name_of(i)));
  if (count > max) names += concat(", ... (", count, " in all)");
  return names.empty() ? "none" : names;
}

// Returns the index that a key is.
//
// what     [in]   for messages: "input"
// returns  INVALID  the index is not below `count`, or the key is not an integer
Result<std::uint32_t> index_of(const Call& call, const gantry_value& key, std::string_view what,
                               std::size_t count) {
  const auto index = value_int(key);
  if (!index) return call.refuse("key is ", kind_text(key.kind), ", expected a name or an index");
  if (*index >= 0 && static_cast<std::uint64_t>(*index) < count)
    return static_cast<std::uint32_t>(*index);
  return call.refuse(what, " index is ", *index, ", ", what, " count is ", count);
}

std::string numbered_name(const Graph& graph, const GraphOutput& head) {
  return concat(graph.nodes[head.node].name, ":", head.index);
}

// Returns the graph's name of an output; if it has none, "<node>", or "<node>:<output>" if the node
// has several outputs.
std::string output_name(const Graph& graph, std::size_t output) {
  if (!graph.output_names.empty()) return graph.output_names[output];
  const GraphOutput& head = graph.heads[output];
  const GraphNode& node = graph.nodes[head.node];
  return node.output_count == 1 ? node.name : numbered_name(graph, head);
}

// Returns a text such as: input "x" float32[2, 2].
std::string input_title(const Executor& executor, std::uint32_t input) {
  const Graph& graph = executor.graph();
  return concat("input ", quoted(graph.input(input).name), " ",
                type_text(graph.entries[graph.input_entry(input)]));
}

std::string output_title(const Executor& executor, std::uint32_t output) {
  const Graph& graph = executor.graph();
  const GraphOutput& head = graph.heads[output];
  return concat("output ", quoted(output_name(graph, output)), " ",
                type_text(graph.entries[head.entry]));
}

// Checks that an entry may be bound to a tensor for a key. A value has one memory: if another input
// or output of the same value is bound, a second binding would silently replace the first.
//
// binding  [in]   the input or output to bind
// returns  INVALID  see Memory::check_fits(); another key is bound; the text names it (ZERO_COPY)
Status check_binding(const Executor& executor, std::uint32_t entry, const gantry_tensor& tensor,
                     Binding binding) {
  GANTRY_CHECK(executor.memory().check_fits(entry, tensor));
  const Binding found = executor.memory().binding(entry);
  const bool bound = found.owner == Owner::input || found.owner == Owner::output;
  if (!bound || found == binding) return {};
  const std::string title = found.owner == Owner::input ? input_title(executor, found.key)
                                                        : output_title(executor, found.key);
  return invalid(title, " is the same value and is bound already, a value has one memory")
      .with_reason("ZERO_COPY");
}

// Returns the index of the input that a key names.
//
// returns  NOT_FOUND  no input has the name; the text lists the inputs
//          INVALID    the index is out of range, or the key is neither a name nor an index
Result<std::uint32_t> input_of(const Executor& executor, const Call& call,
                               const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    const auto found = graph.input_by_name.find(*name);
    if (found != graph.input_by_name.end()) return found->second;
    const std::string names = list_names(graph.inputs.size(), [&](std::size_t i) {
      return graph.input(static_cast<std::uint32_t>(i)).name;
    });
    return not_found("input ", quoted(*name), " not found; inputs: ", names).with_reason("INPUT");
  }
  return index_of(call, key, "input", graph.inputs.size());
}

Status copy_input(Executor& executor, const Call& call, const gantry_value& key,
                  const gantry_tensor& from) {
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, key));
  Status copied = executor.memory().copy_in(executor.graph().input_entry(input), from, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while setting ", input_title(executor, input));
  return {};
}

Result<Value> set_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* from, call.tensor(1));
  GANTRY_CHECK(copy_input(executor, call, call.args[0], *from));
  return Value();
}

Result<Value> set_input_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(1));
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, call.args[0]));
  const std::uint32_t entry = executor.graph().input_entry(input);
  const Binding binding{Owner::input, input};
  Status fits = check_binding(executor, entry, *tensor, binding);
  if (!fits.ok()) return std::move(fits).error().at("while binding ", input_title(executor, input));
  gantry_object* keeper = call.args[1].kind == GANTRY_TENSOR ? call.args[1].object : nullptr;
  GANTRY_CHECK(executor.memory().bind(entry, *tensor, keeper, binding));
  return Value();
}

Result<Value> get_input(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::uint32_t input, input_of(executor, call, call.args[0]));
  return executor.memory().tensor(executor.graph().input_entry(input));
}

Result<Value> get_input_index(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view name, call.text(0));
  const auto found = executor.graph().input_by_name.find(name);
  const bool known = found != executor.graph().input_by_name.end();
  const std::int64_t index = known ? std::int64_t{found->second} : -1;
  return Value::adopt(int_value(index));
}

Result<Value> get_num_inputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.graph().inputs.size())));
}

Result<Value> run_from_inputs(Executor& executor, const Call& call) {
  if (call.args.size() < 2 || call.args.size() % 2 != 0) {
    return call.refuse("argument count is ", call.args.size(),
                       ", expected a device and pairs of name and tensor");
  }
  GANTRY_TRY(const std::int64_t type, call.integer(0));
  GANTRY_TRY(const std::int64_t index, call.integer(1));
  if (type < 0 || type > INT32_MAX || index < 0 || index > INT32_MAX) {
    return call.refuse("device is ", type, ":", index, ", expected two numbers from 0 to ",
                       INT32_MAX);
  }
  for (std::size_t i = 2; i < call.args.size(); i += 2) {
    GANTRY_TRY(const gantry_tensor* from, call.tensor(i + 1));
    GANTRY_CHECK(copy_input(executor, call, call.args[i], *from));
  }
  StatusBuffer status;
  if (const gantry_code code = executor.run(call.env, status.get()))
    return status.error(code, "run");

  std::vector<Value> outputs;
  for (const GraphOutput& head : executor.graph().heads) {
    gantry_tensor like = executor.memory().cell(head.entry);
    like.device = {static_cast<std::int32_t>(type), static_cast<std::int32_t>(index)};
    GANTRY_TRY(Value output, executor.host().tensor_new(like));
    GANTRY_CHECK(executor.host().tensor_copy(executor.memory().cell(head.entry), *output.tensor(),
                                             call.env));
    outputs.push_back(std::move(output));
  }
  return executor.host().array(outputs);
}

// Returns the index of the output that a key names: the graph's name of it; "<node>" in v0.8 and
// v0.9, "<node>:<output>" in later releases.
Result<std::uint32_t> output_of(const Executor& executor, const Call& call,
                                const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    const auto named = std::ranges::find(graph.output_names, *name);
    if (named != graph.output_names.end())
      return static_cast<std::uint32_t>(named - graph.output_names.begin());
    for (std::uint32_t i = 0; i < graph.heads.size(); ++i) {
      if (*name == numbered_name(graph, graph.heads[i])) return i;
    }
    for (std::uint32_t i = 0; i < graph.heads.size(); ++i) {
      if (*name == graph.nodes[graph.heads[i].node].name) return i;
    }
    const std::string names =
        list_names(graph.heads.size(), [&](std::size_t i) { return output_name(graph, i); });
    return not_found("output ", quoted(*name), " not found; outputs: ", names)
        .with_reason("OUTPUT");
  }
  return index_of(call, key, "output", graph.heads.size());
}

Result<Value> set_output_zero_copy(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(const gantry_tensor* tensor, call.tensor(1));
  GANTRY_TRY(const std::uint32_t output, output_of(executor, call, call.args[0]));
  const GraphOutput& head = executor.graph().heads[output];
  Memory& memory = executor.memory();
  const Binding binding{Owner::output, output};
  Status fits = check_binding(executor, head.entry, *tensor, binding);
  if (!fits.ok())
    return std::move(fits).error().at("while binding ", output_title(executor, output));
  // No operator writes an output that is an input: its value is copied.
  if (memory.holds_input(head.entry)) {
    GANTRY_CHECK(executor.host().tensor_copy(memory.cell(head.entry), *tensor, call.env));
  }
  gantry_object* keeper = call.args[1].kind == GANTRY_TENSOR ? call.args[1].object : nullptr;
  GANTRY_CHECK(memory.bind(head.entry, *tensor, keeper, binding));
  return Value();
}

Result<Value> get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::uint32_t output, output_of(executor, call, call.args[0]));
  const GraphOutput& head = executor.graph().heads[output];
  if (call.args.size() == 1) return executor.memory().tensor(head.entry);

  GANTRY_TRY(const gantry_tensor* to, call.tensor(1));
  if (!has_shape(*to, executor.graph().entries[head.entry]))
    return call.refuse("tensor has another shape than ", output_title(executor, output));
  Status copied = executor.host().tensor_copy(executor.memory().cell(head.entry), *to, call.env);
  if (!copied.ok())
    return std::move(copied).error().at("while copying ", output_title(executor, output));
  return Value();
}

Result<Value> get_num_outputs(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  return Value::adopt(int_value(static_cast<std::int64_t>(executor.graph().heads.size())));
}

// Parameters from a separate parameter list (a `.params` file).
//
// All records are read before the first one is copied: a truncated list changes nothing.
Result<Value> load_params(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1));
  GANTRY_TRY(const std::string_view bytes, call.text(0));
  ByteReader in = ByteReader::of_text(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));
  std::vector<Parameter> parameters;
  for (const std::string_view name : names) {
    GANTRY_TRY(ArrayRecord array, read_array_record(in, concat("parameter ", quoted(name))));
    parameters.push_back({name, std::move(array)});
    GANTRY_CHECK(check_parameter(executor.graph(), parameters.back()));
  }
  for (const Parameter& parameter : parameters) {
    const auto input = executor.graph().input_by_name.find(parameter.name);
    if (input == executor.graph().input_by_name.end()) continue;
    const std::uint32_t entry = executor.graph().input_entry(input->second);
    GANTRY_CHECK(executor.memory().copy_in(entry, view_of_parameter(parameter), call.env));
    executor.is_parameter[input->second] = true;
  }
  return Value();
}

Result<Value> share_params(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(2));
  GANTRY_TRY(gantry_object* const lender, call.object(0, GANTRY_MODULE));
  GANTRY_TRY(const std::string_view bytes, call.text(1));
  ByteReader in = ByteReader::of_text(bytes);
  GANTRY_TRY(const std::vector<std::string_view> names, read_param_names(in));

  const Host& host = executor.host();
  Result<ObjectRef> get = host.find(lender, GANTRY_FIND_SELF, "get_input");
  if (!get.ok())
    return call.refuse("argument 0 is a module without get_input, expected an executor");
  for (const std::string_view name : names) {
    const auto input = executor.graph().input_by_name.find(name);
    if (input == executor.graph().input_by_name.end()) continue;
    const std::uint32_t entry = executor.graph().input_entry(input->second);
    const gantry_bytes text = bytes_of(name);
    const gantry_value key = bytes_ref_value(&text);
    GANTRY_TRY(const Value theirs, host.call(get->get(), call.env, {&key, 1}));
    if (theirs.kind() != GANTRY_TENSOR) {
      return call.refuse("get_input of argument 0 returns ", kind_text(theirs.kind()),
                         ", expected a tensor");
    }
    Status fits = check_binding(executor, entry, *theirs.tensor(), {Owner::input, input->second});
    if (!fits.ok()) return std::move(fits).error().at("while sharing parameter ", quoted(name));
    GANTRY_CHECK(executor.memory().bind(entry, *theirs.tensor(), theirs.object(), {Owner::lender}));
    executor.is_parameter[input->second] = true;
  }
  return Value();
}

// Returns {"shape": {name: shape}, "dtype": {name: text}} for pairs of name and entry.
class Info {
 public:
  explicit Info(const Executor& executor) : executor_(executor) {}

  Status add(std::string_view name, std::uint32_t e) {
    const Host& host = executor_.host();
    const GraphEntry& entry = executor_.graph().entries[e];
    GANTRY_TRY(const Value key, host.text(name));
    GANTRY_TRY(const Value shape, host.shape(entry.shape));
    GANTRY_TRY(const Value dtype, host.text(dtype_text(entry.dtype)));
    shapes_.emplace_back(key, shape);
    dtypes_.emplace_back(key, dtype);
    return {};
  }
  Result<Value> map() const {
    const Host& host = executor_.host();
    GANTRY_TRY(const Value shape, host.text("shape"));
    GANTRY_TRY(const Value shapes, host.map(shapes_));
    GANTRY_TRY(const Value dtype, host.text("dtype"));
    GANTRY_TRY(const Value dtypes, host.map(dtypes_));
    return host.map({{shape, shapes}, {dtype, dtypes}});
  }

 private:
  const Executor& executor_;
  std::vector<Host::Entry> shapes_, dtypes_;
};

Result<Value> get_input_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  const Graph& graph = executor.graph();
  Info info(executor);
  for (std::uint32_t i = 0; i < graph.inputs.size(); ++i) {
    if (!executor.is_parameter[i])
      GANTRY_CHECK(info.add(graph.input(i).name, graph.input_entry(i)));
  }
  return info.map();
}

Result<Value> get_output_info(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  Info info(executor);
  const Graph& graph = executor.graph();
  for (std::size_t i = 0; i < graph.heads.size(); ++i) {
    GANTRY_CHECK(info.add(output_name(graph, i), graph.heads[i].entry));
  }
  return info.map();
}

Result<std::uint32_t> node_of(const Executor& executor, const Call& call, const gantry_value& key) {
  const Graph& graph = executor.graph();
  if (const auto name = value_text(key)) {
    for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
      if (graph.nodes[n].name == *name) return n;
    }
    return not_found("node ", quoted(*name), " not found, node count is ", graph.nodes.size())
        .with_reason("NODE");
  }
  return index_of(call, key, "node", graph.nodes.size());
}

// Runs up to and including a node, and returns its first output.
Result<Value> debug_get_output(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(1, 2));
  GANTRY_TRY(const std::uint32_t n, node_of(executor, call, call.args[0]));
  const GraphNode& node = executor.graph().nodes[n];
  if (node.output_count == 0) return call.refuse("node ", quoted(node.name), " has no output");
  GANTRY_CHECK(executor.run_until(std::size_t{n} + 1, call.env));
  if (call.args.size() == 1) return executor.memory().tensor(node.first_entry);
  GANTRY_TRY(const gantry_tensor* to, call.tensor(1));
  GANTRY_CHECK(
      executor.host().tensor_copy(executor.memory().cell(node.first_entry), *to, call.env));
  return Value();
}

Result<Value> profile(Executor& executor, const Call& call) {
  GANTRY_CHECK(call.count_is(0));
  const Host& host = executor.host();
  std::vector<Host::Entry> times;
  GANTRY_CHECK(executor.profile(call.env, [&](const GraphNode& node, std::int64_t ns) -> Status {
    GANTRY_TRY(Value name, host.text(node.name));
    times.emplace_back(std::move(name), Value::adopt(int_value(ns)));
    return {};
  }));
  return host.map(times);
}

gantry_code run(Executor& executor, const Call& call, gantry_status* status) {
  return executor.run(call.env, status);
}

// At the end of the list.
constexpr std::size_t debug_count = 2;
constexpr std::array all_functions{
    method<&run, "run()">,
    method<&set_input, "set_input(name or index, tensor)">,
    method<&set_input_zero_copy, "set_input_zero_copy(name or index, tensor)">,
    method<&get_input, "get_input(name or index)">,
    method<&get_input_index, "get_input_index(name)">,
    method<&get_num_inputs, "get_num_inputs()">,
    method<&run_from_inputs, "run_from_inputs(device type, device index, name, tensor, ...)">,
    method<&set_output_zero_copy, "set_output_zero_copy(name or index, tensor)">,
    method<&get_output, "get_output(name or index[, tensor])">,
    method<&get_num_outputs, "get_num_outputs()">,
    method<&load_params, "load_params(bytes)">,
    method<&share_params, "share_params(executor, bytes)">,
    method<&get_input_info, "get_input_info()">,
    method<&get_output_info, "get_output_info()">,
    method<&debug_get_output, "debug_get_output(node name or index[, tensor])">,
    method<&profile, "profile()">,
};

}  // namespace

std::span<const Method<Executor>> Executor::functions() const {
  return std::span(all_functions)
      .first(all_functions.size() - (has_debug_functions ? 0 : debug_count));
}

Result<Value> new_executor_module(std::unique_ptr<Executor> executor, gantry_object* parent) {
  const Host host = executor->host();
  return new_module(host, parent, std::move(executor));
}

}  // namespace gantry::graph
