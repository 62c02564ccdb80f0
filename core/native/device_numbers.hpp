// SPDX-License-Identifier: Apache-2.0
//
// Device numbers that differ between an artifact and its runtime.
//
//     type key    up to v0.10    v0.11 on    DLPack, and so the runtime
//     aocl        5              32          none: assigned by the runtime
//     sdaccel     6              33          none
//     opengl      11             34          none; 11 is rocm_host
//     hexagon     14             16          16; 14 is oneapi
//
// A device to which the runtime assigns a number (64 to 127) is ext_dev, 12, in compiled code:
// compilers have no other number for it. In the code of a module, 12 is the device of the modules
// that it reaches through its imports, whose functions it calls; in another module, of the same
// file or another one, 12 may be another device. Host code that reaches modules of two such devices
// is refused.
//
// Compiled code and graphs hold the number and not the release that wrote it. A file that uses such
// a device imports a module of its type key, so only those files are translated. Which of the two
// numbers they hold is certain up to v0.7 (DeviceNumbering). Files of v0.8 to v0.20 look alike:
// both numbers are accepted from them, and they receive the newer one. Code of v0.8 to v0.10 that
// receives a tensor on such a device refuses it by its number.
#pragma once

#include "core/format/exporter_facts.hpp"
#include "core/module/module.hpp"
#include "core/tensor/device_set.hpp"

#include <span>
#include <string_view>

namespace gantry {

// Sets ModuleNode::device_numbers of all nodes of one file whose host code is of the packed
// dialect. The plugins of its type keys must be open, so that their devices have numbers, and host
// code must not have run.
//
// nodes         [in]   of one file
// numbering     [in]   of the file
// devices       [in]   of the runtime; a device that it does not have is not translated
// source        spec: artifact-format 4.4, 5.3; executors 3.3 (apache/tvm
//               include/tvm/runtime/c_runtime_api.h)
void set_device_numbers(std::span<const Ref<ModuleNode>> nodes, DeviceNumbering numbering,
                        const DeviceSet& devices);

// The bit of ModuleNode::ext_devs of modules that run on this kind of device; 0: compilers have a
// number for it, or the runtime has no such device.
std::uint64_t ext_dev_of(std::string_view kind, const DeviceSet& devices);

// Refuses a node in whose code 12 may be several devices: unsupported, reason EXT_DEV, naming them.
//
// ext_devs      [in]   node.ext_devs, as it is or would be
Status check_ext_dev(const ModuleNode& node, std::uint64_t ext_devs, const DeviceSet& devices);

// Adds a device to all modules of a loaded file that reach `node`, before `node` is bound to a
// module on that device.
//
// root          [in]   of the file
// node          [in]   reached from root
// device        [in]   ext_dev_of() the kind of device
// start         [in]   of the look-ups of the file's host code
// returns       as check_ext_dev() of the host code that reaches it; after a failure nothing is
//               changed
// thread        any; code that runs at the same time may use the numbers before or after
Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device, LookUpStart start,
                   const DeviceSet& devices);

}  // namespace gantry
