// SPDX-License-Identifier: Apache-2.0
//
// Links an assembled Relax executable and the kernels of one device into an artifact.
#pragma once

#include "core/base/toolchain/link.hpp"
#include "core/writing/container.hpp"
#include "core/writing/device_payload.hpp"
#include "tests/support/container_object.hpp"
#include "tests/support/relax_assembler.hpp"

#include <filesystem>
#include <utility>

namespace gantry::test {

// The executable, of release v0.16, imports the kernels.
//
// directory  [in]   has the sources of the kernels; receives the artifact
// returns    the artifact
inline Result<std::filesystem::path> pack_executable(const std::filesystem::path& directory,
                                                     const RelaxAssembler& code,
                                                     const DeviceModuleSource& kernels) {
  Generators generators;
  generators.tools.directory = generators.tools.scratch = directory;
  const ContainerModule modules[] = {{"relax.Executable",
                                      {1},
                                      [&](Pieces& out) -> Status {
                                        const RelaxPayload payload = code.payload();
                                        const auto bytes = payload.bytes.bytes();
                                        out.Write(bytes.data(), bytes.size());
                                        return {};
                                      }},
                                     {kernels.type_key, {}, [&](Pieces& out) {
                                        return write_device_payload(kernels, generators, out);
                                      }}};
  GANTRY_TRY(Pieces container, write_container(modules));
  write_container_object(directory / "container.o", std::move(container));
  LinkJob job;
  job.directory = directory;
  job.scratch = directory;
  job.sources = {(directory / "container.o").native()};
  job.output = directory / "executable.so";
  GANTRY_CHECK(link_library(job));
  return job.output;
}

}  // namespace gantry::test
