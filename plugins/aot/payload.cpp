// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/aligned_payload.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace gantry::aot {
namespace {

Status check_names(const std::vector<Parameter>& parameters) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice == names.end()) return {};
  return malformed(no_offset, "parameter ", quoted(*twice), " is given twice")
      .with_reason("BLOB_FORMAT");
}

}  // namespace

Result<Payload> read_payload(Blob& blob) {
  ByteReader& in = blob.reader();
  Payload payload;
  const std::uint64_t count_at = in.offset();
  GANTRY_TRY(const std::uint64_t count, in.read_u64("parameter count"));
  const std::uint64_t names_at = in.offset();
  GANTRY_TRY(const std::uint64_t names, in.read_count(sizeof(std::uint64_t), "parameter names"));
  if (names != count) {
    return malformed(names_at, "parameter names are ", names, ", the count at ", Hex{count_at},
                     " is ", count)
        .with_reason("BLOB_FORMAT");
  }
  payload.parameters.resize(count);
  for (Parameter& parameter : payload.parameters) {
    GANTRY_TRY(parameter.name, in.read_string("parameter name"));
  }
  for (Parameter& parameter : payload.parameters) {
    auto array = read_array_record(in, "parameter");
    if (!array.ok()) return std::move(array).error().at("in ", quoted(parameter.name));
    parameter.array = std::move(*array);
  }
  GANTRY_TRY(payload.module_name, in.read_string("module_name"));
  std::erase_if(payload.parameters,
                [](const Parameter& parameter) { return is_filler(parameter.name); });
  GANTRY_CHECK(check_names(payload.parameters));
  payload.kept = blob.keep();
  return payload;
}

Status write_payload(const Payload& payload, bool with_parameters, const Sink& sink) {
  const std::span<const std::uint8_t> read = payload.kept.bytes;
  if (with_parameters && sink.alignment() == 0) return sink.write(read);
  SinkStream out(&sink.raw());
  if (with_parameters) {
    return write_aligned_payload("AotExecutorFactory", read, {},
                                 {out, out.position(), sink.alignment()});
  }
  // Without names and arrays.
  out.Write<std::uint64_t>(0);
  out.Write<std::uint64_t>(0);
  out.Write(std::string(payload.module_name));
  return {};
}

}  // namespace gantry::aot
