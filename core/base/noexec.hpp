// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gantry {

// True if the file system of an open file is mounted noexec, so that no code of the file can be
// mapped.
bool is_on_noexec(int descriptor);

}  // namespace gantry
