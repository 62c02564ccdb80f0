// SPDX-License-Identifier: Apache-2.0
#include "payload.hpp"

#include <gantry/dmlc_stream.hpp>
#include <gantry/payload_format.hpp>
#include <gantry/quoted.hpp>

#include <utility>

namespace gantry::cuda {

namespace {

struct Code {
  Image image;
  std::string_view source;
};

// TVM names code that it has compiled "ptx", "cubin" or "fatbin", and source "cuda".
Result<Code> read_code(std::string_view format, ByteReader in) {
  if (format != "cuda" || has_binary_magic(in)) {
    GANTRY_TRY(Image image, read_image(in));
    return Code{std::move(image), {}};
  }
  const std::uint64_t start = in.offset();
  const auto bytes = in.rest();
  std::string_view source(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  source = source.substr(0, source.find_last_not_of('\0') + 1);
  if (source.empty()) {
    return malformed(start, "CUDA C++ source is empty").with_reason("BLOB_FORMAT");
  }
  if (const std::size_t nul = source.find('\0'); nul != source.npos) {
    return malformed(start + nul, "CUDA C++ source contains a NUL at ", nul, " of ", source.size(),
                     " bytes, expected text")
        .with_reason("BLOB_FORMAT");
  }
  return Code{{}, source};
}

}  // namespace

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
               if (!blob.is_exact()) {
                 GANTRY_CHECK(read_code(payload.format, ByteReader::of_text(code)));
               }
               return {};
             }));
  const std::uint64_t code_at = in.offset() + sizeof(std::uint64_t);
  GANTRY_TRY(payload.code, in.read_string("code"));
  GANTRY_TRY(Code found, read_code(payload.format, ByteReader::of_text(payload.code, code_at)));
  payload.image = std::move(found.image);
  payload.source = found.source;
  payload.calls.reserve(payload.kernels.size());
  for (const KernelInfo& kernel : payload.kernels.kernels()) {
    GANTRY_TRY(KernelCall call, KernelCall::parse(kernel));
    payload.calls.push_back(std::move(call));
  }
  payload.kept = blob.keep();
  return payload;
}

Status write_payload(const Payload& payload, const Sink& sink) {
  SinkStream out(&sink.raw());
  out.write_text(payload.format);
  write_kernel_table(out, payload.kernels);
  out.write_text(payload.code);
  return {};
}

}  // namespace gantry::cuda
