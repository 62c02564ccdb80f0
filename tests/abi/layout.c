// SPDX-License-Identifier: Apache-2.0
//
// The layout of ABI version 1, as static assertions. Existing plugins depend on it: a number
// changes only together with the major version of the ABI. A struct that grows (append only) gets a
// new size and new lines at its end, and a line in sdk/ABI.md, in the same commit. Every member is
// listed and padding is explicit, so that every change of the layout is detected.
#include <gantry/gantry.h>

#include "layout_checks.h"

IS(GANTRY_ABI_MAJOR, 1);
IS(GANTRY_ABI_MINOR, 0);

// gantry/bytes.h
SIZE(gantry_bytes, 16);
AT(gantry_bytes, data, 0);
AT(gantry_bytes, size, 8);

// gantry/status.h
SIZE(gantry_code, 4);
IS(GANTRY_OK, 0);
IS(GANTRY_MALFORMED, 1);
IS(GANTRY_UNSUPPORTED, 2);
IS(GANTRY_UNAVAILABLE, 3);
IS(GANTRY_EXHAUSTED, 4);
IS(GANTRY_INVALID, 5);
IS(GANTRY_NOT_FOUND, 6);
IS(GANTRY_CANCELLED, 7);
IS(GANTRY_BUG, 8);
IS(GANTRY_LOST, 9);

SIZE(gantry_status, 96);
AT(gantry_status, struct_size, 0);
AT(gantry_status, code, 4);
AT(gantry_status, text, 8);
AT(gantry_status, text_capacity, 16);
AT(gantry_status, text_size, 20);
AT(gantry_status, error, 24);
AT(gantry_status, offset, 32);
AT(gantry_status, native_code, 40);
AT(gantry_status, native_domain, 48);
AT(gantry_status, reason, 64);

// gantry/tensor.h
SIZE(gantry_dtype, 4);
AT(gantry_dtype, code, 0);
AT(gantry_dtype, bits, 1);
AT(gantry_dtype, lanes, 2);

SIZE(gantry_device_id, 8);
AT(gantry_device_id, type, 0);
AT(gantry_device_id, index, 4);

SIZE(gantry_tensor, 48);
AT(gantry_tensor, data, 0);
AT(gantry_tensor, device, 8);
AT(gantry_tensor, ndim, 16);
AT(gantry_tensor, dtype, 20);
AT(gantry_tensor, shape, 24);
AT(gantry_tensor, strides, 32);
AT(gantry_tensor, byte_offset, 40);

// gantry/object.h
IS(GANTRY_DELETE_CONTENT, 1);
IS(GANTRY_DELETE_MEMORY, 2);

SIZE(gantry_object, 24);
AT(gantry_object, counts, 0);
AT(gantry_object, kind, 8);
AT(gantry_object, zero, 12);
AT(gantry_object, deleter, 16);

SIZE(gantry_shape, 16);
AT(gantry_shape, dims, 0);
AT(gantry_shape, count, 8);

SIZE(gantry_error, 72);
AT(gantry_error, kind, 0);
AT(gantry_error, message, 16);
AT(gantry_error, backtrace, 32);
AT(gantry_error, update_backtrace, 48);
AT(gantry_error, cause, 56);
AT(gantry_error, context, 64);

SIZE(gantry_object_type, 24);
AT(gantry_object_type, struct_size, 0);
AT(gantry_object_type, flags, 4);
AT(gantry_object_type, name, 8);
AT(gantry_object_type, destroy, 16);

// gantry/value.h
IS(GANTRY_NONE, 0);
IS(GANTRY_INT, 1);
IS(GANTRY_BOOL, 2);
IS(GANTRY_FLOAT, 3);
IS(GANTRY_POINTER, 4);
IS(GANTRY_DTYPE, 5);
IS(GANTRY_DEVICE, 6);
IS(GANTRY_TENSOR_REF, 7);
IS(GANTRY_CSTRING, 8);
IS(GANTRY_BYTES_REF, 9);
IS(GANTRY_SMALL_STRING, 11);
IS(GANTRY_SMALL_BYTES, 12);
IS(GANTRY_OBJECT, 64);
IS(GANTRY_STRING, 65);
IS(GANTRY_BYTES, 66);
IS(GANTRY_ERROR, 67);
IS(GANTRY_FUNCTION, 68);
IS(GANTRY_SHAPE, 69);
IS(GANTRY_TENSOR, 70);
IS(GANTRY_ARRAY, 71);
IS(GANTRY_MAP, 72);
IS(GANTRY_MODULE, 73);
IS(GANTRY_MAX_SMALL, 7);

SIZE(gantry_value, 16);
AT(gantry_value, kind, 0);
AT(gantry_value, small_size, 4);
AT(gantry_value, i, 8);
AT(gantry_value, f, 8);
AT(gantry_value, p, 8);
AT(gantry_value, cstring, 8);
AT(gantry_value, bytes, 8);
AT(gantry_value, tensor, 8);
AT(gantry_value, dtype, 8);
AT(gantry_value, device, 8);
AT(gantry_value, small, 8);
AT(gantry_value, object, 8);

// gantry/function.h
SIZE(gantry_device_stream, 16);
AT(gantry_device_stream, device, 0);
AT(gantry_device_stream, stream, 8);

SIZE(gantry_streams, 16);
AT(gantry_streams, items, 0);
AT(gantry_streams, count, 8);

SIZE(gantry_env, 32);
AT(gantry_env, device, 0);
AT(gantry_env, stream, 8);
AT(gantry_env, task, 16);
AT(gantry_env, streams, 24);

SIZE(gantry_function_table, 24);
AT(gantry_function_table, struct_size, 0);
AT(gantry_function_table, flags, 4);
AT(gantry_function_table, destroy, 8);
AT(gantry_function_table, call, 16);

SIZE(gantry_function, 16);
AT(gantry_function, self, 0);
AT(gantry_function, table, 8);

// gantry/module.h
SIZE(gantry_function_info, 40);
AT(gantry_function_info, struct_size, 0);
AT(gantry_function_info, flags, 4);
AT(gantry_function_info, name, 8);
AT(gantry_function_info, doc, 24);

SIZE(gantry_globals, 16);
AT(gantry_globals, struct_size, 0);
AT(gantry_globals, zero, 4);
AT(gantry_globals, get_global, 8);

SIZE(gantry_visitor, 24);
AT(gantry_visitor, struct_size, 0);
AT(gantry_visitor, zero, 4);
AT(gantry_visitor, self, 8);
AT(gantry_visitor, visit, 16);

SIZE(gantry_sink, 32);
AT(gantry_sink, struct_size, 0);
AT(gantry_sink, alignment, 4);
AT(gantry_sink, self, 8);
AT(gantry_sink, position, 16);
AT(gantry_sink, write, 24);

IS(GANTRY_MODULE_SERIAL, 1);

SIZE(gantry_prepare, 16);
AT(gantry_prepare, struct_size, 0);
AT(gantry_prepare, device_count, 4);
AT(gantry_prepare, devices, 8);

SIZE(gantry_module_table, 64);
AT(gantry_module_table, struct_size, 0);
AT(gantry_module_table, flags, 4);
AT(gantry_module_table, type_name, 8);
AT(gantry_module_table, destroy, 16);
AT(gantry_module_table, get_function, 24);
AT(gantry_module_table, list_functions, 32);
AT(gantry_module_table, save_binary, 40);
AT(gantry_module_table, prepare, 48);
AT(gantry_module_table, get_extension, 56);

SIZE(gantry_module, 16);
AT(gantry_module, self, 0);
AT(gantry_module, table, 8);

// gantry/loader.h
IS(GANTRY_BLOB_EXACT, 1);

SIZE(gantry_blob, 72);
AT(gantry_blob, struct_size, 0);
AT(gantry_blob, flags, 4);
AT(gantry_blob, type_key, 8);
AT(gantry_blob, origin, 24);
AT(gantry_blob, data, 40);
AT(gantry_blob, size, 48);
AT(gantry_blob, argument_tags, 56);
AT(gantry_blob, numbering, 60);
AT(gantry_blob, pin, 64);

IS(GANTRY_VERDICT_NO, 0);
IS(GANTRY_VERDICT_RECOMPILE, 1);
IS(GANTRY_VERDICT_USABLE, 2);
IS(GANTRY_VERDICT_OPTIMAL, 3);

IS(GANTRY_LOADER_PARALLEL, 1);

SIZE(gantry_loader_table, 40);
AT(gantry_loader_table, struct_size, 0);
AT(gantry_loader_table, flags, 4);
AT(gantry_loader_table, type_key, 8);
AT(gantry_loader_table, device, 16);
AT(gantry_loader_table, load_binary, 24);
AT(gantry_loader_table, check_binary, 32);

// gantry/generator.h
SIZE(gantry_source, 48);
AT(gantry_source, name, 0);
AT(gantry_source, language, 16);
AT(gantry_source, text, 32);

SIZE(gantry_kernel_record, 56);
AT(gantry_kernel_record, name, 0);
AT(gantry_kernel_record, source, 16);
AT(gantry_kernel_record, arguments, 24);
AT(gantry_kernel_record, argument_count, 32);
AT(gantry_kernel_record, launch_tags, 40);
AT(gantry_kernel_record, launch_tag_count, 48);

SIZE(gantry_build, 104);
AT(gantry_build, struct_size, 0);
AT(gantry_build, flags, 4);
AT(gantry_build, kind, 8);
AT(gantry_build, target, 24);
AT(gantry_build, sources, 40);
AT(gantry_build, source_count, 48);
AT(gantry_build, kernels, 56);
AT(gantry_build, kernel_count, 64);
AT(gantry_build, argument_tags, 72);
AT(gantry_build, zero, 76);
AT(gantry_build, self, 80);
AT(gantry_build, diagnostic, 88);
AT(gantry_build, at_kernel, 96);

SIZE(gantry_generator, 24);
AT(gantry_generator, struct_size, 0);
AT(gantry_generator, zero, 4);
AT(gantry_generator, build, 8);
AT(gantry_generator, check, 16);

// gantry/device.h
SIZE(gantry_alloc, 64);
AT(gantry_alloc, struct_size, 0);
AT(gantry_alloc, ndim, 4);
AT(gantry_alloc, size, 8);
AT(gantry_alloc, alignment, 16);
AT(gantry_alloc, shape, 24);
AT(gantry_alloc, dtype, 32);
AT(gantry_alloc, flags, 36);
AT(gantry_alloc, scope, 40);
AT(gantry_alloc, stream, 56);

SIZE(gantry_location, 24);
AT(gantry_location, data, 0);
AT(gantry_location, byte_offset, 8);
AT(gantry_location, device, 16);

IS(GANTRY_COPY_BLOCKING, 1);

SIZE(gantry_copy, 64);
AT(gantry_copy, struct_size, 0);
AT(gantry_copy, flags, 4);
AT(gantry_copy, from, 8);
AT(gantry_copy, to, 32);
AT(gantry_copy, size, 56);

IS(GANTRY_DEVICE_OPAQUE_DATA, 1);
IS(GANTRY_ALLOC_IN_STREAM, 1);
IS(GANTRY_EVENT_UNTIMED, 1);
IS(GANTRY_NO_TIMEOUT, INT64_MAX);
IS(GANTRY_EXTERNAL_HOST, 1);
IS(GANTRY_EXTERNAL_FD, 2);
IS(GANTRY_EXTERNAL_DMA_BUF, 3);
IS(GANTRY_EXTERNAL_NATIVE, 4);
IS(GANTRY_NATIVE_CONTEXT, 1);
IS(GANTRY_NATIVE_STREAM, 2);
IS(GANTRY_NATIVE_MEMORY, 3);

SIZE(gantry_external, 40);
AT(gantry_external, struct_size, 0);
AT(gantry_external, kind, 4);
AT(gantry_external, handle, 8);
AT(gantry_external, fd, 16);
AT(gantry_external, offset, 24);
AT(gantry_external, size, 32);

IS(GANTRY_ATTRIBUTE_EXISTS, 0);
IS(GANTRY_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1);
IS(GANTRY_ATTRIBUTE_WARP_SIZE, 2);
IS(GANTRY_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 3);
IS(GANTRY_ATTRIBUTE_COMPUTE_VERSION, 4);
IS(GANTRY_ATTRIBUTE_DEVICE_NAME, 5);
IS(GANTRY_ATTRIBUTE_MAX_CLOCK_RATE, 6);
IS(GANTRY_ATTRIBUTE_MULTIPROCESSOR_COUNT, 7);
IS(GANTRY_ATTRIBUTE_MAX_THREAD_DIMENSIONS, 8);
IS(GANTRY_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 9);
IS(GANTRY_ATTRIBUTE_GCN_ARCH, 10);
IS(GANTRY_ATTRIBUTE_API_VERSION, 11);
IS(GANTRY_ATTRIBUTE_DRIVER_VERSION, 12);
IS(GANTRY_ATTRIBUTE_L2_CACHE_SIZE, 13);
IS(GANTRY_ATTRIBUTE_TOTAL_GLOBAL_MEMORY, 14);
IS(GANTRY_ATTRIBUTE_AVAILABLE_GLOBAL_MEMORY, 15);
IS(GANTRY_ATTRIBUTE_IMAGE_PITCH_ALIGNMENT, 16);
IS(GANTRY_ATTRIBUTE_ALLOCATED_BYTES, 1000);
IS(GANTRY_ATTRIBUTE_ALIGNMENT, 1001);
IS(GANTRY_ATTRIBUTE_PADDING, 1002);
IS(GANTRY_ATTRIBUTE_MAX_ALLOCATION, 1003);
IS(GANTRY_ATTRIBUTE_SHARED_ADDRESSES, 1004);
IS(GANTRY_ATTRIBUTE_UUID, 1010);
IS(GANTRY_ATTRIBUTE_PCI_ADDRESS, 1011);
IS(GANTRY_ATTRIBUTE_NUMA_NODE, 1012);
IS(GANTRY_ATTRIBUTE_VENDOR_ID, 1013);
IS(GANTRY_ATTRIBUTE_PRODUCT_ID, 1014);

SIZE(gantry_device_table, 232);
AT(gantry_device_table, struct_size, 0);
AT(gantry_device_table, flags, 4);
AT(gantry_device_table, name, 8);
AT(gantry_device_table, type, 16);
AT(gantry_device_table, zero, 20);
AT(gantry_device_table, count, 24);
AT(gantry_device_table, attribute, 32);
AT(gantry_device_table, alloc, 40);
AT(gantry_device_table, free, 48);
AT(gantry_device_table, copy, 56);
AT(gantry_device_table, synchronize, 64);
AT(gantry_device_table, stream_create, 72);
AT(gantry_device_table, stream_destroy, 80);
AT(gantry_device_table, event_create, 88);
AT(gantry_device_table, event_destroy, 96);
AT(gantry_device_table, event_record, 104);
AT(gantry_device_table, event_wait, 112);
AT(gantry_device_table, event_elapsed, 120);
AT(gantry_device_table, capture_begin, 128);
AT(gantry_device_table, capture_end, 136);
AT(gantry_device_table, capture_launch, 144);
AT(gantry_device_table, capture_destroy, 152);
AT(gantry_device_table, fill, 160);
AT(gantry_device_table, free_in_stream, 168);
AT(gantry_device_table, trim, 176);
AT(gantry_device_table, host_address, 184);
AT(gantry_device_table, memory_import, 192);
AT(gantry_device_table, event_reached, 200);
AT(gantry_device_table, stream_notify, 208);
AT(gantry_device_table, stream_import, 216);
AT(gantry_device_table, native_get, 224);

SIZE(gantry_device, 24);
AT(gantry_device, self, 0);
AT(gantry_device, table, 8);
AT(gantry_device, id, 16);

// gantry/host.h
IS(GANTRY_FIND_SELF, 1);
IS(GANTRY_FIND_IMPORTS, 2);
IS(GANTRY_FIND_GLOBALS, 4);

IS(GANTRY_LOG_ERROR, 0);
IS(GANTRY_LOG_WARNING, 1);
IS(GANTRY_LOG_INFO, 2);
IS(GANTRY_LOG_DEBUG, 3);

SIZE(gantry_host, 184);
AT(gantry_host, struct_size, 0);
AT(gantry_host, abi_minor, 4);
AT(gantry_host, get_extension, 8);
AT(gantry_host, log, 16);
AT(gantry_host, config_get, 24);
AT(gantry_host, is_cancelled, 32);
AT(gantry_host, text_new, 40);
AT(gantry_host, shape_new, 48);
AT(gantry_host, items_new, 56);
AT(gantry_host, items_get, 64);
AT(gantry_host, error_new, 72);
AT(gantry_host, object_new, 80);
AT(gantry_host, object_get, 88);
AT(gantry_host, tensor_new, 96);
AT(gantry_host, tensor_view, 104);
AT(gantry_host, tensor_copy, 112);
AT(gantry_host, module_new, 120);
AT(gantry_host, function_new, 128);
AT(gantry_host, module_info, 136);
AT(gantry_host, find, 144);
AT(gantry_host, call, 152);
AT(gantry_host, device_type, 160);
AT(gantry_host, device_type_in, 168);
AT(gantry_host, device_get, 176);

// gantry/plugin.h
SIZE(gantry_abi_range, 16);
AT(gantry_abi_range, major, 0);
AT(gantry_abi_range, min_minor, 4);
AT(gantry_abi_range, max_minor, 8);
AT(gantry_abi_range, zero, 12);

SIZE(gantry_host_info, 32);
AT(gantry_host_info, struct_size, 0);
AT(gantry_host_info, flags, 4);
AT(gantry_host_info, abi, 8);
AT(gantry_host_info, core_version, 24);

SIZE(gantry_plugin_table, 112);
AT(gantry_plugin_table, struct_size, 0);
AT(gantry_plugin_table, flags, 4);
AT(gantry_plugin_table, abi, 8);
AT(gantry_plugin_table, id, 24);
AT(gantry_plugin_table, version, 32);
AT(gantry_plugin_table, vendor, 40);
AT(gantry_plugin_table, display_name, 48);
AT(gantry_plugin_table, license, 56);
AT(gantry_plugin_table, loaders, 64);
AT(gantry_plugin_table, devices, 72);
AT(gantry_plugin_table, loader_count, 80);
AT(gantry_plugin_table, device_count, 84);
AT(gantry_plugin_table, create, 88);
AT(gantry_plugin_table, destroy, 96);
AT(gantry_plugin_table, get_extension, 104);

// gantry/note.h
SIZE(gantry_note, 272);
AT(gantry_note, struct_size, 0);
AT(gantry_note, flags, 4);
AT(gantry_note, abi, 8);
AT(gantry_note, sanitizer, 24);
AT(gantry_note, isa, 28);
AT(gantry_note, sdk_version, 32);
AT(gantry_note, id, 64);
AT(gantry_note, version, 136);
SIZE(gantry_elf_note, 292);
AT(gantry_elf_note, owner_size, 0);
AT(gantry_elf_note, content_size, 4);
AT(gantry_elf_note, type, 8);
AT(gantry_elf_note, owner, 12);
AT(gantry_elf_note, content, 20);
IS(GANTRY_NOTE_TYPE, 1);
IS(GANTRY_SANITIZER_NONE, 0);
IS(GANTRY_SANITIZER_ADDRESS, 1);
IS(GANTRY_SANITIZER_THREAD, 2);
IS(GANTRY_SANITIZER_MEMORY, 3);
IS(GANTRY_SANITIZER_HWADDRESS, 4);
IS(sizeof GANTRY_NOTE_OWNER, 7);

// gantry/batch.h
SIZE(gantry_batch_call, 32);
AT(gantry_batch_call, function, 0);
AT(gantry_batch_call, args, 8);
AT(gantry_batch_call, count, 16);
AT(gantry_batch_call, flags, 20);
AT(gantry_batch_call, device, 24);
IS(GANTRY_NO_CALL, UINT64_MAX);

SIZE(gantry_batch, 24);
AT(gantry_batch, struct_size, 0);
AT(gantry_batch, zero, 4);
AT(gantry_batch, prepare, 8);
AT(gantry_batch, run, 16);

// gantry/model.h
IS(GANTRY_PARAMETER_WEIGHT, 1);
IS(GANTRY_PARAMETER_OPTIONAL, 2);
IS(GANTRY_PARAMETER_WRITTEN, 4);
IS(GANTRY_SIGNATURE_OUTPUTS, 1);
IS(GANTRY_NO_FUNCTION, UINT32_MAX);
IS(GANTRY_MODEL_ALTERNATIVES, 1);
IS(GANTRY_EXECUTOR_CAPTURE, 1);
IS(GANTRY_EXECUTOR_PREPARE, 2);
IS(GANTRY_PLACEMENT_OWN_ONLY, 1);
IS(GANTRY_PLACEMENT_KEPT, 2);
IS(GANTRY_PLACEMENT_REUSED, 4);

SIZE(gantry_parameter, 72);
AT(gantry_parameter, struct_size, 0);
AT(gantry_parameter, kind, 4);
AT(gantry_parameter, name, 8);
AT(gantry_parameter, type, 24);
AT(gantry_parameter, shape, 40);
AT(gantry_parameter, ndim, 48);
AT(gantry_parameter, dtype, 52);
AT(gantry_parameter, flags, 56);
AT(gantry_parameter, zero, 60);
AT(gantry_parameter, extents, 64);

SIZE(gantry_signature, 72);
AT(gantry_signature, struct_size, 0);
AT(gantry_signature, flags, 4);
AT(gantry_signature, input_count, 8);
AT(gantry_signature, output_count, 12);
AT(gantry_signature, inputs, 16);
AT(gantry_signature, outputs, 24);
AT(gantry_signature, name, 32);
AT(gantry_signature, subject, 48);
AT(gantry_signature, device, 64);

SIZE(gantry_model_info, 40);
AT(gantry_model_info, struct_size, 0);
AT(gantry_model_info, flags, 4);
AT(gantry_model_info, functions, 8);
AT(gantry_model_info, function_count, 16);
AT(gantry_model_info, default_function, 20);
AT(gantry_model_info, device_types, 24);
AT(gantry_model_info, device_count, 32);
AT(gantry_model_info, zero, 36);

SIZE(gantry_executor_options, 24);
AT(gantry_executor_options, struct_size, 0);
AT(gantry_executor_options, flags, 4);
AT(gantry_executor_options, devices, 8);
AT(gantry_executor_options, device_count, 16);
AT(gantry_executor_options, zero, 20);

SIZE(gantry_placement, 24);
AT(gantry_placement, device, 0);
AT(gantry_placement, alignment, 8);
AT(gantry_placement, flags, 12);
AT(gantry_placement, own, 16);

SIZE(gantry_executor_run, 56);
AT(gantry_executor_run, struct_size, 0);
AT(gantry_executor_run, flags, 4);
AT(gantry_executor_run, function, 8);
AT(gantry_executor_run, input_count, 12);
AT(gantry_executor_run, inputs, 16);
AT(gantry_executor_run, outputs, 24);
AT(gantry_executor_run, output_count, 32);
AT(gantry_executor_run, zero, 36);
AT(gantry_executor_run, result, 40);

SIZE(gantry_executor_table, 32);
AT(gantry_executor_table, struct_size, 0);
AT(gantry_executor_table, flags, 4);
AT(gantry_executor_table, destroy, 8);
AT(gantry_executor_table, placements, 16);
AT(gantry_executor_table, run, 24);

SIZE(gantry_executor, 16);
AT(gantry_executor, self, 0);
AT(gantry_executor, table, 8);

SIZE(gantry_model, 32);
AT(gantry_model, struct_size, 0);
AT(gantry_model, zero, 4);
AT(gantry_model, info, 8);
AT(gantry_model, signature, 16);
AT(gantry_model, executor_new, 24);

// gantry/progress.h
SIZE(gantry_progress, 24);
AT(gantry_progress, struct_size, 0);
AT(gantry_progress, zero, 4);
AT(gantry_progress, work_begin, 8);
AT(gantry_progress, work_end, 16);

// gantry/output.h
SIZE(gantry_output, 16);
AT(gantry_output, struct_size, 0);
AT(gantry_output, zero, 4);
AT(gantry_output, write, 8);

// gantry/threads.h
SIZE(gantry_threads, 24);
AT(gantry_threads, struct_size, 0);
AT(gantry_threads, zero, 4);
AT(gantry_threads, thread_count, 8);
AT(gantry_threads, parallel_for, 16);

// gantry/trace.h
SIZE(gantry_trace_argument, 32);
AT(gantry_trace_argument, name, 0);
AT(gantry_trace_argument, value, 16);
SIZE(gantry_trace, 48);
AT(gantry_trace, struct_size, 0);
AT(gantry_trace, zero, 4);
AT(gantry_trace, now, 8);
AT(gantry_trace, track, 16);
AT(gantry_trace, thread_name, 24);
AT(gantry_trace, span, 32);
AT(gantry_trace, counter, 40);

#ifndef __cplusplus
TYPE_IS(((gantry_bytes*)0)->size, uint64_t);
TYPE_IS(((gantry_status*)0)->code, int32_t);
TYPE_IS(((gantry_status*)0)->native_code, int64_t);
TYPE_IS(((gantry_status*)0)->offset, uint64_t);
TYPE_IS(((gantry_dtype*)0)->lanes, uint16_t);
TYPE_IS(((gantry_device_id*)0)->type, int32_t);
TYPE_IS(((gantry_tensor*)0)->ndim, int32_t);
TYPE_IS(((gantry_tensor*)0)->byte_offset, uint64_t);
TYPE_IS(((gantry_value*)0)->kind, int32_t);
TYPE_IS(((gantry_value*)0)->small_size, uint32_t);
TYPE_IS(((gantry_value*)0)->i, int64_t);
TYPE_IS(((gantry_value*)0)->f, double);
TYPE_IS(((gantry_object*)0)->kind, int32_t);
TYPE_IS(((gantry_shape*)0)->count, uint64_t);
TYPE_IS(((gantry_blob*)0)->size, uint64_t);
TYPE_IS(((gantry_blob*)0)->numbering, uint32_t);
TYPE_IS(((gantry_sink*)0)->position, uint64_t);
TYPE_IS(((gantry_copy*)0)->size, uint64_t);
TYPE_IS(((gantry_alloc*)0)->alignment, uint64_t);
TYPE_IS(((gantry_parameter*)0)->kind, int32_t);
TYPE_IS(((gantry_parameter*)0)->ndim, int32_t);
TYPE_IS(((gantry_host*)0)->struct_size, uint32_t);
TYPE_IS(((gantry_plugin_table*)0)->struct_size, uint32_t);
TYPE_IS(((gantry_note*)0)->struct_size, uint32_t);
TYPE_IS(((gantry_note*)0)->sanitizer, uint32_t);
TYPE_IS(((gantry_note*)0)->isa, uint32_t);
#endif

int main(void) { return 0; }
