// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runtime/extensions.hpp"

#include "core/engine/native/batch.hpp"
#include "core/engine/runtime/call_task.hpp"
#include "core/engine/runtime/host_table.hpp"
#include "core/engine/runtime/state.hpp"

#include <gantry/batch.h>
#include <gantry/progress.h>
#include <gantry/threads.h>
#include <gantry/trace.h>
#include <gantry/abi_boundary.hpp>
#include <gantry/value.hpp>

#include <string_view>

namespace gantry {
namespace {

constexpr gantry_threads kThreads = {
    .struct_size = sizeof(gantry_threads),
    .zero = 0,
    .thread_count = [](const gantry_host* host) { return state_of(host).pool->size(); },
    .parallel_for =
        [](const gantry_host* host, std::int64_t count, gantry_parallel_body body, void* self,
           gantry_status* status) {
          return state_of(host).pool->parallel_for(count, body, self, status);
        },
};

constexpr gantry_trace kTrace = {
    .struct_size = sizeof(gantry_trace),
    .zero = 0,
    .span_begin = [](const gantry_host* host) -> std::int64_t {
      const TraceRecorder* trace = state_of(host).trace.get();
      return trace != nullptr ? trace->now_ns() : -1;
    },
    .span_end =
        [](const gantry_host* host, std::int64_t begun, gantry_bytes name, gantry_bytes category) {
          TraceRecorder* trace = state_of(host).trace.get();
          if (trace == nullptr || begun < 0) return;
          abi_boundary(nullptr, [&]() -> Status {
            trace->add({name.data, name.size}, {category.data, category.size}, begun,
                       trace->now_ns() - begun);
            return {};
          });
        },
};

constexpr gantry_progress kProgress = {
    .struct_size = sizeof(gantry_progress),
    .zero = 0,
    .work_begin = [](const gantry_host* host, gantry_bytes text) -> std::uint64_t {
      std::uint64_t work = 0;
      abi_boundary(nullptr, [&]() -> Status {
        RuntimeState& state = state_of(host);
        const auto& sink = state.options.work_sink;
        if (!sink && !state.log.is_enabled(LogLevel::info)) return {};
        const Message line(PluginHost::of(host).name(), ": ", view_of(text));
        state.log.info(line);
        if (!sink) return {};
        work = ++state.last_work;
        sink(work, line);
        return {};
      });
      return work;
    },
    .work_end =
        [](const gantry_host* host, std::uint64_t work) {
          if (work == 0) return;
          abi_boundary(nullptr, [&]() -> Status {
            state_of(host).options.work_sink(work, {});
            return {};
          });
        },
};

constexpr gantry_batch kBatch = {
    .struct_size = sizeof(gantry_batch),
    .zero = 0,
    .prepare = [](const gantry_host*, const gantry_batch_call* calls, std::uint64_t count,
                  gantry_object** batch, gantry_status* status) -> gantry_code {
      return abi_boundary(status, [&]() -> Status {
        GANTRY_TRY(ObjectPtr made, new_batch({calls, count}));
        *batch = made.take();
        return {};
      });
    },
    .run = [](const gantry_host*, gantry_object* batch, const gantry_env* env,
              std::uint64_t* failed, gantry_status* status) -> gantry_code {
      const gantry_env none{};
      const auto is_cancelled = [](const gantry_env& outer) {
        return static_cast<const CallTask*>(outer.task)->cancelled();
      };
      return run_batch(batch, env != nullptr ? *env : none, is_cancelled, failed, status);
    },
};

struct Extension {
  std::string_view id;
  const void* table;
};
constexpr Extension kExtensions[] = {{GANTRY_THREADS_1, &kThreads},
                                     {GANTRY_TRACE_1, &kTrace},
                                     {GANTRY_BATCH_1, &kBatch},
                                     {GANTRY_PROGRESS_1, &kProgress}};

}  // namespace

const void* host_extension(const gantry_host*, const char* id) {
  for (const Extension& extension : kExtensions) {
    if (extension.id == id) return extension.table;
  }
  return nullptr;
}

}  // namespace gantry
