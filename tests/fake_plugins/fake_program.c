// SPDX-License-Identifier: Apache-2.0
//
// A program that a manifest names as its library.
int main(void) { return 0; }
