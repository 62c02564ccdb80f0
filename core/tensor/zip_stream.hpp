// SPDX-License-Identifier: Apache-2.0
//
// minizip over an open stdio stream that somebody else owns.
#pragma once

#include <ioapi.h>

#include <cstdio>

namespace gantry {

// Functions for unzOpen2_64() and zipOpen2_64(): every "open" gives `stream`, "close" leaves it
// open. The end of the file is an error: minizip never reads past what a header promises, and takes
// an end without an error for zeros.
//
// lifetime as long as the stream
inline zlib_filefunc64_def zip_functions(std::FILE* stream) {
  zlib_filefunc64_def functions{};
  fill_fopen64_filefunc(&functions);
  functions.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf, voidpf file) {
    auto* const open = static_cast<std::FILE*>(file);
    return int{std::ferror(open) != 0 || std::feof(open) != 0};
  };
  functions.opaque = stream;
  return functions;
}

}  // namespace gantry
