// SPDX-License-Identifier: Apache-2.0
//
// A program, to be named as a library by a manifest.
int main(void) { return 0; }
