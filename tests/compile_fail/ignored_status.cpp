// SPDX-License-Identifier: Apache-2.0
//
// So must a Status.
// error: error: ignoring returned value of type .*(Status|Result<void>).*\[-Werror=unused-result\]
#include <gantry/byte_reader.hpp>

gantry::Status skip(gantry::ByteReader& in) {
#ifdef BREAK
  in.skip(8, "reserved word");
#endif
  return in.skip(8, "reserved word");
}
