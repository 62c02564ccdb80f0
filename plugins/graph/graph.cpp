// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include "graph_json.hpp"

#include <gantry/array_record.hpp>
#include <gantry/dtype_text.hpp>
#include <gantry/quoted.hpp>

#include <charconv>
#include <map>
#include <utility>

namespace gantry::graph {
namespace {

// A name appears once in the file but as often as the node has outputs in what is told about it. The longest that
// compilers write are a few hundred bytes.
constexpr std::size_t max_name_bytes = 4096;

template <class... Parts>
Error refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("GRAPH");
}

template <class T>
Status has_length(const JsonList<T>& list, std::string_view name, std::size_t count,
                  std::string_view what) {
  if (list.items.size() == count) return {};
  return refuse(list.at, name, " has ", list.items.size(), " items, ", what, " is ", count);
}

// The offsets by which nodes find their entries: from 0, never falling, at most 2^31 in all.
Result<std::uint32_t> check_row_ptr(const JsonGraph& json) {
  const JsonList<std::uint64_t>& row = json.node_row_ptr;
  const std::size_t node_count = json.nodes.items.size();
  if (row.items.size() != node_count + 1) {
    return refuse(row.at, "node_row_ptr has ", row.items.size(), " items, nodes and one more are ",
                  node_count + 1);
  }
  if (row.items.front() != 0)
    return refuse(row.at, "node_row_ptr[0] is ", row.items.front(), ", expected 0");
  for (std::size_t i = 1; i <= node_count; ++i) {
    if (row.items[i] < row.items[i - 1]) {
      return refuse(row.at, "node_row_ptr[", i, "] falls from ", row.items[i - 1], " to ",
                    row.items[i]);
    }
  }
  if (row.items.back() > INT32_MAX) {
    return refuse(row.at, "node_row_ptr counts ", row.items.back(), " entries, maximum is ",
                  INT32_MAX);
  }
  return static_cast<std::uint32_t>(row.items.back());
}

Result<Entry> read_entry(const JsonGraph& json, std::size_t e) {
  Entry entry;
  const auto in_attribute = [&](std::string_view name, std::uint64_t at, Error error) {
    error.offset = at;
    error.message = concat("attrs.", name, "[", e, "]: ", error.message);
    return error;
  };
  Result<gantry_dtype> dtype = parse_dtype(json.dltype.items[e]);
  if (!dtype.ok()) return in_attribute("dltype", json.dltype.at, std::move(dtype).error());
  entry.dtype = *dtype;
  entry.shape = json.shape.items[e];
  if (entry.shape.size() > max_array_dimensions) {
    return refuse(json.shape.at, "attrs.shape[", e, "] has ", entry.shape.size(),
                  " dimensions, maximum is ", max_array_dimensions);
  }
  const Result<std::uint64_t> bytes = tensor_bytes(entry.shape, entry.dtype);
  if (!bytes.ok()) return in_attribute("shape", json.shape.at, bytes.error());
  entry.bytes = *bytes;
  entry.storage_id = json.storage_id.items[e];
  if (entry.storage_id < -1 || entry.storage_id > INT32_MAX) {
    return refuse(json.storage_id.at, "attrs.storage_id[", e, "] is ", entry.storage_id,
                  ", range is -1 to ", INT32_MAX);
  }
  if (json.device_index.there()) {
    entry.device_number = json.device_index.items[e];
    if (entry.device_number < 0 || entry.device_number > INT32_MAX) {
      return refuse(json.device_index.at, "attrs.device_index[", e, "] is ", entry.device_number,
                    ", range is 0 to ", INT32_MAX);
    }
  }
  if (json.storage_scope.there()) entry.scope = json.storage_scope.items[e];
  return entry;
}

class Builder {
 public:
  explicit Builder(const JsonGraph& json) : json_(json) {}
  Result<Graph> build();

 private:
  Status read_entries();
  Status read_node(std::size_t n);
  Status read_call(std::size_t n, Node& node);
  Status check_nop(std::size_t n, const Node& node) const;
  Status read_arg_nodes();
  Status read_heads();
  std::string title(std::size_t n) const {
    return concat("node ", n, " ", quoted(json_.nodes.items[n].name));
  }
  std::uint32_t output_count(std::size_t n) const {
    return static_cast<std::uint32_t>(json_.node_row_ptr.items[n + 1] -
                                      json_.node_row_ptr.items[n]);
  }
  std::uint32_t entry_of(JsonEntry of) const {
    return static_cast<std::uint32_t>(json_.node_row_ptr.items[of.node] + of.index);
  }

  const JsonGraph& json_;
  Graph graph_;
};

Status Builder::read_entries() {
  GANTRY_TRY(const std::uint32_t count, check_row_ptr(json_));
  constexpr std::string_view what = "entry count";
  GANTRY_CHECK(has_length(json_.dltype, "attrs.dltype", count, what));
  GANTRY_CHECK(has_length(json_.storage_id, "attrs.storage_id", count, what));
  GANTRY_CHECK(has_length(json_.shape, "attrs.shape", count, what));
  if (json_.device_index.there())
    GANTRY_CHECK(has_length(json_.device_index, "attrs.device_index", count, what));
  if (json_.storage_scope.there())
    GANTRY_CHECK(has_length(json_.storage_scope, "attrs.storage_scope", count, what));
  graph_.entries.reserve(count);
  for (std::size_t e = 0; e < count; ++e) {
    GANTRY_TRY(Entry entry, read_entry(json_, e));
    graph_.entries.push_back(std::move(entry));
  }
  return {};
}

Status Builder::read_node(std::size_t n) {
  const JsonNode& json = json_.nodes.items[n];
  if (json.name.size() > max_name_bytes) {
    return refuse(json.at, title(n), " has a name of ", json.name.size(), " bytes, maximum is ",
                  max_name_bytes);
  }
  Node node;
  node.name = json.name;
  node.first_entry = static_cast<std::uint32_t>(json_.node_row_ptr.items[n]);
  node.output_count = output_count(n);
  if (json.op != "null" && json.op != "tvm_op") {
    return unsupported(title(n), " has op ", quoted(json.op), ", known are null and tvm_op")
        .with_reason("GRAPH");
  }
  if (json.op == "null") {
    if (!json.inputs.items.empty()) {
      return refuse(json.at, title(n), " has op null and ", json.inputs.items.size(),
                    " inputs, expected none");
    }
    if (node.output_count == 0) return refuse(json.at, title(n), " has op null and no output");
  } else {
    GANTRY_CHECK(read_call(n, node));
  }
  graph_.nodes.push_back(std::move(node));
  return {};
}

Status Builder::read_call(std::size_t n, Node& node) {
  const JsonNode& json = json_.nodes.items[n];
  for (std::size_t i = 0; i < json.inputs.items.size(); ++i) {
    const JsonEntry& from = json.inputs.items[i];
    if (from.node >= n) {
      return refuse(json.inputs.at, title(n), " inputs[", i, "] names node ", from.node,
                    ", nodes before it are ", n);
    }
    if (from.index >= output_count(from.node)) {
      return refuse(json.inputs.at, title(n), " inputs[", i, "] names output ", from.index,
                    " of node ", from.node, ", which has ", output_count(from.node));
    }
    node.inputs.push_back(entry_of(from));
  }
  const auto number = [&](std::string_view name, const std::string& text) -> Result<std::uint32_t> {
    std::uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end) return value;
    return refuse(json.at, title(n), " attribute ", name, " is ", quoted(text),
                  ", expected a number");
  };
  GANTRY_CHECK(number("num_inputs", *json.num_inputs));
  GANTRY_TRY(const std::uint32_t outputs, number("num_outputs", *json.num_outputs));
  if (outputs != node.output_count) {
    return refuse(json.at, title(n), " has num_outputs ", outputs, ", node_row_ptr gives it ",
                  node.output_count);
  }
  GANTRY_TRY(const std::uint32_t flatten, number("flatten_data", *json.flatten_data));
  node.flatten = flatten != 0;

  node.function = *json.func_name;
  node.kind = node.function == "__nop"    ? OpKind::nop
              : node.function == "__copy" ? OpKind::copy
                                          : OpKind::call;
  if (node.kind == OpKind::nop) return check_nop(n, node);
  if (node.kind == OpKind::copy && (node.inputs.size() != 1 || node.output_count != 1)) {
    return refuse(json.at, title(n), " is a __copy of ", node.inputs.size(), " inputs to ",
                  node.output_count, " outputs, expected one of each");
  }
  return {};
}

// A reshape moves nothing: each output must already be the memory of an input, byte for byte. Inputs are found by their
// storage, because a file may give one node as many of both as it has room for.
Status Builder::check_nop(std::size_t n, const Node& node) const {
  struct Inputs {
    const Entry* first;
    // the first that is not as large as `first`; NULL: all are
    const Entry* other_size;
  };
  const std::uint64_t at = json_.nodes.items[n].at;
  std::map<std::int64_t, Inputs> by_storage;
  for (const std::uint32_t e : node.inputs) {
    const Entry& input = graph_.entries[e];
    // shares with none
    if (input.storage_id < 0) continue;
    Inputs& there = by_storage.try_emplace(input.storage_id, Inputs{&input, nullptr}).first->second;
    if (there.other_size == nullptr && input.bytes != there.first->bytes) there.other_size = &input;
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const Entry& output = graph_.entries[node.first_entry + i];
    const auto found = by_storage.find(output.storage_id);
    if (found == by_storage.end()) {
      return refuse(at, title(n), " is a __nop to storage ", output.storage_id,
                    ", which none of its inputs has");
    }
    const Inputs& inputs = found->second;
    const Entry* other = inputs.first->bytes != output.bytes ? inputs.first : inputs.other_size;
    if (other != nullptr) {
      return refuse(at, title(n), " is a __nop from ", describe(*other), " to ", describe(output),
                    ": ", other->bytes, " bytes are not ", output.bytes);
    }
  }
  return {};
}

Status Builder::read_arg_nodes() {
  const JsonList<std::uint64_t>& list = json_.arg_nodes;
  std::vector<bool> seen(graph_.nodes.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::uint64_t n = list.items[i];
    if (n >= graph_.nodes.size()) {
      return refuse(list.at, "arg_nodes[", i, "] names node ", n, ", node count is ",
                    graph_.nodes.size());
    }
    if (graph_.nodes[n].kind != OpKind::input) {
      return refuse(list.at, "arg_nodes[", i, "] names ", title(n), ", which is no input");
    }
    if (seen[n]) return refuse(list.at, "arg_nodes[", i, "] names ", title(n), " again");
    seen[n] = true;
    graph_.inputs.push_back(static_cast<std::uint32_t>(n));
    graph_.input_by_name.insert_or_assign(graph_.nodes[n].name, static_cast<std::uint32_t>(i));
  }
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].kind == OpKind::input && !seen[n]) {
      return refuse(list.at, title(n), " is an input, but arg_nodes does not name it");
    }
  }
  return {};
}

Status Builder::read_heads() {
  const JsonList<JsonEntry>& list = json_.heads;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const JsonEntry& head = list.items[i];
    if (head.node >= graph_.nodes.size()) {
      return refuse(list.at, "heads[", i, "] names node ", head.node, ", node count is ",
                    graph_.nodes.size());
    }
    if (head.index >= output_count(head.node)) {
      return refuse(list.at, "heads[", i, "] names output ", head.index, " of ", title(head.node),
                    ", which has ", output_count(head.node));
    }
    graph_.heads.push_back({static_cast<std::uint32_t>(head.node),
                            static_cast<std::uint32_t>(head.index), entry_of(head)});
  }
  return {};
}

Result<Graph> Builder::build() {
  GANTRY_CHECK(read_entries());
  graph_.nodes.reserve(json_.nodes.items.size());
  for (std::size_t n = 0; n < json_.nodes.items.size(); ++n) GANTRY_CHECK(read_node(n));
  GANTRY_CHECK(read_arg_nodes());
  GANTRY_CHECK(read_heads());
  return std::move(graph_);
}

}  // namespace

Result<Graph> read_graph(std::string_view text, std::uint64_t at) {
  GANTRY_TRY(const JsonGraph json, read_graph_json(text, at));
  return Builder(json).build();
}

std::string describe(const Entry& entry) {
  std::string text = dtype_text(entry.dtype) + "[";
  for (std::size_t i = 0; i < entry.shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += concat(entry.shape[i]);
  }
  return text + "]";
}

}  // namespace gantry::graph
