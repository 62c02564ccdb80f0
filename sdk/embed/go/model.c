// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <gantry/embed.h>
#include <stdlib.h>

enum { text_bytes = 1024 };

struct digits_model {
  gantry_object *runtime, *module, *model;
  gantry_value tensors;
  // float32[images, 1, 64], in `tensors`
  const gantry_tensor* images;
};

static gantry_status status_for(char* text) {
  return (gantry_status){
      .struct_size = sizeof(gantry_status), .text = text, .text_capacity = text_bytes};
}

digits_model* digits_open(const char* model_file, const char* images_file, char* text) {
  const gantry_embed* const embed = gantry_embed_query_v1();
  gantry_status status = status_for(text);
  const gantry_value* items;
  uint64_t count;
  digits_model* const opened = calloc(1, sizeof *opened);
  text[0] = 0;
  if (!opened || embed->runtime_new(NULL, &opened->runtime, &status) ||
      embed->load_file(opened->runtime, gantry_text(model_file), NULL, &opened->module, &status) ||
      embed->model_new(opened->module, NULL, &opened->model, &status) ||
      embed->tensors_read(opened->runtime, gantry_text(images_file), &opened->tensors, &status) ||
      embed->items_get(opened->tensors.object, &items, &count, &status)) {
    digits_close(opened);
    return NULL;
  }
  // items[0] is the name
  opened->images = gantry_value_tensor(&items[1]);
  return opened;
}

int64_t digits_count(const digits_model* model) { return model->images->shape[0]; }

int digits_run(digits_model* model, int64_t image, float* scores, char* text) {
  int64_t image_shape[] = {1, 64}, scores_shape[] = {1, 10};
  gantry_tensor input = *model->images, output = *model->images;
  input.data = (float*)input.data + 64 * image;
  output.data = scores;
  input.ndim = output.ndim = 2;
  input.strides = output.strides = NULL;
  input.shape = image_shape;
  output.shape = scores_shape;
  const gantry_value in = {.kind = GANTRY_TENSOR_REF, .tensor = &input};
  gantry_value out = {.kind = GANTRY_TENSOR_REF, .tensor = &output};
  gantry_run run = {.struct_size = sizeof run, .input_count = 1, .output_count = 1};
  run.inputs = &in;
  run.outputs = &out;
  gantry_status status = status_for(text);
  return gantry_embed_query_v1()->run(model->model, &run, &status) == GANTRY_OK;
}

void digits_close(digits_model* model) {
  if (!model) return;
  const gantry_embed* const embed = gantry_embed_query_v1();
  embed->release(model->tensors.kind == GANTRY_NONE ? NULL : model->tensors.object);
  embed->release(model->model);
  embed->release(model->module);
  embed->release(model->runtime);
  free(model);
}
