// SPDX-License-Identifier: Apache-2.0
#include "core/formats/graph_json.hpp"

#include "core/base/text.hpp"
#include "core/formats/graph_lists.hpp"

#include <gantry/array_record.hpp>

#include <set>
#include <utility>

namespace gantry {
namespace {

// The longest names that compilers write have a few hundred bytes. The limit is required because
// executors store a name once for each output of its node.
constexpr std::size_t max_bytes_of_name = 4096;
// The deepest value that is read is an extent, inside six arrays and objects.
constexpr std::size_t max_depth = 32;

template <class... Parts>
Failure refuse(std::uint64_t at, const Parts&... parts) {
  return malformed(at, parts...).with_reason("GRAPH");
}

class GraphBuilder {
 public:
  explicit GraphBuilder(GraphLists lists) : lists_(std::move(lists)) {}
  Result<Graph> build();

 private:
  Status check_row_ptr() const;
  template <class T>
  Status check_length(const GraphList<T>& attribute, std::string_view name) const;
  Status read_entries();
  Result<GraphEntry> read_entry(std::size_t e);
  Status read_node(std::size_t n);
  Status read_call(std::size_t n, GraphNode& node) const;
  Status check_nop(std::size_t n, const GraphNode& node) const;
  Status read_arg_nodes();
  Status read_heads();
  Status read_output_names();
  Status read_devices();

  std::string title(std::size_t n) const {
    return concat("node ", n, " ", quoted(lists_.nodes.items[n].name));
  }
  const std::vector<std::uint64_t>& row_ptr() const { return lists_.node_row_ptr.items; }
  std::uint64_t entry_count() const { return row_ptr().back(); }
  std::uint32_t output_count(std::size_t n) const {
    return static_cast<std::uint32_t>(row_ptr()[n + 1] - row_ptr()[n]);
  }
  std::uint32_t entry_of(GraphOutputRef output) const {
    return static_cast<std::uint32_t>(row_ptr()[output.node] + output.index);
  }

  GraphLists lists_;
  Graph graph_;
};

// The entries of node n are row_ptr[n] to row_ptr[n + 1] - 1.
Status GraphBuilder::check_row_ptr() const {
  const std::uint64_t at = lists_.node_row_ptr.at;
  const std::vector<std::uint64_t>& row = row_ptr();
  const std::size_t node_count = lists_.nodes.items.size();
  if (row.size() != node_count + 1) {
    return refuse(at, "node_row_ptr has ", row.size(), " items, expected ", node_count + 1,
                  ", one more than nodes");
  }
  if (row.front() != 0) return refuse(at, "node_row_ptr[0] is ", row.front(), ", expected 0");
  for (std::size_t i = 1; i <= node_count; ++i) {
    if (row[i] < row[i - 1]) {
      return refuse(at, "node_row_ptr[", i, "] decreases from ", row[i - 1], " to ", row[i]);
    }
  }
  if (row.back() > INT32_MAX) {
    return refuse(at, "node_row_ptr counts ", row.back(), " entries, maximum is ", INT32_MAX);
  }
  return {};
}

template <class T>
Status GraphBuilder::check_length(const GraphList<T>& attribute, std::string_view name) const {
  if (!attribute.exists() || attribute.items.size() == entry_count()) return {};
  return refuse(attribute.at, "attrs.", name, " has ", attribute.items.size(),
                " items, entry count is ", entry_count());
}

Status GraphBuilder::read_entries() {
  GANTRY_CHECK(check_row_ptr());
  GANTRY_CHECK(check_length(lists_.dltype, "dltype"));
  GANTRY_CHECK(check_length(lists_.storage_id, "storage_id"));
  GANTRY_CHECK(check_length(lists_.shape, "shape"));
  GANTRY_CHECK(check_length(lists_.device_index, "device_index"));
  GANTRY_CHECK(check_length(lists_.storage_scope, "storage_scope"));
  graph_.entries.reserve(entry_count());
  for (std::size_t e = 0; e < entry_count(); ++e) {
    GANTRY_TRY(GraphEntry entry, read_entry(e));
    graph_.entries.push_back(std::move(entry));
  }
  return {};
}

Result<GraphEntry> GraphBuilder::read_entry(std::size_t e) {
  const auto in_attribute = [&](std::string_view name, std::uint64_t at, Error error) {
    error.offset = at;
    error.message = Message("attrs.", name, "[", e, "]: ", error.message);
    return error;
  };
  GraphEntry entry;
  const Result<gantry_dtype> dtype = parse_dtype(lists_.dltype.items[e]);
  if (!dtype.ok()) return in_attribute("dltype", lists_.dltype.at, dtype.error());
  entry.dtype = *dtype;
  entry.shape = std::move(lists_.shape.items[e]);
  if (entry.shape.size() > max_array_dimensions) {
    return refuse(lists_.shape.at, "attrs.shape[", e, "] has ", entry.shape.size(),
                  " dimensions, maximum is ", max_array_dimensions);
  }
  const Result<std::uint64_t> bytes = tensor_bytes(entry.shape, entry.dtype);
  if (!bytes.ok()) return in_attribute("shape", lists_.shape.at, bytes.error());
  entry.bytes = *bytes;
  entry.storage_id = lists_.storage_id.items[e];
  if (entry.storage_id < -1 || entry.storage_id > INT32_MAX) {
    return refuse(lists_.storage_id.at, "attrs.storage_id[", e, "] is ", entry.storage_id,
                  ", range is -1 to ", INT32_MAX);
  }
  if (lists_.device_index.exists()) {
    entry.device_number = lists_.device_index.items[e];
    if (entry.device_number < 0 || entry.device_number > INT32_MAX) {
      return refuse(lists_.device_index.at, "attrs.device_index[", e, "] is ", entry.device_number,
                    ", range is 0 to ", INT32_MAX);
    }
  }
  if (lists_.storage_scope.exists()) entry.scope = lists_.storage_scope.items[e];
  return entry;
}

Status GraphBuilder::read_node(std::size_t n) {
  const GraphNodeText& text = lists_.nodes.items[n];
  if (text.name.size() > max_bytes_of_name) {
    return refuse(text.at, title(n), " has a name of ", text.name.size(), " bytes, maximum is ",
                  max_bytes_of_name);
  }
  GraphNode node;
  node.name = text.name;
  node.first_entry = static_cast<std::uint32_t>(row_ptr()[n]);
  node.output_count = output_count(n);
  if (text.op == "tvm_op") {
    GANTRY_CHECK(read_call(n, node));
  } else if (text.op != "null") {
    return unsupported(title(n), " has op ", quoted(text.op), ", known are null and tvm_op")
        .with_reason("GRAPH");
  } else if (!text.inputs.items.empty()) {
    return refuse(text.at, title(n), " has op null and ", text.inputs.items.size(),
                  " inputs, expected none");
  } else if (node.output_count == 0) {
    return refuse(text.at, title(n), " has op null and no output");
  }
  graph_.nodes.push_back(std::move(node));
  return {};
}

Status GraphBuilder::read_call(std::size_t n, GraphNode& node) const {
  const GraphNodeText& text = lists_.nodes.items[n];
  node.inputs.reserve(text.inputs.items.size());
  for (std::size_t i = 0; i < text.inputs.items.size(); ++i) {
    const GraphOutputRef from = text.inputs.items[i];
    if (from.node >= n) {
      return refuse(text.inputs.at, title(n), " inputs[", i, "] names node ", from.node,
                    ", expected one of the ", n, " nodes before it");
    }
    if (from.index >= output_count(from.node)) {
      return refuse(text.inputs.at, title(n), " inputs[", i, "] names output ", from.index,
                    " of node ", from.node, ", which has ", output_count(from.node));
    }
    node.inputs.push_back(entry_of(from));
  }
  const auto number = [&](std::string_view name, std::string_view digits) -> Result<std::uint32_t> {
    if (const auto value = parse_number<std::uint32_t>(digits)) return *value;
    return refuse(text.at, title(n), " attribute ", name, " is ", quoted(digits),
                  ", expected a number");
  };
  GANTRY_CHECK(number("num_inputs", text.num_inputs));
  GANTRY_TRY(const std::uint32_t outputs, number("num_outputs", text.num_outputs));
  if (outputs != node.output_count) {
    return refuse(text.at, title(n), " has num_outputs ", outputs, ", node_row_ptr gives it ",
                  node.output_count);
  }
  GANTRY_TRY(const std::uint32_t flatten, number("flatten_data", text.flatten_data));
  node.flatten = flatten != 0;

  node.function = text.func_name;
  node.kind = node.function == "__nop"    ? GraphNodeKind::nop
              : node.function == "__copy" ? GraphNodeKind::copy
                                          : GraphNodeKind::call;
  if (node.kind == GraphNodeKind::nop) return check_nop(n, node);
  if (node.kind == GraphNodeKind::copy && (node.inputs.size() != 1 || node.output_count != 1)) {
    return refuse(text.at, title(n), " is a __copy of ", node.inputs.size(), " inputs to ",
                  node.output_count, " outputs, expected one of each");
  }
  return {};
}

// A reshape does not copy: each output must share the storage of an input, and the inputs of that
// storage must have the output's size. Inputs are looked up by storage, since a hostile graph may
// have a node with very many inputs and outputs.
Status GraphBuilder::check_nop(std::size_t n, const GraphNode& node) const {
  struct Inputs {
    const GraphEntry* first;
    // the first whose size differs from that of `first`; NULL: none
    const GraphEntry* other_size;
  };
  const std::uint64_t at = lists_.nodes.items[n].at;
  std::map<std::int64_t, Inputs> by_storage;
  for (const std::uint32_t e : node.inputs) {
    const GraphEntry& input = graph_.entries[e];
    // not shared
    if (input.storage_id < 0) continue;
    Inputs& inputs =
        by_storage.try_emplace(input.storage_id, Inputs{&input, nullptr}).first->second;
    if (inputs.other_size == nullptr && input.bytes != inputs.first->bytes) {
      inputs.other_size = &input;
    }
  }
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const GraphEntry& output = graph_.entries[node.first_entry + i];
    const auto found = by_storage.find(output.storage_id);
    if (found == by_storage.end()) {
      return refuse(at, title(n), " is a __nop to storage ", output.storage_id,
                    ", which none of its inputs has");
    }
    const Inputs& inputs = found->second;
    const GraphEntry* other =
        inputs.first->bytes != output.bytes ? inputs.first : inputs.other_size;
    if (other != nullptr) {
      return refuse(at, title(n), " is a __nop from ", type_text(*other), " to ", type_text(output),
                    ": ", other->bytes, " bytes are not ", output.bytes);
    }
  }
  return {};
}

Status GraphBuilder::read_arg_nodes() {
  const GraphList<std::uint64_t>& list = lists_.arg_nodes;
  std::vector<bool> seen(graph_.nodes.size());
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::uint64_t n = list.items[i];
    if (n >= graph_.nodes.size()) {
      return refuse(list.at, "arg_nodes[", i, "] names node ", n, ", node count is ",
                    graph_.nodes.size());
    }
    if (graph_.nodes[n].kind != GraphNodeKind::input) {
      return refuse(list.at, "arg_nodes[", i, "] names ", title(n), ", which is not an input");
    }
    if (seen[n]) return refuse(list.at, "arg_nodes[", i, "] names ", title(n), " again");
    seen[n] = true;
    graph_.inputs.push_back(static_cast<std::uint32_t>(n));
    graph_.input_by_name.insert_or_assign(graph_.nodes[n].name, static_cast<std::uint32_t>(i));
  }
  for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
    if (graph_.nodes[n].kind == GraphNodeKind::input && !seen[n]) {
      return refuse(list.at, title(n), " is an input, but arg_nodes does not name it");
    }
  }
  return {};
}

Status GraphBuilder::read_heads() {
  const GraphList<GraphOutputRef>& list = lists_.heads;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const GraphOutputRef head = list.items[i];
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

Status GraphBuilder::read_output_names() {
  const GraphList<std::string_view>& list = lists_.output_names;
  if (!list.exists()) return {};
  constexpr std::string_view title = "metadata.gantry_output_names";
  if (list.items.size() != graph_.heads.size()) {
    return refuse(list.at, title, " has ", list.items.size(), " items, output count is ",
                  graph_.heads.size());
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string_view name = list.items[i];
    if (name.size() > max_bytes_of_name) {
      return refuse(list.at, title, "[", i, "] has ", name.size(), " bytes, maximum is ",
                    max_bytes_of_name);
    }
    if (!seen.insert(name).second) {
      return refuse(list.at, title, "[", i, "] is ", quoted(name), " again");
    }
    graph_.output_names.emplace_back(name);
  }
  return {};
}

Status GraphBuilder::read_devices() {
  const GraphList<std::int64_t>& list = lists_.devices;
  if (!list.exists()) return {};
  constexpr std::string_view title = "attrs.gantry_devices";
  if (lists_.device_index.exists()) {
    return refuse(list.at, title, " and attrs.device_index exclude each other");
  }
  if (list.items.empty()) return refuse(list.at, title, " is empty, minimum is 1 item");
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::int64_t number = list.items[i];
    if (number < 1 || number > INT32_MAX) {
      return refuse(list.at, title, "[", i, "] is ", number, ", range is 1 to ", INT32_MAX);
    }
    if (!seen.insert(number).second) {
      return refuse(list.at, title, "[", i, "] is ", number, " again");
    }
    graph_.devices.push_back(static_cast<std::int32_t>(number));
  }
  return {};
}

Result<Graph> GraphBuilder::build() {
  GANTRY_CHECK(read_entries());
  graph_.nodes.reserve(lists_.nodes.items.size());
  for (std::size_t n = 0; n < lists_.nodes.items.size(); ++n) GANTRY_CHECK(read_node(n));
  GANTRY_CHECK(read_arg_nodes());
  GANTRY_CHECK(read_heads());
  GANTRY_CHECK(read_output_names());
  GANTRY_CHECK(read_devices());
  return std::move(graph_);
}

}  // namespace

Result<Graph> read_graph_json(std::string_view text, std::uint64_t offset) {
  const JsonOptions options{
      .name = "graph", .reason = "GRAPH", .offset = offset, .max_depth = max_depth};
  GANTRY_TRY(const JsonTree tree, JsonTree::parse(text, options));
  GANTRY_TRY(GraphLists lists, read_graph_lists(tree));
  return GraphBuilder(std::move(lists)).build();
}

}  // namespace gantry
