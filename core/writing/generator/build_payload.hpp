// SPDX-License-Identifier: Apache-2.0
//
// Builds one payload with the first generator that can: sources and a target in, payload out.
//
//     type key, target -> generators, the plugin's first
//                      -> the first that reads the sources and whose check succeeds -> build
//
// A generator whose check reports that this host lacks its compiler is passed over; every other
// failure is that of the build, because the payload would depend on it.
#pragma once

#include "core/writing/generator/build_job.hpp"
#include "core/writing/generator/generators.hpp"

#include <dmlc/io.h>

#include <string>

namespace gantry {

// out      [in]   receives the payload. What it has received before a failure is to be discarded
// returns  the name of the generator
//          not_found    there is no generator for the type key, or none that compiles
//          unsupported  none reads the language of a source; the job requires sources, and
//                       payloads of the type key contain none
//          unavailable  this host lacks every compiler; the text has the reason of each
//          malformed, invalid  the target; it is none of the type key
//          the error of the generator, with the log of its compiler and the location of the kernel
// costs    up to minutes
Result<std::string> build_payload(const BuildJob& job, const Generators& generators,
                                  dmlc::Stream& out);

}  // namespace gantry
