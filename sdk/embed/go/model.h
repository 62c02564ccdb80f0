// SPDX-License-Identifier: Apache-2.0
//
// The functions of gantry that digits.go calls. Go cannot call the pointers of a C table, and C must not keep pointers in memory of
// Go: so each run is put together in C.
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include <stdint.h>

// A model, and the images of a file.
typedef struct digits_model digits_model;

// text     [out]  of an error, NUL-terminated; at least 1024 bytes
// returns  NULL: it failed
digits_model* digits_open(const char* model_file, const char* images_file, char* text);
int64_t digits_count(const digits_model* model);

// Computes the scores of an image.
//
// scores   [out]  10 numbers
// returns  0: it failed
int digits_run(digits_model* model, int64_t image, float* scores, char* text);

// model    [in]   may be NULL
void digits_close(digits_model* model);

#endif
