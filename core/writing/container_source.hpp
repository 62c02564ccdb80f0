// SPDX-License-Identifier: Apache-2.0
//
// Writes a container as C source, like the exporters without LLVM since v0.14:
//
//     const unsigned char __tvm_dev_mblob[232] = {
//       0xe0,0x00,0x00,0x00,0x00,0x00,0x00,0x00,0x03,...   20 values in each line
//     };
//
// The text compiles as C and as C++.
#pragma once

#include "core/writing/pieces.hpp"

#include <gantry/result.hpp>

#include <dmlc/io.h>

#include <string_view>

namespace gantry {

// The first line of the text.
constexpr std::string_view container_source_mark = "// A container of compiled modules.\n";

// Both names: see core/formats/generation.hpp.
struct ContainerSource {
  std::string_view symbol;
  // called with the symbol's name and address before main(); empty: none
  std::string_view register_function;
};

// Writes the text to `out`, about 5 bytes for each byte.
//
// returns  invalid  a name is no identifier of C
//          the failures of Pieces::write_to(); errors of `out` are not reported here
// costs    memory as Pieces::write_to()
// source   apache/tvm src/target/codegen.cc PackImportsToC (v0.14 to v0.26)
Status write_container_source(const ContainerSource& source, const Pieces& container,
                              dmlc::Stream& out);

}  // namespace gantry
