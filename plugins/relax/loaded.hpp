// SPDX-License-Identifier: Apache-2.0
//
// What all virtual machines over one executable share: its code, its constants on each device, and
// its memory.
#pragma once

#include "executable.hpp"
#include "program.hpp"
#include "shared_constants.hpp"
#include "storage.hpp"

#include <gantry/handle.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gantry::relax {

class Loaded {
 public:
  // Results keep their own memory only.
  ~Loaded() { pool->close(); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // memory   [in]   of the runtime
  static Result<std::shared_ptr<const Loaded>> read(const Host& host, Blob& blob,
                                                    std::shared_ptr<StorageMemory> memory);

  const Executable executable;
  const Program program;
  // of functions that executables import
  gantry_object* const node;
  const std::shared_ptr<StoragePool> pool;

  // Returns the constants as values. Tensors are on the device; on the CPU they are in the file if
  // their data are aligned. Constants that no code uses, such as fillers, are None.
  //
  // env      [in]   of the call that creates them
  // lifetime as long as this object
  // thread   any; the first call for a device copies the data
  Result<const SharedConstants*> constants(gantry_device_id device, const gantry_env* env) const;

 private:
  Loaded(const Host& host, Executable read, Program decoded, gantry_object* own,
         std::shared_ptr<StorageMemory> memory)
      : executable(std::move(read)),
        program(std::move(decoded)),
        node(own),
        pool(StoragePool::create(host, std::move(memory))),
        host_(host) {}
  Result<Value> constant(std::size_t index, gantry_device_id device, const gantry_env* env) const;
  Result<Value> tensor(const ArrayRecord& array, std::string_view scope, gantry_device_id device,
                       const gantry_env* env) const;

  const Host host_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::int32_t, std::int32_t>, SharedConstants> constants_;
};

}  // namespace gantry::relax
