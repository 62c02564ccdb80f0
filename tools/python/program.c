// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

int main(int argc, char** argv) { return GANTRY_PROGRAM(argc, argv); }
