// SPDX-License-Identifier: Apache-2.0
//
// Converts the modules of a container to another generation.
//
// CPU code cannot be changed, so that only generations of one calling convention are converted into
// each other. Without CPU code every generation can become every other one.
#pragma once

#include "core/formats/container.hpp"
#include "core/writing/module_edits.hpp"

#include <memory>
#include <vector>

namespace gantry {

// Converts modules that were read from `container`, which are still in its form. Given payloads are
// not changed. The modules are put into an order in which the generation can have them, and modules
// of CPU code are merged where it has only one.
//
// modules   [in]   of edit_modules()
// file      [in]   that `container` was read from
// layouts   [in]   must outlive the payloads
// warnings  [out]  what CPU code of the other generation finds no longer
// returns   unsupported  CPU code of another dialect, which is named with that of the generation; a
//                        module that does not exist in it; see write_converted_payload(), whose
//                        failures occur when the payloads are written
//           invalid      the modules have no order without a child before its parent
Result<std::vector<EditedModule>> converted_modules(std::vector<EditedModule> modules,
                                                    const Container& container,
                                                    const std::shared_ptr<const MappedFile>& file,
                                                    const PayloadLayouts& layouts, Generation to,
                                                    std::vector<Message>& warnings);

}  // namespace gantry
