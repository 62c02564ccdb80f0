// SPDX-License-Identifier: Apache-2.0
//
// The way back: a payload to bytes whose parameters lie where executors can use them in place.
//
//   names     "__gantry_fill_0" "p0" "__gantry_fill_1" "p1" ...
//   records   filler 0 (uint8[1 to 128]) | p0's header | p0's data at a multiple of 128 | filler 1 ...
//
// The names come before all records, so which parameters need a filler cannot depend on where they lie: all have one.
#include "payload.hpp"

#include <gantry/wall.hpp>

#include <cstring>

namespace gantry::graph {
namespace {

// Collects small fields and passes large ones on, counting.
class Writer {
 public:
  explicit Writer(const gantry_sink& sink) : sink_(sink) {}

  std::uint64_t written() const { return written_; }
  Status bytes(const void* data, std::uint64_t size) {
    if (size == 0) return {};
    StatusBuffer status;
    const gantry_code code = sink_.write(sink_.self, data, size, status.get());
    if (code != GANTRY_OK) return status.error(code, "the sink's write");
    written_ += size;
    return {};
  }
  template <class T>
  Status number(T value) {
    return bytes(&value, sizeof value);
  }
  Status text(std::string_view text) {
    GANTRY_CHECK(number(std::uint64_t{text.size()}));
    return bytes(text.data(), text.size());
  }

 private:
  const gantry_sink& sink_;
  std::uint64_t written_ = 0;
};

constexpr std::uint64_t header_bytes(std::size_t ndim) { return 40 + 8 * std::uint64_t{ndim}; }

Status write_record(Writer& out, gantry_dtype dtype, std::span<const std::int64_t> shape,
                    std::span<const std::uint8_t> data) {
  GANTRY_CHECK(out.number(array_record_magic));
  GANTRY_CHECK(out.number(std::uint64_t{0}));
  GANTRY_CHECK(out.number(std::int32_t{1}));
  GANTRY_CHECK(out.number(std::int32_t{0}));
  GANTRY_CHECK(out.number(static_cast<std::int32_t>(shape.size())));
  GANTRY_CHECK(out.number(dtype.code));
  GANTRY_CHECK(out.number(dtype.bits));
  GANTRY_CHECK(out.number(dtype.lanes));
  GANTRY_CHECK(out.bytes(shape.data(), shape.size_bytes()));
  GANTRY_CHECK(out.number(std::uint64_t{data.size()}));
  return out.bytes(data.data(), data.size());
}

}  // namespace

Status write_payload(const Payload& payload, std::span<const Parameter> parameters,
                     const gantry_sink& sink) {
  Writer out(sink);
  GANTRY_CHECK(out.text(payload.graph_json));
  const std::uint64_t count = 2 * std::uint64_t{parameters.size()};
  GANTRY_CHECK(out.number(count));
  GANTRY_CHECK(out.number(count));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    GANTRY_CHECK(out.text(concat(filler_prefix, i)));
    GANTRY_CHECK(out.text(parameters[i].name));
  }
  static constexpr std::uint8_t zeros[in_place_alignment] = {};
  for (const Parameter& parameter : parameters) {
    const ArrayRecord& array = parameter.array;
    const std::uint64_t before =
        sink.position + out.written() + header_bytes(1) + header_bytes(array.shape.size());
    const auto gap = static_cast<std::int64_t>(in_place_alignment - before % in_place_alignment);
    GANTRY_CHECK(write_record(out, {1, 8, 1}, {&gap, 1}, {zeros, static_cast<std::size_t>(gap)}));
    GANTRY_CHECK(write_record(out, array.dtype, array.shape, array.data));
  }
  return out.text(payload.module_name);
}

}  // namespace gantry::graph
