// SPDX-License-Identifier: Apache-2.0
// The fixture of tests that report events to the tool's accounting themselves, without OpenMP.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "accounting/tasks.h"
#include "recorder.h"

namespace ompass {

inline std::string fresh_directory() {
    std::string path = testing::TempDir() + "ompass-native-XXXXXX"; // mkdtemp replaces the X
    return std::string(mkdtemp(path.data())) + "/run.ompass";
}

class Recording : public testing::Test {
protected:
    void prepare(const char *mode) {
        directory_ = fresh_directory();
        setenv("OMPASS_DIR", directory_.c_str(), 1);
        setenv("OMPASS_MODE", mode, 1);
        setenv("OMPASS_SUMMARY", "off", 1);
    }
    void begin(const char *mode) {
        prepare(mode);
        ASSERT_TRUE(recorder::start("test"));
        recorder::note_wrappers(true); // the tests write creation records
    }
    void TearDown() override { std::filesystem::remove_all(std::filesystem::path(directory_).parent_path()); }

    std::string directory_;
};

inline const void *address(uintptr_t n) { return reinterpret_cast<const void *>(n); }

// Creates a deferred task of the construct at this address.
inline TaskState *create(ThreadState &thread, uintptr_t construct, uint16_t flags = 0) {
    TaskState *task = thread.pool.take();
    TaskConstruct *known = thread.constructs.at(address(construct), 0);
    task->construct = known->id;
    task->flags = flags;
    create_deferred(thread, task, known);
    return task;
}

// Creates the state of one more thread. The calling thread reports the events of all these threads.
inline ThreadState *make_thread(format::ThreadKind kind) {
    recorder::this_thread = nullptr;
    return recorder::thread(kind);
}

} // namespace ompass
