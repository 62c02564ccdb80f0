// SPDX-License-Identifier: Apache-2.0
//
// gantry/blob.hpp - one payload while it is loaded.
//
//     Result<Payload> read_payload(Blob& blob) {
//       Payload payload;
//       GANTRY_TRY(payload.format, blob.reader().read_string("format"));
//       payload.kept = blob.keep();                  // the bytes that were read stay valid
//       return payload;
//     }
//
// Where the reader stands when the loader returns is where the payload ends. loader.hpp reports it
// to the host, and refuses bytes that are left in a payload of known length.
#pragma once

#include <gantry/loader.h>
#include <gantry/byte_reader.hpp>
#include <gantry/object_ref.hpp>
#include <gantry/value.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace gantry {

// Whether kernel records contain the field of argument tags.
enum class ArgumentTags : std::uint32_t {
  unknown = GANTRY_ARGUMENT_TAGS_UNKNOWN,
  no = GANTRY_ARGUMENT_TAGS_NO,
  yes = GANTRY_ARGUMENT_TAGS_YES,
};

// Which numbers stored constants have for the kinds of values.
enum class Numbering : std::uint32_t {
  unknown = GANTRY_NUMBERING_UNKNOWN,
  packed = GANTRY_NUMBERING_PACKED,
  ffi_0_21 = GANTRY_NUMBERING_FFI_0_21,
  ffi = GANTRY_NUMBERING_FFI,
};

// A number that this version does not know is `unknown`.
constexpr ArgumentTags argument_tags_of(const gantry_blob& blob) {
  return blob.argument_tags > GANTRY_ARGUMENT_TAGS_YES ? ArgumentTags::unknown
                                                       : ArgumentTags{blob.argument_tags};
}
constexpr Numbering numbering_of(const gantry_blob& blob) {
  return blob.numbering > GANTRY_NUMBERING_FFI ? Numbering::unknown : Numbering{blob.numbering};
}

// Bytes of a payload that stay valid as long as the pin is held.
struct PayloadBytes {
  ObjectRef pin;
  std::span<const std::uint8_t> bytes;
};

class Blob {
 public:
  // raw      [in]   borrowed
  // node     [in]   the new module's own node, borrowed; NULL: there is none
  explicit Blob(const gantry_blob& raw, gantry_object* node = nullptr)
      : raw_(raw), node_(node), reader_(std::span(raw.data, raw.size)) {}
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;

  ByteReader& reader() { return reader_; }
  // True if the payload is all of the bytes; else what follows it does, too.
  bool is_exact() const { return (raw_.flags & GANTRY_BLOB_EXACT) != 0; }
  ArgumentTags argument_tags() const { return argument_tags_of(raw_); }
  Numbering numbering() const { return numbering_of(raw_); }
  // As in the container: an alias of the manifest stays the alias.
  std::string_view type_key() const { return view_of(raw_.type_key); }
  // For messages: entry 2 "cuda" of model.so
  std::string_view origin() const { return view_of(raw_.origin); }
  // For Host::find; valid as long as the module, which must not retain it.
  gantry_object* node() const { return node_; }
  const gantry_blob& raw() const { return raw_; }

  // Returns the bytes before the reader's place, kept.
  PayloadBytes keep() const {
    return {ObjectRef::share(raw_.pin), std::span(raw_.data, reader_.offset())};
  }

  // Checks that a payload of known length has no bytes left.
  //
  // in       [in]   over this payload's bytes, behind its last field
  // returns  MALFORMED  bytes are left where the blob is EXACT, with their offset (BLOB_TRAILING)
  Status check_end(const ByteReader& in) const {
    if (!is_exact() || in.at_end()) return {};
    return malformed(in.offset(), "payload has ", in.left(),
                     " bytes behind its last field, expected none")
        .with_reason("BLOB_TRAILING");
  }

 private:
  const gantry_blob& raw_;
  gantry_object* node_;
  ByteReader reader_;
};

}  // namespace gantry
