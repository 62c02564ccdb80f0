// SPDX-License-Identifier: Apache-2.0
//
// Writes a container that was read: its modules in the order of its entries.
//
//     Container, mapped file -> listed_modules() -> write_listed_container() -> the same bytes
//
// A payload is carried through as a range of the file.
#pragma once

#include "core/formats/container.hpp"
#include "core/writing/container.hpp"

namespace gantry {

// Returns the form of a container that was read. Development builds (G3x, G4x) have the form of the
// release after them. A bare container of layout one is reported as G1, G2 or G3.
//
// returns  unsupported: there is no container, or its generation is G0, which no release wrote
Result<Generation> form_of(const Container& container);

// Returns the modules of a container: module i is entry i, with the imports of the tree.
//
// file     [in]   that `container` was read from
// returns  unsupported: the length of a payload is unknown
// lifetime the payloads keep `file`; the type keys are copied
Result<std::vector<ContainerModule>> listed_modules(const Container& container,
                                                    const std::shared_ptr<const MappedFile>& file);

}  // namespace gantry
