// SPDX-License-Identifier: Apache-2.0
#include "core/format/details.hpp"

#include "core/format/limits.hpp"
#include "core/format/payload_walk.hpp"
#include "core/format/subgraph_details.hpp"
#include "core/format/vm_details.hpp"

#include <gantry/byte_reader.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>

namespace gantry {
namespace {

Detail* child_of(Detail& root, std::string_view name) {
  for (Detail& each : root.children) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

void drop(Detail& root, std::string_view name) {
  std::erase_if(root.children, [&](const Detail& each) { return each.name == name; });
}

// Names and arrays are separate lists in the same order. Moves the names to the arrays.
void name_params(PayloadDetails& details) {
  Detail* const names = child_of(details.root, "names");
  Detail* params = child_of(details.root, "params");
  if (params == nullptr) params = child_of(details.root, "constants");
  if (names == nullptr || params == nullptr) return;
  if (names->children.size() != params->children.size()) {
    details.warnings.push_back(
        Message(names->children.size(), " names for ", params->children.size(), " arrays"));
    return;
  }
  for (std::size_t i = 0; i < names->children.size(); ++i) {
    params->children[i].name = std::move(names->children[i].value);
  }
  drop(details.root, "names");
  drop(details.root, "count");
}

// Returns a reader of the code of a virtual machine, which follows a length in layout one and has
// none in layout two.
ByteReader code_of(const Entry& entry, const Measured& measured) {
  ByteReader in(entry.payload, entry.at);
  const bool bare = measured.layout->fields().front().kind == PayloadField::Kind::rest;
  if (bare) return in;
  // The payload matches its layout, so it contains the length.
  return ByteReader(entry.payload.subspan(8), entry.at + 8);
}

}  // namespace

PayloadDetails describe_payload(const Entry& entry, const ExporterFacts& facts,
                                const PayloadLayouts& layouts) {
  PayloadDetails details;
  if (entry.is_library() || entry.boundary == Boundary::unknown ||
      !layouts.contains(entry.type_key)) {
    return details;
  }
  const auto warn = [&](const Error& error) {
    Message text = error.message;
    if (error.offset != no_offset) text.append({" at ", Hex{error.offset}});
    details.warnings.push_back(Message(quoted(entry.type_key), " payload: ", text));
  };
  // The container's reader has delimited the payload.
  const auto measured = layouts.measure(entry.type_key, ByteReader(entry.payload, entry.at),
                                        PayloadEnd::known, facts.argument_tags);
  if (!measured.ok()) {
    warn(measured.error());
    return details;
  }
  DetailSink sink;
  sink.max = std::clamp(entry.payload.size() / limits::bytes_per_detail, limits::min_details,
                        limits::max_details);
  sink.has_private_float_codes = facts.has_private_float_codes;
  const auto keep = [&](const Status& walked) {
    if (!walked.ok()) warn(walked.error());
  };
  if (is_virtual_machine(entry.type_key)) {
    keep(
        describe_virtual_machine(entry.type_key, code_of(entry, *measured), facts.numbering, sink));
  } else {
    ByteReader in(entry.payload, entry.at);
    keep(walk_payload(in, *measured->layout, measured->has_argument_tags, &sink));
    if (has_subgraph(sink.root)) {
      keep(describe_subgraph(ByteReader(entry.payload, entry.at), sink));
    }
  }
  details.root = std::move(sink.root);
  if (sink.cut) {
    details.warnings.push_back(Message(quoted(entry.type_key), " payload: only the first ",
                                       sink.max, " details are shown"));
  }
  name_params(details);
  return details;
}

}  // namespace gantry
