// SPDX-License-Identifier: Apache-2.0
// CPU code of the artifact. This one needs none; a model's operators are here.
int null_backend_host_code(void) { return 0; }
