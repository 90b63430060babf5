// SPDX-License-Identifier: Apache-2.0
// Tests which windows kept.log drops: a reader must find a checkpoint, and all events since then, of every thread.
#include "log/kept_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <utility>
#include <vector>

#include "log/log_file.h"
#include "recording_fixture.h"

namespace ompass {
namespace {

using Windows = std::set<std::pair<uint32_t, uint64_t>>; // thread and number

class KeptTrace : public testing::Test {
protected:
    void begin(kept_trace::Extent extent) {
        std::filesystem::create_directory(directory_);
        kept_trace::begin(directory_, extent);
        window_.resize(kept_trace::window_bytes() / sizeof(format::ExtentHeader));
    }
    // Begins with room for this number of windows. Their size depends on the room, so tries sizes until one is right.
    void begin_with_room_for(uint64_t n_windows) {
        for (uint64_t bytes = 8 << 10;; bytes = kept_trace::window_bytes()) {
            std::filesystem::remove(directory_ + "/kept.log");
            begin({LogFile::total_bytes() + format::kHeaderBytes + n_windows * bytes, 0});
            if (kept_trace::window_bytes() == bytes) return;
        }
    }
    // Stores the next window of a thread. If `checkpoint`, notes a checkpoint that begins in this window.
    void store(uint32_t thread, uint64_t number, uint64_t end, bool checkpoint) {
        window_[0] = {};
        window_[0].magic = format::kExtentMagic;
        window_[0].kind = format::ExtentKind::kEvents;
        window_[0].bytes = kept_trace::window_bytes();
        window_[0].first = number;
        if (checkpoint) kept_trace::note_checkpoint(thread, number, end - 1);
        kept_trace::store(window_[0], thread, end);
    }
    Windows stored(const std::string &directory) {
        std::ifstream file(directory + "/kept.log", std::ios::binary);
        Windows found;
        format::ExtentHeader head;
        for (uint64_t place = format::kHeaderBytes;; place += head.bytes) {
            file.seekg(static_cast<std::streamoff>(place));
            if (!file.read(reinterpret_cast<char *>(&head), sizeof head)) return found;
            EXPECT_TRUE(found.emplace(head.thread, head.first).second);
        }
    }
    void TearDown() override {
        LogFile::set_room_maker(nullptr);
        kept_trace::forget();
        std::filesystem::remove_all(std::filesystem::path(directory_).parent_path());
    }

    std::string directory_ = fresh_directory();
    std::vector<format::ExtentHeader> window_;
};

TEST_F(KeptTrace, windows_since_the_last_checkpoint_outlast_the_period) {
    begin({0, 100});
    store(1, 0, 10, false);
    store(1, 1, 20, false);
    for (uint64_t i = 0; i < 9; i++) store(0, i, 30 + 50 * i, true);
    EXPECT_EQ(stored(directory_), (Windows{{1, 0}, {1, 1}, {0, 6}, {0, 7}, {0, 8}}));
    kept_trace::note_checkpoint(1, 2, 440); // earlier windows are needed for one more period
    store(0, 9, 480, true);
    EXPECT_TRUE(stored(directory_).contains({1, 0}));
    store(0, 10, 550, true);
    store(0, 11, 560, true);
    EXPECT_FALSE(stored(directory_).contains({1, 0}));
    EXPECT_FALSE(stored(directory_).contains({1, 1}));
}

TEST_F(KeptTrace, windows_of_a_checkpoint_under_way_are_needed) {
    begin({0, 100});
    store(1, 0, 10, false);
    store(1, 1, 20, false); // the begin of a checkpoint that ends in window 2
    kept_trace::note_checkpoint(1, 1, 20);
    for (uint64_t i = 0; i < 9; i++) store(0, i, 130 + 50 * i, true);
    EXPECT_FALSE(stored(directory_).contains({1, 0}));
    EXPECT_TRUE(stored(directory_).contains({1, 1}));
}

TEST_F(KeptTrace, without_room_needed_windows_are_the_last_to_go) {
    begin_with_room_for(4);
    store(1, 0, 10, false);
    for (uint64_t i = 0; i < 9; i++) store(0, i, 30 + 50 * i, true);
    EXPECT_EQ(stored(directory_), (Windows{{1, 0}, {0, 6}, {0, 7}, {0, 8}}));
    EXPECT_TRUE(kept_trace::make_room(2 * kept_trace::window_bytes()));
    EXPECT_EQ(stored(directory_), (Windows{{1, 0}, {0, 8}}));
    for (uint32_t thread = 2; thread < 7; thread++) store(thread, 0, 500 + thread, false);
    EXPECT_EQ(stored(directory_), (Windows{{3, 0}, {4, 0}, {5, 0}, {6, 0}})) << "all are needed: the latest remain";
}

TEST_F(KeptTrace, the_file_after_a_dump_has_the_windows_that_later_events_need) {
    begin({0, 1'000'000});
    store(1, 0, 10, false);
    store(0, 0, 20, true);
    store(1, 1, 30, true);
    store(0, 1, 40, true);
    store(1, 2, 50, false);
    const std::string dump = directory_ + "-dump";
    std::filesystem::create_directory(dump);
    ASSERT_TRUE(kept_trace::move_to(directory_, dump, [] { return true; }));
    EXPECT_EQ(stored(dump).size(), 5u);
    EXPECT_EQ(stored(directory_), (Windows{{1, 1}, {0, 1}, {1, 2}}));
    kept_trace::note_checkpoint(1, 3, 60);
    store(1, 3, 2'000'000, false);
    EXPECT_EQ(stored(directory_), (Windows{{1, 3}, {0, 1}, {1, 2}}));
}

// The last word of a window stays zero, so that readers find the end of the records.
TEST_F(KeptTrace, a_record_after_a_checkpoint_that_fills_the_window_begins_the_next_window) {
    begin({0, 1'000'000});
    uint32_t seen_switch = 0, then = 0;
    ThreadLog log;
    log.create(directory_, 0, 1, 1);
    log.keep_last(&seen_switch, &then);
    log.start_tracing(1);
    const size_t window_bytes = kept_trace::window_bytes();
    const size_t n_words = (window_bytes - sizeof(format::ExtentHeader)) / sizeof(uint64_t) - 1;
    for (size_t n = n_words - 4; n < n_words; n++) { // end_checkpoint() adds one more word
        ASSERT_TRUE(log.begin_checkpoint());
        for (size_t i = 0; i < n; i++) log.checkpoint_word(1);
        log.end_checkpoint();
        log.timed(format::kRegionBegin, 1, 2, 3, 4);
    }
    ASSERT_TRUE(log.begin_checkpoint()); // stores the window before it
    log.end_checkpoint();
    std::ifstream file(directory_ + "/kept.log", std::ios::binary);
    size_t n_windows = 0;
    for (uint64_t last = 0;; n_windows++) {
        file.seekg(static_cast<std::streamoff>(format::kHeaderBytes + (n_windows + 1) * window_bytes - sizeof last));
        if (!file.read(reinterpret_cast<char *>(&last), sizeof last)) break;
        EXPECT_EQ(last, 0u) << "window " << n_windows;
    }
    EXPECT_GT(n_windows, 4u);
}

} // namespace
} // namespace ompass
