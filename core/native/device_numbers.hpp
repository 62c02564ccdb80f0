// SPDX-License-Identifier: Apache-2.0
//
// Device numbers that an artifact counts otherwise than its runtime.
//
//     type key    up to v0.10    v0.11 on    DLPack, and so the runtime
//     aocl        5              32          none: assigned by the runtime
//     sdaccel     6              33          none
//     opengl      11             34          none; 11 is rocm_host
//     hexagon     14             16          16; 14 is oneapi
//
// A device that the runtime numbers (64 to 127) is ext_dev, 12, to compilers: they have no other
// number for it. What a module means by 12 is the device of the modules that it reaches through its
// imports, whose functions its code calls; another module, of the same file or another one, may
// mean another device. Host code that reaches modules of two is refused.
//
// Compiled code and graphs hold the number itself and not who wrote it. A file imports a module of
// such a key if it uses the device, so only those files are translated. Which of the two they hold
// is certain up to v0.7; files of v0.8 to v0.20 look alike: both numbers are taken from them, and
// they are given the newer one. Code of v0.8 to v0.10 that is given a tensor on such a device
// refuses it by its number.
#pragma once

#include "core/format/exporter_facts.hpp"
#include "core/module/module.hpp"
#include "core/tensor/device_set.hpp"

#include <span>
#include <string_view>

namespace gantry {

// Sets ModuleNode::device_numbers of all nodes of one file whose host code is of the packed
// dialect. Call it when the plugins of its type keys are open, so that their devices have numbers,
// and before host code runs.
//
// nodes         [in]   of one file
// numbering     [in]   of the file
// devices       [in]   of the runtime; a device that it does not have is not translated
// source        spec: artifact-format 4.4, 5.3; executors 3.3 (apache/tvm
//               include/tvm/runtime/c_runtime_api.h)
void set_device_numbers(std::span<const Ref<ModuleNode>> nodes, DeviceNumbering numbering,
                        const DeviceSet& devices);

// The bit of ModuleNode::ext_devs of modules that run on this kind of device; 0: it has a number of
// its own, or is not there.
std::uint64_t ext_dev_of(std::string_view kind, const DeviceSet& devices);

// unsupported, reason EXT_DEV, naming the devices, where `node` is one to whose code 12 may be
// several.
//
// ext_devs      [in]   what node.ext_devs is, or would be
Status check_ext_dev(const ModuleNode& node, std::uint64_t ext_devs, const DeviceSet& devices);

// A module of a kind of device is about to be bound in a file that was loaded before: says so to
// all that reach it.
//
// root          [in]   of the file
// node          [in]   reached from root
// device        [in]   ext_dev_of() its kind
// start         [in]   of the look-ups of the file's host code
// returns       as check_ext_dev() of the host code that reaches it; then nothing has changed
// thread        any; code that runs meanwhile may count either way
Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device, LookUpStart start,
                   const DeviceSet& devices);

}  // namespace gantry
