// SPDX-License-Identifier: Apache-2.0
//
// Functions of the table of gantry/embed.h for streams and for DLPack tensors, whose memory streams
// write. None of them throws.
#pragma once

#include <gantry/embed.h>

#include <cstdint>

namespace gantry::stream_functions {

gantry_code dlpack_import(gantry_object* object, DLManagedTensorVersioned* versioned,
                          DLManagedTensor* plain, gantry_value* tensor, gantry_status* status);
gantry_code dlpack_import_after(gantry_object* object, DLManagedTensorVersioned* versioned,
                                DLManagedTensor* plain, void* produced, gantry_object* stream,
                                gantry_value* tensor, gantry_status* status);
gantry_code dlpack_export(gantry_object* object, gantry_object* tensor, std::uint32_t max_version,
                          gantry_object* stream, void** managed, gantry_status* status);
gantry_code stream_new(gantry_object* object, gantry_device_id device, gantry_object** stream,
                       gantry_status* status);
void* stream_handle(gantry_object* object);
gantry_code synchronize(gantry_object* object, gantry_device_id device, gantry_object* stream,
                        gantry_status* status);

}  // namespace gantry::stream_functions
