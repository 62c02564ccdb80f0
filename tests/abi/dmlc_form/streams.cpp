// SPDX-License-Identifier: Apache-2.0
//
// The streams over a payload and over a sink, with either form of dmlc::Stream.
#include <gantry/dmlc_stream.hpp>

#include <string>
#include <type_traits>

namespace {

class Text final : public gantry::OutputStream {
 public:
  std::string bytes;

 protected:
  void put(std::span<const std::uint8_t> part) override { bytes.append(part.begin(), part.end()); }
};

}  // namespace

static_assert(std::is_same_v<gantry::StreamWritten, DMLC_WRITTEN>);

DMLC_WRITTEN use_streams(const gantry_sink& sink, std::span<const std::uint8_t> payload);
DMLC_WRITTEN use_streams(const gantry_sink& sink, std::span<const std::uint8_t> payload) {
  gantry::PayloadStream in(payload);
  Text text;
  text.write_text("text");
  gantry::SinkStream out(&sink);
  out.write(payload.first(in.Tell()));
  dmlc::Stream& stream = out;
  return stream.Write(text.bytes.data(), text.bytes.size());
}
