// SPDX-License-Identifier: Apache-2.0
//
// minizip over an open stdio stream.
#pragma once

#include <ioapi.h>

#include <sys/types.h>

#include <cstdio>

namespace gantry {

// A stream that somebody else owns, and whether a step on it has failed: minizip takes the position
// -1 of a failed ftell() for a position and goes on, so whoever writes looks here before the end.
struct ZipStream {
  std::FILE* file = nullptr;
  bool failed = false;
};

// Functions for unzOpen2_64() and zipOpen2_64(): every "open" gives `stream`, "close" leaves it
// open. The end of the file is an error: minizip never reads past what a header promises, and takes
// an end without an error for zeros.
//
// lifetime as long as `stream`, which stays where it is
inline zlib_filefunc64_def zip_functions(ZipStream* stream) {
  zlib_filefunc64_def functions{};
  functions.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  functions.zread_file = [](voidpf opaque, voidpf, void* bytes, uLong size) {
    return static_cast<uLong>(
        std::fread(bytes, 1, size, static_cast<const ZipStream*>(opaque)->file));
  };
  functions.zwrite_file = [](voidpf opaque, voidpf, const void* bytes, uLong size) {
    auto* const to = static_cast<ZipStream*>(opaque);
    const uLong written = std::fwrite(bytes, 1, size, to->file);
    to->failed |= written != size;
    return written;
  };
  functions.ztell64_file = [](voidpf opaque, voidpf) {
    auto* const of = static_cast<ZipStream*>(opaque);
    const off_t at = ftello(of->file);
    of->failed |= at < 0;
    return static_cast<ZPOS64_T>(at);
  };
  functions.zseek64_file = [](voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
    static_assert(ZLIB_FILEFUNC_SEEK_SET == SEEK_SET && ZLIB_FILEFUNC_SEEK_CUR == SEEK_CUR &&
                  ZLIB_FILEFUNC_SEEK_END == SEEK_END);
    auto* const in = static_cast<ZipStream*>(opaque);
    const int status = fseeko(in->file, static_cast<off_t>(offset), origin);
    in->failed |= status != 0;
    return static_cast<long>(status);
  };
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf opaque, voidpf) {
    std::FILE* const file = static_cast<const ZipStream*>(opaque)->file;
    return int{std::ferror(file) != 0 || std::feof(file) != 0};
  };
  functions.opaque = stream;
  return functions;
}

}  // namespace gantry
