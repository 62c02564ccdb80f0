// SPDX-License-Identifier: Apache-2.0
//
// The complete examples of the comments in sdk/include: see header_examples.cpp.
#include <gantry/embed.h>
#include <gantry/gantry.h>
#include <stdio.h>

void show_failure(const gantry_device_table* table, void* self);
void show_failure(const gantry_device_table* table, void* self) {
  char text[256];
  gantry_status status = {.struct_size = sizeof status, .text = text, .text_capacity = sizeof text};
  const gantry_code code = table->synchronize(self, 0, NULL, &status);
  if (code != GANTRY_OK) puts(status.text);
}

static gantry_code add_row(void* self, int64_t row, gantry_status* status) {
  (void)status;
  ((float*)self)[row] += 1;
  return GANTRY_OK;
}
gantry_code add(const gantry_host* host, float job, int64_t rows, gantry_status* status);
gantry_code add(const gantry_host* host, float job, int64_t rows, gantry_status* status) {
  const gantry_threads* threads = host->get_extension(host, GANTRY_THREADS_1);
  if (threads) return threads->parallel_for(host, rows, add_row, &job, status);
  for (int64_t i = 0; i < rows; ++i) add_row(&job, i, status);
  return GANTRY_OK;
}

gantry_code run_often(const gantry_host* host, const gantry_batch_call* calls, uint64_t count,
                      const gantry_env* env, int runs, gantry_status* status);
gantry_code run_often(const gantry_host* host, const gantry_batch_call* calls, uint64_t count,
                      const gantry_env* env, int runs, gantry_status* status) {
  const gantry_batch* batches = host->get_extension(host, GANTRY_BATCH_1);
  gantry_object* batch = NULL;
  gantry_code code = batches->prepare(host, calls, count, &batch, status);
  uint64_t failed;
  for (int i = 0; i < runs && !code; ++i) code = batches->run(host, batch, env, &failed, status);
  if (batch) gantry_release(batch);
  return code;
}

static void build_program(int* program) { *program = 1; }
void build(const gantry_host* host, const gantry_trace* trace, int* program);
void build(const gantry_host* host, const gantry_trace* trace, int* program) {
  const int64_t begun = trace->now(host);
  build_program(program);
  if (begun >= 0)
    trace->span(host, GANTRY_TRACK_THREAD, begun, trace->now(host), gantry_text("clBuildProgram"),
                gantry_text("load"), NULL, 0);
}

void announce(const gantry_host* host, const gantry_progress* progress, int* program);
void announce(const gantry_host* host, const gantry_progress* progress, int* program) {
  const uint64_t work = progress->work_begin(host, gantry_text("compiling kernel \"add\""));
  build_program(program);
  progress->work_end(host, work);
}

gantry_code print_values(const gantry_host* host, gantry_status* status);
gantry_code print_values(const gantry_host* host, gantry_status* status) {
  const gantry_output* output = host->get_extension(host, GANTRY_OUTPUT_1);
  if (output) return output->write(host, gantry_text("x = [1. 2.]\n"), status);
  return GANTRY_OK;
}

void run_once(gantry_bytes path, gantry_run run, gantry_status status);
void run_once(gantry_bytes path, gantry_run run, gantry_status status) {
  const gantry_embed* embed = gantry_embed_query_v1();
  gantry_object *runtime = NULL, *module = NULL, *model = NULL;
  gantry_code code = embed->runtime_new(NULL, &runtime, &status);
  if (!code) code = embed->load_file(runtime, path, NULL, &module, &status);
  if (!code) code = embed->model_new(module, NULL, &model, &status);
  if (!code) code = embed->run(model, &run, &status);
}

gantry_code call_once(const gantry_host* host, gantry_object* function, const gantry_value* args,
                      gantry_status status);
gantry_code call_once(const gantry_host* host, gantry_object* function, const gantry_value* args,
                      gantry_status status) {
  gantry_value result = {0};
  gantry_code code = gantry_call(host, function, NULL, args, 2, &result, &status);
  return code;
}

#define GANTRY_PLUGIN_ID "acme.npu"
#define GANTRY_PLUGIN_VERSION "1.0.0"
GANTRY_NOTE(GANTRY_PLUGIN_ID, GANTRY_PLUGIN_VERSION);
