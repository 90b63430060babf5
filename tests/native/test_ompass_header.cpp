// SPDX-License-Identifier: Apache-2.0
// Tests ompass.h alone: its search for the tool, its behaviour without a tool, and the call behind every mark.
// tests/integration/test_api.py tests that a real program finds the real tool.
#include "ompass.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace {

using Calls = std::vector<std::string>;

Calls *calls; // the calls of the fake tool below

std::string with_region(const char *call, const void *address, size_t bytes) {
    return std::string(call) + " " + std::to_string(reinterpret_cast<uintptr_t>(address)) + " " + std::to_string(bytes);
}

const struct ompass_api kFakeTool = {
    OMPASS_API_VERSION,
    [](const char *name) { calls->push_back(std::string("begin ") + name); },
    [] { calls->push_back("end"); },
    [](const void *address, size_t bytes) { calls->push_back(with_region("read", address, bytes)); },
    [](const void *address, size_t bytes) { calls->push_back(with_region("write", address, bytes)); },
    [](const char *name) { calls->push_back(std::string("phase ") + (name ? name : "(none)")); },
};

class OmpassHeader : public testing::Test {
protected:
    void SetUp() override {
        ompass_state_ = 0;
        calls = &calls_;
        unsetenv("OMP_TOOL_LIBRARIES");
    }
    void TearDown() override {
        ompass_state_ = 0;
        unsetenv("OMP_TOOL_LIBRARIES");
    }
    static void load_fake_tool() { ompass_state_ = reinterpret_cast<ptrdiff_t>(&kFakeTool); }

    Calls calls_;
};

void make_every_mark() {
    int cell = 0;
    ompass_phase("phase");
    ompass_kernel_begin("kernel");
    ompass_read(&cell, sizeof cell);
    ompass_write(&cell, sizeof cell);
    ompass_kernel_end();
    const ompass::Kernel kernel("scope");
    kernel.read(&cell, 1);
}

TEST_F(OmpassHeader, MarksDoNothingWithoutTool) {
    make_every_mark();
    EXPECT_EQ(ompass_state_, -1);
    EXPECT_TRUE(calls_.empty());
}

TEST_F(OmpassHeader, LooksForToolOnce) {
    ompass_kernel_end();
    ASSERT_EQ(ompass_state_, -1);
    setenv("OMP_TOOL_LIBRARIES", "/nowhere/libompass.so", 1);
    ompass_kernel_end();
    EXPECT_EQ(ompass_state_, -1);
}

TEST_F(OmpassHeader, SurvivesEveryListOfTools) {
    const std::string longer_than_any_path(10000, 'x');
    for (const std::string &list :
         {std::string(), std::string(":"), std::string(":::"), std::string("libompass."),
          std::string("/nowhere/libompass.so"), std::string("/nowhere/other.so:/nowhere/libompass.so:"),
          longer_than_any_path + "/libompass.so", longer_than_any_path + ":/nowhere/libompass.so",
          "libompass" + longer_than_any_path}) {
        setenv("OMP_TOOL_LIBRARIES", list.c_str(), 1);
        ompass_state_ = 0;
        EXPECT_EQ(ompass_find_api_(), nullptr) << list;
        EXPECT_EQ(ompass_state_, -1) << list;
    }
}

TEST_F(OmpassHeader, ALibraryThatOnlyHasTheNameOfTheToolIsIgnored) {
    Dl_info some_library; // the C library: it can be loaded, and is not a tool
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&strtod), &some_library), 0);
    const std::filesystem::path link =
        std::filesystem::path(testing::TempDir()) / ("libompass.so." + std::to_string(getpid()));
    std::filesystem::remove(link);
    std::filesystem::create_symlink(some_library.dli_fname, link);
    setenv("OMP_TOOL_LIBRARIES", link.c_str(), 1);
    EXPECT_EQ(ompass_find_api_(), nullptr);
    EXPECT_EQ(ompass_state_, -1);
    std::filesystem::remove(link);
}

TEST_F(OmpassHeader, EveryMarkReachesItsCall) {
    load_fake_tool();
    const char cells[8] = {};
    ompass_phase("assembly");
    ompass_kernel_begin("matmul");
    ompass_read(cells, sizeof cells);
    ompass_write(cells + 1, 3);
    ompass_kernel_end();
    ompass_phase(nullptr);
    EXPECT_EQ(calls_, (Calls{"phase assembly", "begin matmul", with_region("read", cells, 8),
                             with_region("write", cells + 1, 3), "end", "phase (none)"}));
}

TEST_F(OmpassHeader, ScopeBeginsAndEndsItsKernelAlsoWhenLeftByException) {
    load_fake_tool();
    try {
        const ompass::Kernel outer("outer");
        const ompass::Kernel inner("inner");
        throw 1;
    } catch (int) {}
    EXPECT_EQ(calls_, (Calls{"begin outer", "begin inner", "end", "end"}));
}

TEST_F(OmpassHeader, ScopeCannotBeCopiedOrMoved) {
    EXPECT_FALSE(std::is_copy_constructible_v<ompass::Kernel>);
    EXPECT_FALSE(std::is_move_constructible_v<ompass::Kernel>);
    EXPECT_FALSE(std::is_copy_assignable_v<ompass::Kernel>);
}

TEST_F(OmpassHeader, ThreadsThatSearchConcurrentlyAgree) {
    for (int round = 0; round < 50; round++) {
        ompass_state_ = 0;
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) threads.emplace_back(make_every_mark);
        for (std::thread &thread : threads) thread.join();
        EXPECT_EQ(ompass_state_, -1);
    }
}

} // namespace
