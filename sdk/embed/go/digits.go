// SPDX-License-Identifier: Apache-2.0

// sdk/embed/digits.c in Go: digits MODEL IMAGES
package main

// #cgo pkg-config: gantry
// #include <stdlib.h>
// #include "model.h"
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func fail(text string) {
	fmt.Fprintln(os.Stderr, "digits: "+text)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 3 {
		fail("usage: digits MODEL IMAGES")
	}
	modelFile, imagesFile := C.CString(os.Args[1]), C.CString(os.Args[2])
	defer C.free(unsafe.Pointer(modelFile))
	defer C.free(unsafe.Pointer(imagesFile))
	var text [1024]C.char
	model := C.digits_open(modelFile, imagesFile, &text[0])
	if model == nil {
		fail(C.GoString(&text[0]))
	}
	defer C.digits_close(model)

	for image := C.int64_t(0); image < C.digits_count(model); image++ {
		var scores [10]C.float
		if C.digits_run(model, image, &scores[0], &text[0]) == 0 {
			fail(C.GoString(&text[0]))
		}
		best := 0
		for digit, score := range scores {
			if score > scores[best] {
				best = digit
			}
		}
		fmt.Println(best)
	}
}
