// SPDX-License-Identifier: Apache-2.0
//
// Parts of kit_plugin: kit_plugin.cpp (the plugin), kit_module.cpp (type key and functions),
// kit_model.cpp (modules as models), kit_device.cpp, kit_generator.cpp.
#pragma once

#include "defect.hpp"

#include <gantry/gantry.h>

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kit {

using fake::has;

struct Plugin {
  const gantry_host* host;
  std::atomic<std::int64_t> allocated;
  // target of a copy since which there was no synchronize
  void* pending;
  // its device was lost by a call of lose()
  std::atomic<bool> is_lost;
  // begin of a call whose span the defect records_late does not record yet; 0: none
  std::atomic<std::int64_t> late_since;
};

struct Module {
  Plugin* plugin;
  gantry_object* pin;
  const std::uint8_t* bytes;
  std::uint64_t size;
  // of the blob
  const char* origin;
  // of load_binary
  pthread_t thread;
  // results of the defect result_of_module
  void* results;
  // "compiled", by prepare or the first call
  std::atomic<bool> is_ready;
};

// Fills a status, with the defects of errors.
//
// returns  code
gantry_code fail(gantry_status* status, gantry_code code, const char* reason, const char* text);

// Allocates memory, writes it, and does not free it.
void leak(std::size_t bytes);

// Was the plugin gantry.graph open when this plugin was created, and is it open now?
extern bool others_were_open;
bool others_are_open();
// of the defect reads_environment_in_create
extern bool created_without_devices;

extern const gantry_loader_table loader;
// of the defect key_not_in_manifest
extern const gantry_loader_table badly_named;
// of the defect runs_elsewhere
extern const gantry_loader_table runs_elsewhere;
extern const gantry_device_table device;
// of the defect device_not_in_manifest
extern const gantry_device_table other_device;
extern const gantry_generator generator;
// get_extension of modules
const void* module_extension(void* self, const char* id);

}  // namespace kit
