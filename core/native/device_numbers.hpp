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

#include "core/format/container.hpp"
#include "core/module/module.hpp"
#include "core/tensor/device_set.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// The value of Artifact::device_numbers for a file. The plugins of its type keys must be open, so
// that their devices have numbers; a device that the runtime does not have is not translated.
//
// source        apache/tvm include/tvm/runtime/c_runtime_api.h
std::vector<std::pair<std::int32_t, std::int32_t>> moved_device_numbers(const Container& container,
                                                                        const DeviceSet& devices);

// The bit of a device type in ModuleNode::ext_devs; 0: compilers have a number of their own for it.
// The last type, 127, is not translated: its bit is that of a device named ext_dev.
constexpr std::uint64_t kExtDevItself = std::uint64_t{1} << 63;
std::uint64_t ext_dev_bit(std::int32_t type);

// True if a number in the node's code may mean another device than in the runtime.
inline bool translates_devices(const ModuleNode& node) {
  return !node.artifact->device_numbers.empty() ||
         node.ext_devs.load(std::memory_order_relaxed) != 0;
}

// Translates a device number of the artifact into the runtime's, and back. Other numbers stay, and
// so does 12 where it may be several devices (host code for which it may is refused).
std::int32_t to_runtime(const ModuleNode& node, std::int32_t number);
std::int32_t to_artifact(const ModuleNode& node, std::int32_t type);

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
// returns       as check_ext_dev() of the host code that reaches it; after a failure nothing is
//               changed
// thread        any; code that runs at the same time may use the numbers before or after
Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device,
                   const DeviceSet& devices);

}  // namespace gantry
