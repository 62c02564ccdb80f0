// SPDX-License-Identifier: Apache-2.0
//
// gantry/blob.hpp - a payload while it is loaded.
//
//     Result<Payload> read_payload(Blob& blob) {
//       Payload payload;
//       GANTRY_TRY(payload.format, blob.reader().read_string("format"));
//       payload.kept = blob.keep();                  // the bytes that were read stay valid
//       return payload;
//     }
//
// The payload ends at the reader's position when the loader returns. loader.hpp reports this
// position to the host, and rejects bytes that are left in a payload of known length.
#pragma once

#include <gantry/loader.h>
#include <gantry/blob_facts.hpp>
#include <gantry/byte_reader.hpp>
#include <gantry/object_ref.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace gantry {

// Bytes of a payload, which are valid as long as `pin`.
struct PayloadBytes {
  ObjectRef pin;
  std::span<const std::uint8_t> bytes;
};

class Blob {
 public:
  // raw      [in]   borrowed
  // node     [in]   node of the new module, borrowed; NULL only in tests, which look nothing up
  explicit Blob(const gantry_blob& raw, gantry_object* node = nullptr)
      : raw_(raw), node_(node), reader_(std::span(raw.data, raw.size)) {}
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  ByteReader& reader() { return reader_; }
  // True if the payload has exactly these bytes. False: other data may follow it.
  bool is_exact() const { return (raw_.flags & GANTRY_BLOB_EXACT) != 0; }
  ArgumentTags argument_tags() const { return argument_tags_of(raw_); }
  Numbering numbering() const { return numbering_of(raw_); }
  // The type key in the container, which may be an alias in the manifest.
  std::string_view type_key() const { return view_of(raw_.type_key); }
  // Location for messages: entry 2 "cuda" of model.so
  std::string_view origin() const { return view_of(raw_.origin); }
  // The module's node, for Host::find. Valid as long as the module, which must not retain it.
  gantry_object* node() const { return node_; }
  const gantry_blob& raw() const { return raw_; }

  // Returns the bytes before the reader's position and a reference that keeps them valid.
  PayloadBytes keep() const {
    return {ObjectRef::share(raw_.pin), std::span(raw_.data, reader_.offset())};
  }

  // Checks that a payload of known length has no bytes left.
  //
  // in       [in]   over this payload's bytes, after its last field
  // returns  MALFORMED  the length is known and bytes are left (BLOB_TRAILING); has their offset
  Status check_end(const ByteReader& in) const {
    if (!is_exact() || in.at_end()) return {};
    return malformed(in.offset(), "payload has ", in.left(),
                     " bytes after its last field, expected none")
        .with_reason("BLOB_TRAILING");
  }

 private:
  const gantry_blob& raw_;
  gantry_object* node_;
  ByteReader reader_;
};

}  // namespace gantry
