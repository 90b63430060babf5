// SPDX-License-Identifier: Apache-2.0
// Finds the module of an address while libraries are loaded and unloaded at the same address.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <filesystem>

#include "log/process_log.h"
#include "process/clock.h"
#include "process/code_map.h"
#include "process/unloads.h"

namespace ompass {
namespace {

class CodeMap : public testing::Test {
protected:
    void SetUp() override {
        std::string path = testing::TempDir() + "ompass-code-XXXXXX";
        directory_ = mkdtemp(path.data());
        const format::ClockKind kind = clock::initialize();
        clock::set_rate(clock::read_both());
        unloads::start();
        process_log::open(directory_, format::Mode::kProfile, kind);
        code_map::read();
    }
    void TearDown() override {
        process_log::forget();
        std::filesystem::remove_all(directory_);
    }
    std::string directory_;
};

// A loaded library with its one function.
struct Loaded {
    explicit Loaded(const char *path) : library(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (library) address = reinterpret_cast<uint64_t>(dlsym(library, "number_of_library"));
    }
    ~Loaded() {
        if (library) dlclose(library);
    }
    void *library;
    uint64_t address = 0;
};

uint64_t word_now(uint64_t address) { return code_map::word_of(address, true, clock::now()); }
uint64_t module_of(uint64_t word) { return word >> 48; }

TEST_F(CodeMap, distinguishes_libraries_that_were_at_one_address) {
    uint64_t address = 0, first = 0, time_in_first = 0;
    {
        const Loaded library(OMPASS_UNLOADED_FIRST);
        address = library.address;
        first = word_now(address);
        time_in_first = clock::now();
        ASSERT_NE(first, 0u);
    }
    EXPECT_EQ(word_now(address), 0u) << "no library is there";
    uint64_t other = 0;
    {
        const Loaded library(OMPASS_UNLOADED_OTHER);
        ASSERT_EQ(library.address, address) << "mapped elsewhere";
        other = word_now(address);
        EXPECT_NE(module_of(other), 0u);
        EXPECT_NE(module_of(other), module_of(first));
        EXPECT_EQ(other << 16, first << 16) << "the same offset";
        EXPECT_EQ(code_map::word_of(address, true, time_in_first), 0u) << "the other library was not there then";
    }
    const Loaded again(OMPASS_UNLOADED_FIRST);
    ASSERT_EQ(again.address, address) << "mapped elsewhere";
    EXPECT_EQ(word_now(address), first) << "the same library is the same module";
}

TEST_F(CodeMap, keeps_libraries_that_stay) {
    const auto here = reinterpret_cast<uint64_t>(&word_now);
    const uint64_t before = word_now(here), time = clock::now();
    ASSERT_NE(before, 0u);
    { const Loaded library(OMPASS_UNLOADED_FIRST); }
    EXPECT_EQ(word_now(here), before);
    EXPECT_EQ(code_map::word_of(here, true, time), before) << "also for samples that are older than the unload";
}

TEST_F(CodeMap, has_room_for_any_number_of_loads) {
    uint64_t first = 0;
    for (int i = 0; i < 5000; i++) {
        const Loaded library(OMPASS_UNLOADED_FIRST);
        const uint64_t word = word_now(library.address);
        if (!first) first = word;
        ASSERT_NE(word, 0u) << "load " << i;
        ASSERT_EQ(word, first) << "load " << i;
    }
}

TEST_F(CodeMap, finds_a_library_loaded_at_an_unused_address) {
    uint64_t address = 0;
    { address = Loaded(OMPASS_UNLOADED_FIRST).address; }
    EXPECT_EQ(word_now(address), 0u);
    const Loaded library(OMPASS_UNLOADED_FIRST);
    ASSERT_EQ(library.address, address) << "mapped elsewhere";
    EXPECT_NE(word_now(address), 0u);
}

} // namespace
} // namespace ompass
