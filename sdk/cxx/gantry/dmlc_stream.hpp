// SPDX-License-Identifier: Apache-2.0
//
// gantry/dmlc_stream.hpp - dmlc-core's serializer between a payload and a sink: for vendors who bring loaders
// written against dmlc::Stream, and for everything that is written.
//
//     Result<Payload> payload = read_with_dmlc(blob bytes, consumed, [](dmlc::Stream* strm) {
//       Payload p;                                    // an existing body, unchanged
//       CHECK(strm->Read(&p.format));
//       CHECK(strm->Read(&p.functions));
//       CHECK(strm->Read(&p.data));
//       return p;
//     });
//
//     SinkStream out(sink);                             // in save_binary, behind gantry::abi_boundary
//     out.Write(payload.format);
//
// dmlc-core reserves memory for whatever length it reads before it looks for the bytes. Give it payloads whose
// lengths were proved first, by ByteReader or by the core through the `payload` layout in the manifest.
#pragma once

#include <gantry/module.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/result.hpp>

#include <dmlc/io.h>
#include <dmlc/logging.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>

namespace gantry {

// Reads a payload and nothing behind it. A read past the end gives the bytes that are left, as dmlc's own streams
// do, and is remembered: loaders that do not look at what Read returns are common.
class PayloadStream : public dmlc::SeekStream {
 public:
  // bytes    borrowed
  explicit PayloadStream(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  using dmlc::Stream::Read;
  using dmlc::Stream::Write;
  std::size_t Read(void* to, std::size_t size) override {
    const std::size_t left = bytes_.size() - at_;
    if (size > left) {
      note(malformed(at_, "payload: needs ", size, " bytes, ", left, " left")
               .with_reason("BLOB_TRUNCATED"));
      size = left;
    }
    if (size != 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
    return size;
  }
  void Write(const void*, std::size_t) override {
    throw ErrorThrown(bug("payload is written to while it is read").with_reason("PAYLOAD_WRITE"));
  }
  void Seek(std::size_t at) override {
    if (at > bytes_.size()) {
      throw ErrorThrown(malformed(at_, "payload: seeks to ", at, ", size is ", bytes_.size())
                            .with_reason("BLOB_TRUNCATED"));
    }
    at_ = at;
  }
  std::size_t Tell() override { return at_; }

  // Bytes from the first one to where the stream stands: what load_binary reports.
  std::uint64_t consumed() const { return at_; }
  // MALFORMED once a read went past the end, at the place of the first one that did.
  const Status& status() const { return status_; }

 private:
  void note(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  Status status_;
};

// Writes to a sink of the host. A failing sink ends the body by an ErrorThrown, which abi_boundary() turns into the
// sink's own code and text.
class SinkStream : public dmlc::Stream {
 public:
  // sink     borrowed
  explicit SinkStream(const gantry_sink* sink) : sink_(sink) {}

  using dmlc::Stream::Read;
  using dmlc::Stream::Write;
  void Write(const void* from, std::size_t size) override {
    StatusBuffer status;
    const gantry_code code = sink_->write(sink_->self, from, size, status.get());
    if (code != GANTRY_OK) throw ErrorThrown(status.error(code, "sink"));
    written_ += size;
  }
  std::size_t Read(void*, std::size_t) override {
    throw ErrorThrown(bug("sink is read from while it is written").with_reason("SINK_READ"));
  }

  std::uint64_t written() const { return written_; }
  // Where the next byte will stand in the file: what alignment is counted from.
  std::uint64_t position() const { return sink_->position + written_; }

 private:
  const gantry_sink* sink_;
  std::uint64_t written_ = 0;
};

// Runs an existing loader over a payload and makes its failures errors.
//
// bytes     [in]   the payload, possibly with more behind it
// consumed  [out]  bytes that the loader took; untouched after a failure
// body      [in]   T body(dmlc::Stream*), may be void
// returns   what body returns, or MALFORMED
//             BLOB_TRUNCATED  it read past the end, whether it noticed or not
//             DMLC_CHECK      one of its CHECKs failed, with that text, at the place where the stream stands
//             BLOB_LENGTH     a length in the payload is more than any memory holds
//           other exceptions pass: this is called behind abi_boundary()
template <class Body>
auto read_with_dmlc(std::span<const std::uint8_t> bytes, std::uint64_t& consumed, Body&& body)
    -> Result<std::invoke_result_t<Body, dmlc::Stream*>> {
  using T = std::invoke_result_t<Body, dmlc::Stream*>;
  PayloadStream stream(bytes);
  try {
    if constexpr (std::is_void_v<T>) {
      body(&stream);
      GANTRY_CHECK(stream.status());
      consumed = stream.consumed();
      return {};
    } else {
      T loaded = body(&stream);
      GANTRY_CHECK(stream.status());
      consumed = stream.consumed();
      return loaded;
    }
  } catch (const ErrorThrown& thrown) {
    return thrown.error();
  } catch (const dmlc::Error& failed) {
    GANTRY_CHECK(stream.status());
    return malformed(stream.consumed(), failed.what()).with_reason("DMLC_CHECK");
  } catch (const std::length_error&) {
    return malformed(stream.consumed(),
                     "payload: a length before this place is more than memory can hold")
        .with_reason("BLOB_LENGTH");
  }
}

}  // namespace gantry
