// SPDX-License-Identifier: Apache-2.0
//
// Translation of device numbers that differ between an artifact and its runtime.
//
//     type key    up to v0.10    v0.11 on    DLPack and the runtime
//     aocl        5              32          none: assigned by the runtime
//     sdaccel     6              33          none
//     opengl      11             34          none; 11 is rocm_host
//     hexagon     14             16          16; 14 is oneapi
//
// A device to which the runtime assigns a number (64 to 127) is ext_dev, 12, in compiled code,
// because compilers have no other number for it. In the code of a module, 12 is the device of the
// modules that it reaches through its imports; in another module, of the same file or of another
// file, 12 may be another device. CPU code that reaches modules of two such devices is rejected.
//
// Compiled code and graphs contain the number but not the release that wrote it. A file that uses
// such a device imports a module of its type key, so only those files are translated. Up to v0.7
// the generation determines which of the two numbers a file contains. Files of v0.8 to
// v0.20 cannot be distinguished: both numbers are accepted from them, and they receive the newer
// one. Code of v0.8 to v0.10 that receives a tensor on such a device rejects it by its number.
#pragma once

#include "core/engine/module/module.hpp"
#include "core/engine/tensor/device_set.hpp"
#include "core/formats/container.hpp"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace gantry {

// Returns the value of Artifact::device_numbers for a file. The plugins of its type keys must be
// open, so that their devices have numbers. A device that the runtime does not have is not
// translated.
//
// source        apache/tvm include/tvm/runtime/c_runtime_api.h
std::vector<std::pair<std::int32_t, std::int32_t>> converted_device_numbers(
    const Container& container, const DeviceSet& devices);

// Returns the bit of a device type in ModuleNode::ext_devs; 0 if compilers have a number for the
// type. The last type, 127, is not translated: its bit stands for a device named ext_dev.
constexpr std::uint64_t kExtDevItself = std::uint64_t{1} << 63;
std::uint64_t ext_dev_bit(std::int32_t type);

// True if the node's file has device numbers of another release. Does not change after the load.
inline bool has_converted_devices(const ModuleNode& node) {
  return !node.artifact->device_numbers.empty();
}
// True if ext_dev stands for a device in the node's code. Changes when a missing module is bound.
inline bool has_ext_devs(const ModuleNode& node) {
  return node.ext_devs.load(std::memory_order_relaxed) != 0;
}
// True if a device number in the node's code may differ from the runtime's number.
inline bool translates_devices(const ModuleNode& node) {
  return has_converted_devices(node) || has_ext_devs(node);
}

// Translates a device number of the artifact into the runtime's, and back. Other numbers are
// returned unchanged, and so is 12 if it is ambiguous (CPU code with such an ambiguity is
// rejected).
std::int32_t to_runtime(const ModuleNode& node, std::int32_t number);
std::int32_t to_artifact(const ModuleNode& node, std::int32_t type);

// Returns the bit of ModuleNode::ext_devs for modules that run on this kind of device; 0 if
// compilers have a number for it or the runtime has no such device.
std::uint64_t ext_dev_of(std::string_view kind, const DeviceSet& devices);

// Checks that 12 stands for at most one device in the code of a node.
//
// ext_devs      [in]   the current or the planned value of node.ext_devs
// returns       unsupported with reason EXT_DEV, with the names of the devices
Status check_ext_dev(const ModuleNode& node, std::uint64_t ext_devs, const DeviceSet& devices);

// Adds a device to all modules of a loaded file that reach `node`. Called before `node` is bound to
// a module on that device.
//
// root          [in]   of the file
// node          [in]   reached from root
// device        [in]   ext_dev_of() the kind of device
// returns       the failure of check_ext_dev() for CPU code that reaches `node`; after a failure
//               nothing is changed
// thread        any; code that runs concurrently may use the old or the new numbers
Status add_ext_dev(ModuleNode& root, ModuleNode& node, std::uint64_t device,
                   const DeviceSet& devices);

}  // namespace gantry
