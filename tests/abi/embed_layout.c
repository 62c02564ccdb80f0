// SPDX-License-Identifier: Apache-2.0
//
// The layout of gantry/embed.h and embed_types.h, version 1, as static assertions. Compiled programs depend on it: a
// number never changes. A struct that grows (append only) gets a new size and new lines at its end.
// Every member is listed, so that every change of the layout is detected.
#include <gantry/embed.h>

#include "layout_checks.h"

IS(GANTRY_RUNTIME, 96);
IS(GANTRY_MODEL, 97);
IS(GANTRY_TASK, 98);
IS(GANTRY_STREAM, 99);
IS(GANTRY_POOL, 100);
IS(GANTRY_POOL_NO_SPIN, 1);
IS(GANTRY_RUNTIME_ONLY_THESE_PLUGINS, 1);
IS(GANTRY_RUNTIME_NO_PROBE, 2);
IS(GANTRY_RUNTIME_TRACE, 4);
IS(GANTRY_LOAD_ALLOW_MISSING, 1);
IS(GANTRY_LOAD_ALLOW_EXECUTABLE_STACK, 2);
IS(GANTRY_MODEL_CAPTURE, 1);
IS(GANTRY_SIGNATURE_OUTPUTS, 1);
IS(GANTRY_RUN_NO_COPY, 1);

SIZE(gantry_function_cell, 104);
AT(gantry_function_cell, header, 0);
AT(gantry_function_cell, reserved, 24);
AT(gantry_function_cell, target, 40);
AT(gantry_function_cell, packed, 56);
AT(gantry_function_cell, env, 64);
AT(gantry_function_cell, process_phase, 96);

SIZE(gantry_log_sink, 24);
AT(gantry_log_sink, self, 0);
AT(gantry_log_sink, write, 8);
AT(gantry_log_sink, destroy, 16);

SIZE(gantry_pool_options, 12);
AT(gantry_pool_options, struct_size, 0);
AT(gantry_pool_options, flags, 4);
AT(gantry_pool_options, threads, 8);

SIZE(gantry_work_sink, 24);
AT(gantry_work_sink, self, 0);
AT(gantry_work_sink, write, 8);
AT(gantry_work_sink, destroy, 16);

SIZE(gantry_output_sink, 24);
AT(gantry_output_sink, self, 0);
AT(gantry_output_sink, write, 8);
AT(gantry_output_sink, destroy, 16);

SIZE(gantry_runtime_options, 144);
AT(gantry_runtime_options, struct_size, 0);
AT(gantry_runtime_options, flags, 4);
AT(gantry_runtime_options, config_file, 8);
AT(gantry_runtime_options, plugin_paths, 24);
AT(gantry_runtime_options, plugin_path_count, 32);
AT(gantry_runtime_options, threads, 36);
AT(gantry_runtime_options, log_level, 40);
AT(gantry_runtime_options, log, 56);
AT(gantry_runtime_options, pool, 80);
AT(gantry_runtime_options, work, 88);
AT(gantry_runtime_options, spin_us, 112);
AT(gantry_runtime_options, zero, 116);
AT(gantry_runtime_options, output, 120);

SIZE(gantry_load_options, 24);
AT(gantry_load_options, struct_size, 0);
AT(gantry_load_options, flags, 4);
AT(gantry_load_options, devices, 8);
AT(gantry_load_options, device_count, 16);
AT(gantry_load_options, zero, 20);

SIZE(gantry_reader, 32);
AT(gantry_reader, struct_size, 0);
AT(gantry_reader, flags, 4);
AT(gantry_reader, size, 8);
AT(gantry_reader, self, 16);
AT(gantry_reader, read, 24);

SIZE(gantry_model_options, 24);
AT(gantry_model_options, struct_size, 0);
AT(gantry_model_options, flags, 4);
AT(gantry_model_options, devices, 8);
AT(gantry_model_options, device_count, 16);
AT(gantry_model_options, executors, 20);

SIZE(gantry_task_options, 32);
AT(gantry_task_options, struct_size, 0);
AT(gantry_task_options, flags, 4);
AT(gantry_task_options, deadline_ns, 8);
AT(gantry_task_options, poll, 16);
AT(gantry_task_options, self, 24);

SIZE(gantry_run, 112);
AT(gantry_run, struct_size, 0);
AT(gantry_run, flags, 4);
AT(gantry_run, function, 8);
AT(gantry_run, input_names, 24);
AT(gantry_run, inputs, 32);
AT(gantry_run, input_count, 40);
AT(gantry_run, output_count, 44);
AT(gantry_run, outputs, 48);
AT(gantry_run, result, 56);
AT(gantry_run, copied_bytes, 72);
AT(gantry_run, task, 80);
AT(gantry_run, stream, 88);
AT(gantry_run, streams, 96);
AT(gantry_run, stream_count, 104);
AT(gantry_run, zero, 108);

SIZE(gantry_embed, 352);
AT(gantry_embed, struct_size, 0);
AT(gantry_embed, zero, 4);
AT(gantry_embed, version, 8);
AT(gantry_embed, retain, 16);
AT(gantry_embed, release, 24);
AT(gantry_embed, runtime_new, 32);
AT(gantry_embed, host, 40);
AT(gantry_embed, device_find, 48);
AT(gantry_embed, load_file, 56);
AT(gantry_embed, tensors_read, 64);
AT(gantry_embed, tensor_foreign, 72);
AT(gantry_embed, model_new, 80);
AT(gantry_embed, model_functions, 88);
AT(gantry_embed, model_signature, 96);
AT(gantry_embed, run, 104);
AT(gantry_embed, load_memory, 112);
AT(gantry_embed, load_reader, 120);
AT(gantry_embed, dlpack_import, 128);
AT(gantry_embed, dlpack_export, 136);
AT(gantry_embed, stream_new, 144);
AT(gantry_embed, stream_handle, 152);
AT(gantry_embed, synchronize, 160);
AT(gantry_embed, task_new, 168);
AT(gantry_embed, task_cancel, 176);
AT(gantry_embed, task_handle, 184);
AT(gantry_embed, function_add, 192);
AT(gantry_embed, function_find, 200);
AT(gantry_embed, report, 208);
AT(gantry_embed, pool_new, 216);
AT(gantry_embed, plugin_add, 224);
AT(gantry_embed, module_bind_missing, 232);
AT(gantry_embed, load_graph, 240);
AT(gantry_embed, load_linked, 248);
AT(gantry_embed, items_get, 256);
AT(gantry_embed, tensor_view, 264);
AT(gantry_embed, find, 272);
AT(gantry_embed, call, 280);
AT(gantry_embed, dlpack_import_after, 288);
AT(gantry_embed, inspect, 296);
AT(gantry_embed, model_module, 304);
AT(gantry_embed, model_input, 312);
AT(gantry_embed, memory_import, 320);
AT(gantry_embed, stream_import, 328);
AT(gantry_embed, native_get, 336);
AT(gantry_embed, stream_notify, 344);

#ifndef __cplusplus
TYPE_IS(((gantry_pool_options*)0)->threads, int32_t);
TYPE_IS(((gantry_runtime_options*)0)->threads, int32_t);
TYPE_IS(((gantry_runtime_options*)0)->plugin_path_count, uint32_t);
TYPE_IS(((gantry_runtime_options*)0)->spin_us, int32_t);
TYPE_IS(((gantry_model_options*)0)->executors, uint32_t);
TYPE_IS(((gantry_reader*)0)->size, uint64_t);
TYPE_IS(((gantry_task_options*)0)->deadline_ns, int64_t);
TYPE_IS(((gantry_run*)0)->output_count, uint32_t);
TYPE_IS(((gantry_run*)0)->copied_bytes, uint64_t);
TYPE_IS(((gantry_embed*)0)->struct_size, uint32_t);
#endif

int main(void) { return 0; }
