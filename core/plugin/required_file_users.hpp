// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/manifest/manifest.hpp"

#include <gantry/result.hpp>

namespace gantry {

// Adds to the error of a create that was refused the other processes that have a device node or a
// file of the manifest open: a device may be for one process at a time.
//
// costs    see other_users_of()
void add_required_file_users(const ManifestRequires& needs, Error& error);

}  // namespace gantry
