// SPDX-License-Identifier: Apache-2.0
//
// What all virtual machines over one executable share: its code, its constants on each device, and
// its memory.
#pragma once

#include "shared_constants.hpp"
#include "storage.hpp"

#include "core/formats/relax_code.hpp"
#include "core/formats/relax_program.hpp"

#include <gantry/blob.hpp>
#include <gantry/handle.hpp>
#include <gantry/sink.hpp>

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

  const RelaxCode code;
  const Program program;
  // of functions that executables import
  gantry_object* const node;
  const std::shared_ptr<StoragePool> pool;

  // Writes the payload: the bytes that were read. If the sink requests an alignment, the core writes
  // them again (core/formats/aligned_payload.hpp).
  //
  // returns  INVALID for an alignment that is not supported; UNSUPPORTED for functions that are
  //          compiled into the library; the sink's error
  // throws   ErrorThrown if the sink fails, as SinkStream does: call it inside abi_boundary()
  Status save(const Sink& sink) const;

  // Returns the constants as values. Tensors are on the device; on the CPU they are in the file if
  // their data are aligned. Constants that no code uses, such as fillers, are None.
  //
  // env      [in]   of the call that creates them
  // lifetime as long as this object
  // thread   any; the first call for a device copies the data
  Result<const SharedConstants*> constants(gantry_device_id device, const gantry_env* env) const;

 private:
  Loaded(const Host& host, RelaxCode read, Program decoded, const Blob& blob,
         std::shared_ptr<StorageMemory> memory)
      : code(std::move(read)),
        program(std::move(decoded)),
        node(blob.node()),
        pool(StoragePool::create(host, std::move(memory))),
        host_(host),
        kept_(blob.keep()),
        numbering_(blob.numbering()) {}
  Result<Value> constant(std::size_t index, gantry_device_id device, const gantry_env* env) const;
  Result<Value> tensor(const ArrayRecord& array, std::string_view scope, gantry_device_id device,
                       const gantry_env* env) const;

  const Host host_;
  // Of all views above.
  const PayloadBytes kept_;
  // Of the payload, as the host states it.
  const Numbering numbering_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::int32_t, std::int32_t>, SharedConstants> constants_;
};

}  // namespace gantry::relax
