# SPDX-License-Identifier: Apache-2.0
# Tests that run the built command-line program and check its output.
if(TARGET gantry_cli)
  find_package(nlohmann_json REQUIRED)
  gantry_add_test(cli_inspect LABELS golden SOURCES cli_inspect_test.cpp cli_draw_test.cpp LIBRARIES gantry_cli_command)
  add_dependencies(cli_inspect golden_aot_usmp golden_aot_usmp_two)
  gantry_add_test(golden_const_loader LABELS golden SOURCES const_loader_test.cpp
    LIBRARIES gantry_cli_command gantry_embed)
  add_dependencies(golden_const_loader gantry_cli gantry_plugin_const_loader gantry_plugin_relax)
  gantry_add_test(golden_call_script LABELS golden SOURCES call_script_test.cpp
    LIBRARIES gantry_cli_script)
  foreach(plugin const_loader contrib dnnl relax)
    if(TARGET gantry_plugin_${plugin})
      add_dependencies(golden_call_script gantry_plugin_${plugin})
    endif()
  endforeach()
  gantry_add_test(golden_relax_device LABELS golden DRIVERS SOURCES relax_device_test.cpp relax_kernel_test.cpp
    relay_vm_device_test.cpp
    LIBRARIES gantry_cli_script gantry_writing)
  foreach(plugin relax relay_vm opencl vulkan cuda)
    if(TARGET gantry_plugin_${plugin})
      add_dependencies(golden_relax_device gantry_plugin_${plugin})
    endif()
  endforeach()
  if(TARGET gantry_cuda_objects)
    target_link_libraries(golden_relax_device PRIVATE gantry_fake_cuda gantry_fake_nvrtc)
    target_compile_definitions(golden_relax_device PRIVATE GANTRY_FAKE_CUDA="$<TARGET_FILE:gantry_fake_cuda>"
      GANTRY_FAKE_NVRTC="$<TARGET_FILE:gantry_fake_nvrtc>")
  endif()
  # On a driver that imitates a GPU, and without it.
  if(TARGET gantry_plugin_cuda AND TARGET gantry_plugin_relax)
    gantry_add_test(golden_model_devices LABELS golden SOURCES model_devices_test.cpp
      LIBRARIES gantry_cli_command gantry_embed gantry_arrays nlohmann_json::nlohmann_json)
    target_compile_definitions(golden_model_devices PRIVATE GANTRY_FAKE_CUDA="$<TARGET_FILE:gantry_fake_cuda>"
      GANTRY_MODEL_DEVICES="${CMAKE_CURRENT_SOURCE_DIR}/model_devices.json" GANTRY_BUILT_MODELS="${CMAKE_CURRENT_BINARY_DIR}")
    set(alternatives "${CMAKE_CURRENT_SOURCE_DIR}/alternatives")
    add_custom_command(OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/alternatives.so"
      DEPENDS gantry_cli "${alternatives}/model.yaml" "${alternatives}/copy.c" "${alternatives}/copy.ptx"
      COMMAND ${CMAKE_COMMAND} -E env "CC=${CMAKE_C_COMPILER}" $<TARGET_FILE:gantry_cli> -q pack
        "${alternatives}/model.yaml" -o "${CMAKE_CURRENT_BINARY_DIR}/alternatives.so" VERBATIM)
    add_custom_target(golden_alternatives DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/alternatives.so")
    add_dependencies(golden_model_devices golden_alternatives)
    add_dependencies(golden_model_devices gantry_cli gantry_fake_cuda gantry_plugin_cuda gantry_plugin_graph
      gantry_plugin_relax)
  endif()
  gantry_add_test(golden_appended_container LABELS golden SOURCES appended_container_test.cpp
    LIBRARIES gantry_cli_command gantry_writing)
  add_dependencies(golden_appended_container gantry_cli gantry_plugin_graph)
  # Sanitizers have memory of their own.
  if(NOT GANTRY_SANITIZE)
    gantry_add_test(golden_repacked_memory LABELS golden UNSANITIZED repacked_memory_test.cpp
      LIBRARIES gantry_cli_command gantry_embed gantry_writing)
    target_compile_definitions(golden_repacked_memory PRIVATE GANTRY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_dependencies(golden_repacked_memory gantry_cli gantry_plugin_graph)
  endif()
  gantry_add_test(cli_load LABELS golden SOURCES cli_load_test.cpp
    LIBRARIES gantry_cli_command gantry_formats gantry_elf)
  gantry_add_test(cli_targets LABELS cli SOURCES cli_targets_test.cpp
    LIBRARIES gantry_cli_command nlohmann_json::nlohmann_json)
  add_dependencies(cli_targets gantry_cli)
  if(TARGET gantry_cuda_objects)
    target_compile_definitions(cli_targets PRIVATE GANTRY_FAKE_NVRTC="$<TARGET_FILE:gantry_fake_nvrtc>")
    add_dependencies(cli_targets gantry_plugin_cuda gantry_fake_nvrtc)
  endif()
  gantry_add_test(cli_status LABELS cli SOURCES cli_status_test.cpp LIBRARIES gantry_cli_command)
  gantry_add_test(cli_run LABELS golden SOURCES cli_run_test.cpp cli_bench_test.cpp cli_input_test.cpp
    LIBRARIES gantry_cli_command gantry_arrays nlohmann_json::nlohmann_json)
  add_dependencies(cli_run gantry_plugin_aot golden_aot_usmp)
  gantry_add_test(cli_model LABELS cli SOURCES cli_model_test.cpp cli_report_test.cpp
    LIBRARIES gantry_cli_command gantry_arrays)
  gantry_add_test(cli_mlf LABELS golden SOURCES cli_mlf_test.cpp
    LIBRARIES gantry_cli_command gantry_base nlohmann_json::nlohmann_json)
  add_dependencies(cli_mlf gantry_plugin_aot)
  gantry_add_test(cli_names LABELS cli SOURCES cli_names_test.cpp
    LIBRARIES gantry_cli_command gantry_embed gantry_arrays)
  gantry_add_test(cli_options LABELS cli SOURCES cli_options_test.cpp
    LIBRARIES gantry_cli_command gantry_elf)
  gantry_add_test(cli_output LABELS cli SOURCES cli_output_test.cpp cli_pack_test.cpp
    LIBRARIES gantry_cli_command gantry_arrays nlohmann_json::nlohmann_json)
  gantry_add_test(cli_pages LABELS cli SOURCES cli_pages_test.cpp LIBRARIES gantry_cli_command gantry_arrays)
  gantry_add_test(cli_lock LABELS cli SOURCES cli_lock_test.cpp
    LIBRARIES gantry_cli_command gantry_sodium nlohmann_json::nlohmann_json)
  gantry_add_test(cli_plugins LABELS cli SOURCES cli_plugins_test.cpp cli_plugins_check_test.cpp
    cli_broken_host_test.cpp
    UNSANITIZED cli_elevated_test.cpp
    LIBRARIES gantry_cli_command gantry_elf nlohmann_json::nlohmann_json)
  gantry_add_test(cli_install LABELS cli SOURCES cli_install_test.cpp LIBRARIES gantry_cli_command)
  gantry_add_test(cli_description LABELS cli
    SOURCES cli_completion_test.cpp cli_explain_test.cpp cli_man_test.cpp cli_reasons_test.cpp
    LIBRARIES gantry_cli_command gantry_base nlohmann_json::nlohmann_json)
  gantry_add_test(cli_script LABELS golden SOURCES cli_script_test.cpp
    LIBRARIES gantry_cli_command nlohmann_json::nlohmann_json)
  gantry_add_test(cli_signals LABELS cli SOURCES cli_signals_test.cpp LIBRARIES gantry_cli_command)
  # Sanitizers report signals themselves.
  gantry_add_test(cli_crash LABELS cli UNSANITIZED cli_crash_test.cpp LIBRARIES gantry_cli_command gantry_elf)
  add_dependencies(cli_crash gantry_cli gantry_plugin_graph gantry_fake_plugins)
  gantry_add_test(cli_repack LABELS golden SOURCES cli_repack_test.cpp
    LIBRARIES gantry_cli_command nlohmann_json::nlohmann_json)
  foreach(plugin graph relax opencl)
    if(TARGET gantry_plugin_${plugin})
      add_dependencies(cli_repack gantry_plugin_${plugin})
    endif()
  endforeach()
  gantry_add_test(cli_outputs LABELS cli SOURCES outputs_test.cpp LIBRARIES gantry_cli_script)
  if(TARGET gantry_plugin_relax)
    add_dependencies(cli_model gantry_plugin_relax)
    add_dependencies(cli_pages gantry_plugin_relax)
    add_dependencies(cli_lock gantry_plugin_relax)
    gantry_add_test(cli_vm LABELS golden SOURCES cli_vm_test.cpp cli_vm_inspect_test.cpp cli_vm_input_test.cpp
      LIBRARIES gantry_cli_command gantry_arrays gantry_writing nlohmann_json::nlohmann_json)
    gantry_add_test(cli_weights LABELS golden SOURCES cli_weights_test.cpp cli_weight_tuples_test.cpp
      LIBRARIES gantry_cli_command gantry_arrays nlohmann_json::nlohmann_json)
    target_compile_definitions(cli_vm PRIVATE GANTRY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    foreach(program cli_vm cli_weights)
      add_dependencies(${program} gantry_cli gantry_plugin_relax gantry_plugin_relay_vm)
    endforeach()
  endif()
  foreach(program cli_inspect cli_mlf cli_install cli_load cli_lock cli_status cli_run cli_model cli_names cli_options cli_output cli_pages cli_plugins cli_repack cli_description cli_script cli_signals)
    add_dependencies(${program} gantry_cli)
  endforeach()
  foreach(program cli_install cli_load cli_mlf cli_lock cli_run cli_model cli_names cli_options cli_output cli_pages cli_plugins)
    add_dependencies(${program} gantry_plugin_graph)
  endforeach()
  add_dependencies(cli_output gantry_probe_program)
  add_dependencies(cli_plugins gantry_fake_plugins gantry_probe_program)
  add_dependencies(cli_description gantry_conformance)
  if(TARGET gantry_plugin_opencl OR TARGET gantry_plugin_vulkan)
    gantry_add_test(cli_device COST 60 PARTS 3 LABELS golden DRIVERS SOURCES cli_device_test.cpp cli_device_archive_test.cpp
      LIBRARIES gantry_cli_command gantry_arrays gantry_mlf)
    add_dependencies(cli_device gantry_cli gantry_plugin_graph)
    foreach(plugin opencl vulkan relax relay_vm)
      if(TARGET gantry_plugin_${plugin})
        add_dependencies(cli_device gantry_plugin_${plugin})
      endif()
    endforeach()
  endif()
endif()
