// SPDX-License-Identifier: Apache-2.0
//
// A /dev without devices, for the calling process and its children.
#pragma once

#include <gantry/result.hpp>

#include <string>

namespace gantry::kit {

// Replaces /dev by a directory that has only null, zero, random and urandom. Precondition: this
// process has one thread.
//
// returns  false: this system does not permit it
bool hide_devices();

// Creates a file that nobody may open. Precondition: hide_devices().
//
// path     [in]   below /dev; otherwise the result is not_run()
Status create_forbidden_node(const std::string& path);

// Drops all capabilities of this process, so that permissions of files hold for root, too.
//
// returns  not_run() if that fails
Status drop_privileges();

}  // namespace gantry::kit
