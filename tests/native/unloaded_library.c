/* SPDX-License-Identifier: Apache-2.0 */
/* A library that test_code_map.cpp loads and unloads; built twice with different NUMBERs, which change no address. */
int number_of_library(void);
int number_of_library(void) { return NUMBER; }
