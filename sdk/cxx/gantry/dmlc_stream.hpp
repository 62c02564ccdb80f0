// SPDX-License-Identifier: Apache-2.0
//
// gantry/dmlc_stream.hpp - payloads and sinks as dmlc::Stream, for existing loaders that use
// dmlc-core's serializer.
//
//     Result<Payload> payload = read_with_dmlc(bytes, consumed, [](dmlc::Stream* strm) {
//       Payload p;                                    // an existing body, unchanged
//       CHECK(strm->Read(&p.format));
//       CHECK(strm->Read(&p.functions));
//       CHECK(strm->Read(&p.data));
//       return p;
//     });
//
//     SinkStream out(&sink);                            // in save_binary, inside abi_boundary()
//     out.Write(payload->format);
//
// dmlc-core allocates memory for a length before it compares the length with the bytes that are
// left. Check lengths first with a ByteReader or with the `payload` layout in the manifest.
#pragma once

#include <gantry/module.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/byte_count.hpp>
#include <gantry/result.hpp>
#include <gantry/sink.hpp>

#include <dmlc/io.h>
#include <dmlc/logging.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry {

// What dmlc::Stream::Write() returns: nothing, or the number of bytes since dmlc-core of 2024.
using StreamWritten = decltype(std::declval<dmlc::Stream&>().Write(std::declval<const void*>(),
                                                                   std::declval<std::size_t>()));

// A stream that is only written to. put() receives the bytes.
class OutputStream : public dmlc::Stream {
 public:
  using dmlc::Stream::Read;
  using dmlc::Stream::Write;
  StreamWritten Write(const void* from, std::size_t size) final {
    put({static_cast<const std::uint8_t*>(from), size});
    return static_cast<StreamWritten>(size);
  }
  std::size_t Read(void*, std::size_t) override {
    throw ErrorThrown(bug("sink is read from while it is written").with_reason("SINK_READ"));
  }
  void write(std::span<const std::uint8_t> bytes) { put(bytes); }
  // Writes a text, or bytes, after their size.
  void write_text(std::string_view text) {
    Write<std::uint64_t>(text.size());
    Write(text.data(), text.size());
  }

 protected:
  // bytes    [in]   exist only during the call
  virtual void put(std::span<const std::uint8_t> bytes) = 0;
};

// A stream over one payload. A read past the end returns the bytes that are left, like dmlc's own
// streams, and is recorded in status(), because many loaders ignore the result of Read.
class PayloadStream : public dmlc::SeekStream {
 public:
  // bytes    [in]   borrowed
  explicit PayloadStream(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  using dmlc::Stream::Read;
  using dmlc::Stream::Write;
  std::size_t Read(void* to, std::size_t size) override {
    const std::size_t left = bytes_.size() - at_;
    if (size > left) {
      note(malformed(at_, "payload: needs ", ByteCount(size), ", ", ByteCount(left), " left")
               .with_reason("BLOB_TRUNCATED"));
      size = left;
    }
    if (size != 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
    return size;
  }
  StreamWritten Write(const void*, std::size_t) override {
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

  // Returns the number of bytes before the stream's position, which load_binary reports.
  std::uint64_t consumed() const { return at_; }
  // returns  MALFORMED  a read went past the end; has the offset of the first such read
  const Status& status() const { return status_; }

 private:
  void note(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  Status status_;
};

// A stream that writes to a sink of the host. If the sink fails, Write throws an ErrorThrown, which
// abi_boundary() converts to the sink's code and text.
class SinkStream : public OutputStream {
 public:
  // sink     [in]   borrowed
  explicit SinkStream(const gantry_sink* sink) : sink_(sink) {}

  std::uint64_t written() const { return written_; }
  // Returns the offset of the next byte in the file. Use it to align data.
  std::uint64_t position() const { return sink_->position + written_; }

 protected:
  void put(std::span<const std::uint8_t> bytes) override {
    Status done = Sink(*sink_).write(bytes);
    if (!done.ok()) throw ErrorThrown(std::move(done).error());
    written_ += bytes.size();
  }

 private:
  const gantry_sink* sink_;
  std::uint64_t written_ = 0;
};

// Runs an existing loader over a payload and converts its failures to errors. Exceptions that are
// not listed propagate: call it inside abi_boundary().
//
// bytes     [in]   the payload; other bytes may follow
// consumed  [out]  number of bytes that the loader read; unchanged after a failure
// body      [in]   T body(dmlc::Stream*); T may be void
// returns   the result of body, or MALFORMED
//             BLOB_TRUNCATED  the loader read past the end
//             DMLC_CHECK      a CHECK of the loader failed; has its text and the stream's position
//             BLOB_LENGTH     a length in the payload exceeds the memory
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
    return malformed(stream.consumed(), Message::lines(failed.what())).with_reason("DMLC_CHECK");
  } catch (const std::length_error&) {
    return malformed(stream.consumed(), "payload: a length before this offset exceeds the memory")
        .with_reason("BLOB_LENGTH");
  }
}

}  // namespace gantry
