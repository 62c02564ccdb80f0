// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include <gantry/byte_count.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::cuda {

Result<Payload> read_payload(Blob& blob) {
  ByteReader& in = blob.reader();
  Payload payload;
  const std::uint64_t format_at = in.offset();
  GANTRY_TRY(payload.format, in.read_string("format"));
  if (!is_format(payload.format)) {
    return malformed(format_at, "format is ", quoted(payload.format), ", expected 1 to ",
                     max_format_bytes, " printable characters")
        .with_reason("BLOB_FORMAT");
  }
  // If the container does not state the layout of the table, the code determines it.
  GANTRY_TRY(payload.kernels, read_kernel_table(blob, [&](ByteReader& rest) -> Status {
               GANTRY_TRY(const std::string_view code, rest.read_string("code"));
               if (!blob.is_exact()) GANTRY_CHECK(read_image(ByteReader::of_text(code)));
               return {};
             }));
  const std::uint64_t code_at = in.offset() + sizeof(std::uint64_t);
  GANTRY_TRY(const std::string_view code, in.read_string("code"));
  if (payload.format == "cuda") {
    return unsupported("payload contains ", ByteCount(code.size()),
                       " of CUDA C++ source, which the host that loads it must compile, and "
                       "gantry.cuda has no compiler; TVM exports source where it finds no CUDA "
                       "driver: export the model on a host with a driver and a CUDA Toolkit, so "
                       "that it contains PTX, a cubin or a fatbin")
        .with_reason("CUDA_SOURCE");
  }
  GANTRY_TRY(payload.image, read_image(ByteReader::of_text(code, code_at)));
  payload.calls.reserve(payload.kernels.size());
  for (const KernelInfo& kernel : payload.kernels.kernels()) {
    GANTRY_TRY(KernelCall call, KernelCall::parse(kernel));
    payload.calls.push_back(std::move(call));
  }
  payload.kept = blob.keep();
  return payload;
}

}  // namespace gantry::cuda
