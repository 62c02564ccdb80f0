// SPDX-License-Identifier: Apache-2.0
//
// Prints the digit that a model recognizes in each image of a file: digits MODEL IMAGES
//
//     cc -o digits digits.c $(pkg-config --cflags --libs gantry)
#include <err.h>
#include <gantry/embed.h>
#include <stdio.h>

int main(int argc, char** argv) {
  char text[1024] = "usage: digits MODEL IMAGES";
  gantry_status status = {.struct_size = sizeof status, .text = text, .text_capacity = sizeof text};
  const gantry_embed* embed = gantry_embed_query_v1();
  gantry_object *runtime = NULL, *module = NULL, *model = NULL;
  gantry_value images = {0}, scores = {0};
  const gantry_value* items;
  uint64_t count;
  if (argc != 3 || embed->runtime_new(NULL, &runtime, &status) ||
      embed->load_file(runtime, gantry_text(argv[1]), NULL, &module, &status) ||
      embed->model_new(module, NULL, &model, &status) ||
      embed->tensors_read(runtime, gantry_text(argv[2]), &images, &status) ||
      embed->items_get(images.object, &items, &count, &status))
    errx(1, "%s", text);

  // The first tensor, float32[images, 1, 64], is passed as one float32[1, 64] after the other.
  gantry_tensor image = *gantry_value_tensor(&items[1]);
  const gantry_value input = {.kind = GANTRY_TENSOR_REF, .tensor = &image};
  gantry_run run = {.struct_size = sizeof run, .input_count = 1, .output_count = 1};
  run.inputs = &input;
  run.outputs = &scores;
  --image.ndim;
  for (int64_t left = *image.shape++; left > 0; --left, image.data = (float*)image.data + 64) {
    // The first run makes a tensor of scores, the others fill it.
    if (embed->run(model, &run, &status)) errx(1, "%s", text);
    const float* score = gantry_value_tensor(&scores)->data;
    int best = 0;
    for (int digit = 1; digit < 10; ++digit) best = score[digit] > score[best] ? digit : best;
    printf("%d\n", best);
  }
  gantry_object* const objects[] = {scores.object, images.object, model, module, runtime};
  for (int i = 0; i < 5; ++i) embed->release(objects[i]);
}
