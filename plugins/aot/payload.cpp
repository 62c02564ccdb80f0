// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include "core/formats/aligned_payload.hpp"
#include "core/formats/array_list.hpp"
#include "core/formats/type_key.hpp"

#include <gantry/aligned_record.hpp>
#include <gantry/dmlc_stream.hpp>
#include <gantry/quoted.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace gantry::aot {
namespace {

const ArrayListForm& factory_form() { return *array_list_form(aot_factory_key); }

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
  GANTRY_TRY(ArrayList list, read_array_list(blob.reader(), factory_form()));
  Payload payload{std::move(list.arrays), list.module_name, {}};
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
    return write_aligned_payload(aot_factory_key, read, {},
                                 {out, out.position(), sink.alignment()});
  }
  ArrayList bare;
  bare.module_name = payload.module_name;
  write_array_list(out, factory_form(), bare);
  return {};
}

}  // namespace gantry::aot
