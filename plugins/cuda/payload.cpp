// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include <gantry/dmlc_stream.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::cuda {
namespace {

// What follows the table, for the one generation in which only that tells which table it is.
Status read_rest(ByteReader& in, bool is_exact) {
  GANTRY_TRY(const std::string_view code, in.read_string("code"));
  if (is_exact && !in.at_end()) {
    return malformed(in.offset(), in.left(), " bytes follow the code, expected none")
        .with_reason("BLOB_TRAILING");
  }
  if (is_exact) return {};
  const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(code.data()), code.size());
  GANTRY_CHECK(read_image(ByteReader(bytes)));
  return {};
}

}  // namespace

Result<Payload> read_payload(const gantry_blob& blob, std::uint64_t* consumed) {
  ByteReader in(std::span(blob.data, blob.size));
  const bool is_exact = (blob.flags & GANTRY_BLOB_EXACT) != 0;
  Payload payload;
  const std::uint64_t format_at = in.offset();
  GANTRY_TRY(payload.format, in.read_string("format"));
  if (!is_format(payload.format)) {
    return malformed(format_at, "format is ", quoted(payload.format), ", expected 1 to ",
                     max_format_bytes, " printable characters")
        .with_reason("BLOB_FORMAT");
  }
  GANTRY_TRY(payload.kernels, read_kernel_table(in, argument_tags_of(blob), [&](ByteReader& rest) {
               return read_rest(rest, is_exact);
             }));
  const std::uint64_t code_at = in.offset() + sizeof(std::uint64_t);
  GANTRY_TRY(payload.code, in.read_string("code"));
  if (is_exact && !in.at_end()) {
    return malformed(in.offset(), in.left(), " bytes follow the code, expected none")
        .with_reason("BLOB_TRAILING");
  }
  if (payload.format == "cuda") {
    return unsupported(
               "payload holds CUDA C++ source, which this version does not compile; export "
               "the model where CUDA is installed, so that it holds PTX or a cubin")
        .with_reason("CUDA_SOURCE");
  }
  const auto bytes =
      std::span(reinterpret_cast<const std::uint8_t*>(payload.code.data()), payload.code.size());
  GANTRY_TRY(payload.image, read_image(ByteReader(bytes, code_at)));
  payload.calls.reserve(payload.kernels.size());
  for (const KernelInfo& kernel : payload.kernels.kernels()) {
    GANTRY_TRY(KernelCall call, KernelCall::parse(kernel));
    payload.calls.push_back(std::move(call));
  }
  payload.pin = ObjectRef::share(blob.pin);
  *consumed = in.offset();
  return payload;
}

void write_payload(const Payload& payload, const gantry_sink& sink) {
  SinkStream out(&sink);
  out.Write(std::string(payload.format));
  write_kernel_table(out, payload.kernels);
  out.Write<std::uint64_t>(payload.code.size());
  out.Write(payload.code.data(), payload.code.size());
}

}  // namespace gantry::cuda
