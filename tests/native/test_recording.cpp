// SPDX-License-Identifier: Apache-2.0
// Records without OpenMP: threads report events to the accounting directly, in the orders of real runtimes and in
// random orders. The profile must be consistent, add up exactly, and equal the replay of the events.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "accounting/loops.h"
#include "accounting/regions.h"
#include "accounting/waits.h"
#include "analyses/timeline.h"
#include "analyses/trace_replay.h"
#include "analyses/trace_rows.h"
#include "analyses/validate.h"
#include "broken_invariants.h"
#include "events/decoder.h"
#include "log/process_log.h"
#include "ompass.h"
#include "pyramid_agrees.h"
#include "recording_fixture.h"

extern "C" const ompass_api *ompass_get_api(unsigned version);

namespace ompass {
namespace {

void run_inline(ThreadState &thread, uintptr_t construct, unsigned depth, std::atomic<uint64_t> &n_tasks) {
    TaskState *task = thread.pool.peek();
    task->local = thread.constructs.at(address(construct), 0);
    task->flags = kInline;
    thread.pool.take();
    begin_inline(thread, task);
    if (depth > 0) {
        run_inline(thread, construct, depth - 1, n_tasks);
        run_inline(thread, construct + 8, depth - 1, n_tasks);
    }
    end_inline(thread, task);
    n_tasks++;
}

// Runs a team of two in one region: the primary creates tasks, both run tasks, both wait at the end.
void run_region(unsigned seed, std::atomic<uint64_t> &n_tasks) {
    ThreadState *primary = recorder::thread(format::ThreadKind::kInitial);
    format::RegionInstance *instance = begin_region(*primary, address(0x1000));
    std::atomic<TaskState *> queue[64] = {};
    std::atomic<bool> done{false};
    const auto run_one = [&](ThreadState &thread, std::minstd_rand &random) {
        TaskState *task = queue[random() % 64].exchange(nullptr);
        if (!task) return;
        start_task(thread, task, clock::now());
        if (random() % 4 == 0) run_inline(thread, 0x3000, 5, n_tasks);
        complete_task(thread, task, nullptr, 1);
        n_tasks++;
    };
    std::thread worker([&] {
        ThreadState *thread = recorder::thread(format::ThreadKind::kWorker);
        std::minstd_rand random(seed + 1);
        TaskState *implicit = begin_implicit(*thread, instance, 2);
        begin_wait(*thread, 9, nullptr);
        while (!done) run_one(*thread, random);
        for (auto &slot : queue)
            if (TaskState *task = slot.exchange(nullptr)) {
                start_task(*thread, task, clock::now());
                complete_task(*thread, task, nullptr, 1);
                n_tasks++;
            }
        end_implicit(*thread, implicit);
    });
    std::minstd_rand random(seed);
    TaskState *implicit = begin_implicit(*primary, instance, 2);
    for (int i = 0; i < 2000; i++) {
        switch (random() % 5) {
        case 0:
        case 1: {
            begin_creation(*primary);
            TaskState *task = create(*primary, 0x2000 + 16 * (random() % 3));
            end_creation(*primary);
            auto &slot = queue[random() % 64];
            TaskState *none = nullptr;
            if (!slot.compare_exchange_strong(none, task)) { // full queue: the task runs at once
                start_task(*primary, task, clock::now());
                complete_task(*primary, task, nullptr, 1);
                n_tasks++;
            }
            break;
        }
        case 2: run_inline(*primary, 0x4000, 3, n_tasks); break;
        case 3:
            begin_lock(*primary, 3, nullptr, clock::now());
            end_lock(*primary, 3, 1, clock::now());
            break;
        default:
            begin_wait(*primary, format::kTaskwait, nullptr);
            run_one(*primary, random);
            end_wait(*primary, format::kTaskwait);
        }
    }
    begin_wait(*primary, 9, nullptr);
    done = true;
    while (__atomic_load_n(&primary->region->instance->last_arrival[0], __ATOMIC_ACQUIRE) == 0) {}
    worker.join(); // real workers do not end here; the join orders the last task before the end
    end_wait(*primary, 9);
    end_implicit(*primary, implicit);
    end_region(*primary);
}

TEST_F(Recording, trace_and_profile_of_random_events_agree_and_add_up) {
    begin("trace");
    std::atomic<uint64_t> n_tasks{0};
    for (unsigned seed = 1; seed <= 5; seed++) run_region(seed, n_tasks);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});

    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    std::vector<ThreadAccount> kept = read_accounts(run), replayed;
    ASSERT_FALSE(replay_trace(run, replayed));
    check_pyramid(directory_, replayed);
    for (auto *accounts : {&kept, &replayed}) {
        const RunProfile profile = make_profile(run, *accounts, accounts == &replayed);
        uint64_t completed = 0, in_regions = 0;
        for (const ConstructRow &row : profile.constructs) completed += row.n_completed;
        for (const RegionRow &row : profile.regions) {
            in_regions += row.n_tasks;
            EXPECT_EQ(row.work_ns + row.create_ns + row.schedule_ns + row.sync_ns + row.idle_ns, row.total_ns);
        }
        EXPECT_EQ(completed, n_tasks.load());
        EXPECT_EQ(in_regions, n_tasks.load());
        EXPECT_TRUE(profile.complete);
    }
}

TEST_F(Recording, profile_mode_writes_no_events_and_counts_the_same) {
    begin("profile");
    std::atomic<uint64_t> n_tasks{0};
    run_region(7, n_tasks);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    std::vector<ThreadAccount> accounts = read_accounts(run), none;
    EXPECT_TRUE(replay_trace(run, none));
    uint64_t completed = 0;
    for (const ConstructRow &row : make_profile(run, accounts, false).constructs) completed += row.n_completed;
    EXPECT_EQ(completed, n_tasks.load());
}

TEST_F(Recording, a_log_that_is_being_written_has_all_completed_events) {
    begin("trace");
    std::atomic<uint64_t> n_tasks{0};
    run_region(3, n_tasks); // without a stop, as if the process had been killed here
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    std::vector<ThreadAccount> accounts = read_accounts(run), replayed;
    const RunProfile profile = make_profile(run, accounts, false);
    EXPECT_FALSE(profile.complete);
    ASSERT_FALSE(replay_trace(run, replayed));
    uint64_t kept_tasks = 0, replayed_tasks = 0;
    for (const RegionRow &row : profile.regions) kept_tasks += row.n_tasks;
    for (const RegionRow &row : make_profile(run, replayed, true).regions) replayed_tasks += row.n_tasks;
    EXPECT_EQ(kept_tasks, n_tasks.load());
    EXPECT_EQ(replayed_tasks, n_tasks.load());
}

// The thread writes far more events than its window holds, so it rewrites the window while others read it.
TEST_F(Recording, a_log_can_be_read_while_its_thread_writes) {
    begin("trace");
    constexpr uint64_t kAccesses = 2'000'000; // some 250 windows
    std::atomic<bool> begun{false}, done{false};
    std::thread writer([&] {
        ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
        begun = true;
        for (uint64_t i = 0; i < kAccesses; i++) thread->log.access(true, i, 1);
        done = true;
    });
    while (!begun) std::this_thread::yield();
    uint64_t n_read = 0;
    for (bool last = false; !last;) {
        last = done;
        RunFiles run;
        ASSERT_FALSE(open_run(directory_, run));
        EXPECT_TRUE(run.losses.empty()) << run.losses.front();
        uint64_t next = 0;
        for (const ThreadFile &thread : run.threads) {
            EventDecoder decoder(thread, thread.header->index);
            for (EventRecord record; decoder.next(record);)
                if (record.kind == format::kWrite && record.words[1] == next) next++;
            EXPECT_FALSE(decoder.problem()) << decoder.problem().text();
        }
        EXPECT_GE(next, n_read);
        n_read = next;
    }
    writer.join();
    EXPECT_EQ(n_read, kAccesses);
}

// A thread that ends truncates its log to the used size; a reader that opened the file before must not read beyond it.
TEST_F(Recording, logs_can_be_read_while_their_threads_end) {
    begin("trace");
    recorder::thread(format::ThreadKind::kInitial);
    constexpr uint32_t kThreads = 300;
    std::atomic<bool> done{false};
    std::thread program([&] {
        for (uint32_t i = 0; i < kThreads; i++)
            std::thread([i] {
                ThreadState *thread = recorder::thread(format::ThreadKind::kOther);
                for (uint64_t n = 0; n < 10 * i; n++) thread->log.access(true, n, 1);
                recorder::end_thread(*thread);
            }).join();
        done = true;
    });
    for (bool last = false; !last;) {
        last = done;
        RunFiles run;
        ASSERT_FALSE(open_run(directory_, run));
        EXPECT_TRUE(run.losses.empty()) << run.losses.front();
        std::vector<ThreadAccount> accounts = read_accounts(run);
        for (const ThreadFile &thread : run.threads) {
            EventDecoder decoder(thread, thread.header ? thread.header->index : 0);
            for (EventRecord record; decoder.next(record);) {}
            EXPECT_FALSE(decoder.problem()) << decoder.problem().text();
        }
    }
    program.join();
}

// Runtimes do not report the end of a thread that only makes marks or MPI calls.
TEST_F(Recording, the_log_of_a_thread_that_openmp_does_not_know_is_completed_when_the_thread_ends) {
    begin("trace");
    recorder::thread(format::ThreadKind::kInitial);
    constexpr unsigned kThreads = 20;
    for (unsigned i = 0; i < kThreads; i++) std::thread([] { recorder::thread(format::ThreadKind::kOther); }).join();
    recorder::stop(format::EndReason::kFinalized);
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    ASSERT_EQ(run.threads.size(), kThreads + 1);
    for (unsigned i = 1; i <= kThreads; i++) EXPECT_NE(run.threads[i].header->ended_ticks, 0u) << "thread " << i;
}

TEST_F(Recording, a_log_numbered_far_beyond_the_threads_is_omitted_and_reported) {
    begin("profile");
    recorder::thread(format::ThreadKind::kInitial);
    recorder::stop(format::EndReason::kFinalized);
    std::filesystem::copy(directory_ + "/thread-00000.log", directory_ + "/thread-65535.log");
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    EXPECT_EQ(run.threads.size(), 1u);
    ASSERT_EQ(run.losses.size(), 1u);
    EXPECT_NE(run.losses[0].find("thread-65535.log"), std::string::npos);
}

TEST_F(Recording, slashes_after_the_name_of_the_directory_are_ignored) {
    prepare("profile");
    setenv("OMPASS_DIR", (directory_ + "//").c_str(), 1);
    ASSERT_TRUE(recorder::start("test"));
    EXPECT_EQ(recorder::directory(), directory_);
    EXPECT_TRUE(std::filesystem::exists(directory_ + "/meta.json"));
}

TEST_F(Recording, a_dump_takes_the_first_number_that_no_earlier_run_has_used) {
    setenv("OMPASS_KEEP_LAST", "10s", 1);
    begin("trace");
    unsetenv("OMPASS_KEEP_LAST");
    recorder::thread(format::ThreadKind::kInitial);
    const std::string stem = directory_.substr(0, directory_.size() - std::string(".ompass").size());
    std::filesystem::create_directory(stem + "-dump-1.ompass");
    recorder::dump();
    recorder::dump();
    EXPECT_TRUE(std::filesystem::is_empty(stem + "-dump-1.ompass"));
    EXPECT_TRUE(std::filesystem::exists(stem + "-dump-2.ompass/process.log"));
    EXPECT_TRUE(std::filesystem::exists(stem + "-dump-3.ompass/process.log"));
}

// The child of a fork starts a run of its own, so it reads the topology again.
TEST(Topology, is_the_same_when_it_is_read_again) {
    const auto domains_now = [] {
        cpu::read_topology();
        std::vector<uint32_t> domains = {cpu::n_domains()};
        for (uint32_t i = 0; i < cpu::n_cpus(); i++) domains.push_back(cpu::places[i].domain);
        return domains;
    };
    EXPECT_EQ(domains_now(), domains_now());
}

TEST_F(Recording, a_run_whose_disk_was_full_for_a_moment_is_readable) {
    begin("profile");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    const auto name = [](unsigned i) { return std::to_string(i) + std::string(1000, '.'); };
    const auto define = [&](unsigned i) {
        return process_log::construct_of_name(format::DefinitionKind::kKernel, name(i).c_str());
    };
    unsigned n = 0;
    for (; n < 100; n++) define(n); // more than one extent
    rlimit length, none;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &length), 0);
    none = {1, length.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    process_log::take_instance(); // of an extent that is lost
    for (; n < 300; n++) define(n);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &length), 0);
    uint32_t last = 0;
    for (; n < 400; n++) last = define(n);
    const uint32_t unnamed = last - 200;
    thread->constructs.of(unnamed); // makes its slot
    format::RegionInstance *entry = process_log::take_instance();
    while (entry->index * sizeof *entry < format::kInstanceExtentBytes) entry = process_log::take_instance();
    entry->sequence = 77;
    recorder::stop(format::EndReason::kFinalized);

    RunFiles run;
    const Problem problem = open_run(directory_, run);
    ASSERT_FALSE(problem) << problem.text();
    ASSERT_EQ(run.definitions.size(), last + 1);
    EXPECT_EQ(run.definitions[last].name, name(n - 1));
    EXPECT_EQ(run.definitions[unnamed].name, "");
    EXPECT_EQ(run.definitions[unnamed].kind, format::DefinitionKind::kTask) << "as its slot states";
    ASSERT_LT(entry->index, run.instances.size());
    EXPECT_EQ(run.instances[entry->index]->sequence, 77u);
    EXPECT_FALSE(run.missing.empty());
}

TEST_F(Recording, special_files_are_refused_without_waiting) {
    begin("profile");
    recorder::thread(format::ThreadKind::kInitial);
    recorder::stop(format::EndReason::kFinalized);
    for (const char *name : {"/thread-00000.log", "/process.log"}) {
        std::filesystem::rename(directory_ + name, directory_ + ".kept");
        for (const char *other : {"pipe", "/dev/zero", "."}) {
            const std::string path = directory_ + name;
            if (std::string(other) == "pipe")
                ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
            else
                std::filesystem::create_symlink(other, path);
            RunFiles run;
            EXPECT_EQ(open_run(directory_, run).what, "is not a regular file") << path << " is " << other;
            std::filesystem::remove(path);
        }
        std::filesystem::rename(directory_ + ".kept", directory_ + name);
    }
}

TEST_F(Recording, accesses_near_and_far_are_read_as_they_were_declared) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    struct Access {
        bool write;
        uint64_t address, bytes;
        bool operator==(const Access &) const = default;
    };
    std::vector<Access> declared, read;
    std::mt19937_64 random(1);
    for (int i = 0; i < 50'000; i++) {
        Access next = {random() % 2 == 0, 0, 1 + (random() >> random() % 64)};
        const uint64_t last = declared.empty() ? 0 : declared.back().address;
        const uint64_t distance = random() >> random() % 64;
        next.address = random() % 2 ? last + distance : last - distance;
        thread->log.access(next.write, next.address, next.bytes);
        declared.push_back(next);
    }
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    EventDecoder decoder(run.threads[0], 0);
    for (EventRecord record; decoder.next(record);)
        if (record.kind == format::kRead || record.kind == format::kWrite)
            read.push_back({record.kind == format::kWrite, record.words[1], record.words[2]});
    EXPECT_TRUE(read == declared);
}

// Returns the end of each record in the first thread's log, which is short enough for one window.
std::vector<uint64_t> ends_of_records(const std::string &directory) {
    RunFiles run;
    EXPECT_FALSE(open_run(directory, run));
    EventDecoder decoder(run.threads[0], 0);
    std::vector<uint64_t> ends;
    for (EventRecord record; decoder.next(record);) ends.push_back(decoder.offset());
    return ends;
}

TEST_F(Recording, a_small_task_takes_16_bytes_of_a_trace_and_a_wait_8) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    uint64_t now = clock::now();
    thread->log.timed(format::kStamp, 0, now);
    const size_t n_before = ends_of_records(directory_).size();
    constexpr uint64_t kTasks = 1000;
    for (uint64_t i = 0; i < kTasks; i++) {
        thread->log.create_untimed(2);
        const uint64_t id = thread->new_id();
        thread->log.create_span(500, now += 600);
        thread->log.wait_begin(format::kTaskwait, now += 300);
        thread->log.start(2, id, 0, thread->latest_id(), now += 400);
        thread->log.complete(format::kStatusComplete, now += 50'000);
        thread->log.wait_end(format::kTaskwait, now += 300);
    }
    const std::vector<uint64_t> ends = ends_of_records(directory_);
    ASSERT_EQ(ends.size(), n_before + kTasks * 6);
    EXPECT_EQ(ends.back() - ends[n_before - 1], kTasks * 24);
}

// Records have the shortest form that holds them, and may begin in the middle of a word.
TEST_F(Recording, records_of_every_form_are_read_as_they_were_written) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    struct Record {
        format::EventKind kind;
        uint32_t argument;
        // `detail`: word 1 of a start, number of inline_ops, address, id of a creation, or begin of an off-CPU interval
        uint64_t time, detail;
        bool operator==(const Record &) const = default;
    };
    std::vector<Record> written, read;
    std::mt19937_64 random(3);
    const auto any = [&](unsigned bits) { return random() % (uint64_t{1} << bits) >> random() % bits; };
    uint64_t now = clock::now(), address = 0;
    thread->log.timed(format::kStamp, 0, now);
    const size_t n_before = ends_of_records(directory_).size();
    for (int i = 0; i < 100'000; i++) {
        const auto construct = static_cast<uint32_t>(any(format::kConstructBits));
        const uint64_t before = now, later = now + any(34);
        switch (random() % 9) {
        case 0:
            thread->log.create_untimed(construct);
            written.push_back({format::kCreate, construct, before, thread->new_id()});
            break;
        case 1: {
            const uint64_t ticks = any(25);
            thread->log.create_span(ticks, now = later);
            written.push_back({format::kCreateSpan, static_cast<uint32_t>(ticks), now, 0});
            break;
        }
        case 2: {
            const uint64_t other = (any(16) << format::kThreadShift) + any(30), back = any(8);
            const uint64_t id = random() % 2 || back >= thread->task_counter ? other : thread->latest_id() - back;
            const uint64_t moved = random() % 2 ? 0 : random() & ~format::kIdMask;
            thread->log.start(construct, id, moved, thread->latest_id(), now = later);
            written.push_back({format::kStart, construct, now, id | moved});
            break;
        }
        case 3: {
            const auto status = static_cast<uint32_t>(random() % 4 ? format::kStatusComplete : any(3));
            thread->log.complete(status, now = later);
            written.push_back({format::kComplete, status, now, 0});
            break;
        }
        case 4: {
            const auto kind = static_cast<uint32_t>(any(6));
            thread->log.wait_begin(kind, now = later);
            thread->log.wait_end(kind, now);
            written.push_back({format::kWaitBegin, kind, now, 0});
            written.push_back({format::kWaitEnd, kind, now, 0});
            break;
        }
        case 5:
            thread->log.wait_place(construct);
            written.push_back({format::kWaitPlace, construct, before, 0});
            break;
        case 6: {
            const uint64_t n_ops = 1 + random() % format::kInlineOpsPerWord;
            thread->log.untimed(format::kCpu, 1); // ends the preceding inline_ops
            for (uint64_t op = 0; op < n_ops; op++) thread->log.inline_end();
            written.push_back({format::kCpu, 1, before, 0});
            written.push_back({format::kInlineOps, 0, before, n_ops});
            break;
        }
        case 7:
            address += random() >> random() % 64;
            thread->log.access(true, address, 8);
            written.push_back({format::kWrite, 0, before, address});
            break;
        case 8: {
            const bool blocked = random() % 2, guess = random() % 2;
            const uint64_t begin = random() % 2 ? now + any(40) : now - any(40);
            thread->log.off_cpu(blocked, guess, begin, any(34) + 1);
            written.push_back({blocked ? format::kBlocked : format::kPreempted, guess, before, begin});
            break;
        }
        }
    }
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    EventDecoder decoder(run.threads[0], 0);
    EventDecoder::Bookmark place = {};
    std::vector<Record> all;
    const auto read_on = [&](EventDecoder &from, std::vector<Record> &to) {
        for (EventRecord record; from.next(record);) {
            Record found = {record.kind, record.argument, record.time, record.id};
            const bool is_off_cpu = record.kind == format::kPreempted || record.kind == format::kBlocked;
            if (record.kind == format::kStart || record.kind == format::kWrite || is_off_cpu)
                found.detail = record.words[1];
            if (record.kind == format::kWrite) found.argument = 0; // depends on the form only
            if (record.kind == format::kInlineOps) {
                found.argument = 0;
                from.unfold(record, [](uint32_t) { return false; }, [&] { return ++found.detail > 0; });
            }
            to.push_back(found);
            if (to.size() == n_before + written.size() / 2) place = from.bookmark();
        }
    };
    read_on(decoder, all);
    EXPECT_FALSE(decoder.problem()) << decoder.problem().text();
    ASSERT_EQ(all.size(), n_before + written.size());
    read.assign(all.begin() + static_cast<long>(n_before), all.end());
    for (size_t i = 0; i < read.size(); i++)
        ASSERT_EQ(read[i], written[i]) << "record " << i << " of kind " << format::kEventTraits[written[i].kind].text;
    EventDecoder later(run.threads[0], 0);
    ASSERT_TRUE(later.seek(place));
    std::vector<Record> rest;
    read_on(later, rest);
    ASSERT_EQ(rest.size(), written.size() - written.size() / 2);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), read.end() - static_cast<long>(rest.size())));
}

// Damage of every kind: a reader may refuse the files, but must not crash, hang or read outside of them.
TEST_F(Recording, damaged_files_are_refused_or_read_but_never_crash_the_reader) {
    begin("trace");
    std::atomic<uint64_t> n_tasks{0};
    run_region(11, n_tasks);
    recorder::stop(format::EndReason::kFinalized);
    const std::string copy = directory_ + ".damaged";
    std::mt19937 random(42);
    for (int round = 0; round < 300; round++) {
        std::filesystem::remove_all(copy);
        std::filesystem::copy(directory_, copy);
        const char *const names[] = {"/process.log", "/thread-00000.log", "/thread-00001.log"};
        const std::string path = copy + names[random() % 3];
        const auto size = std::filesystem::file_size(path);
        if (round % 3 == 0) {
            std::filesystem::resize_file(path, random() % (size + 1));
        } else {
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            const int n = 1 + static_cast<int>(random() % 8);
            for (int i = 0; i < n; i++) {
                file.seekp(static_cast<std::streamoff>(random() % (round % 2 ? size : std::min<uint64_t>(size, 8192))));
                file.put(static_cast<char>(random()));
            }
        }
        (void)validate_run(copy);
        RunFiles run;
        if (open_run(copy, run)) continue;
        std::vector<ThreadAccount> accounts = read_accounts(run);
        (void)make_profile(run, accounts, false);
        if (!replay_trace(run, accounts)) (void)make_profile(run, accounts, true);
        open_pyramid(copy);
        (void)read_rows(run, static_cast<size_t>(round) % trace_tables().size(), {0, 1}, 100, [](RowBatch &) {});
        SliceColumns slices;
        bool too_many = false;
        (void)read_slices(run, {}, slices, too_many);
    }
    std::filesystem::remove_all(copy);
}

// A reader takes the time of an untimed creation from the timed record before it, which may be another creation.
TEST_F(Recording, an_untimed_creation_has_the_time_of_the_timed_one_before) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    TaskState *creator = create(*thread, 0x2000);
    start_task(*thread, creator, clock::now());
    creator->local->is_coarse = true;
    thread->creation.inline_period = 2; // the next creation reads the clock
    const uint64_t before = clock::now();
    while (clock::now() < before + 1000) {}
    const TaskState *timed = create(*thread, 0x2100);
    EXPECT_GT(timed->ready, before);
    const TaskState *untimed = create(*thread, 0x2100);
    EXPECT_EQ(untimed->ready, timed->ready);
}

// Each creation in a taskloop has a time of its own, unless the creator's construct is coarse. In a coarse construct, a
// reader takes the wrapper's begin from its create_span. The tool must use the same begin for the task's ready time.
TEST_F(Recording, a_wrapped_creation_has_its_own_time_or_the_wrappers) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    TaskState *creator = create(*thread, 0x2000);
    start_task(*thread, creator, clock::now());
    for (const bool coarse : {true, false}) {
        creator->local->is_coarse = coarse;
        thread->wrapper.loop_task = creator;
        const uint64_t before = clock::now();
        while (clock::now() < before + 1000) {}
        begin_creation(*thread);
        ASSERT_GT(thread->creation.begin, thread->header->mark);
        while (clock::now() == thread->creation.begin) {} // the clock of some processors has long ticks
        for (int i = 0; i < 3; i++) {
            const TaskState *task = create(*thread, 0x2100);
            if (coarse)
                EXPECT_EQ(task->ready, thread->creation.begin);
            else
                EXPECT_GT(task->ready, thread->creation.begin);
        }
        end_creation(*thread);
        thread->wrapper.loop_task = nullptr;
    }
}

// During a pause, the clock stands still, so tasks and creations seem to take no time.
TEST_F(Recording, tasks_in_a_pause_do_not_seem_short_afterwards) {
    begin("profile");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    recorder::pause();
    for (int i = 0; i < 100; i++) {
        TaskState *task = create(*thread, 0x2000);
        create(*thread, 0x2000);
        start_task(*thread, task, clock::now());
        complete_task(*thread, task, nullptr, format::kStatusComplete);
    }
    EXPECT_FALSE(thread->constructs.at(address(0x2000), 0)->is_coarse);
    create(*thread, 0x2000);
    recorder::resume();
    create(*thread, 0x2000);
    EXPECT_EQ(process_log::header()->min_create_gap, ~uint64_t{0});
    create(*thread, 0x2000);
    EXPECT_LT(process_log::header()->min_create_gap, ~uint64_t{0});
}

TEST_F(Recording, a_phase_that_begins_in_a_pause_is_recorded_from_its_end_on) {
    begin("trace");
    recorder::thread(format::ThreadKind::kInitial);
    const ompass_api &marks = *ompass_get_api(1);
    marks.phase("before");
    recorder::pause();
    marks.phase("hidden");
    marks.phase("after");
    recorder::resume();
    recorder::pause();
    marks.phase("hidden");
    marks.phase("after"); // no change
    recorder::resume();
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
    RunFiles run;
    ASSERT_FALSE(open_run(directory_, run));
    std::vector<ThreadAccount> accounts = read_accounts(run), replayed;
    ASSERT_FALSE(replay_trace(run, replayed));
    for (uint32_t id = 0; id < run.definitions.size(); id++) {
        if (run.definitions[id].kind != format::DefinitionKind::kPhase) continue;
        const bool is_hidden = run.definitions[id].name == "hidden";
        EXPECT_EQ(accounts[0].construct(id).n_completed, !is_hidden) << run.definitions[id].name;
        EXPECT_EQ(accounts[0].construct(id).own_ticks > 0, !is_hidden) << run.definitions[id].name;
        EXPECT_EQ(replayed[0].construct(id).n_completed, !is_hidden) << run.definitions[id].name;
    }
}

void sleep_ms(long n) {
    const timespec time = {0, n * 1'000'000};
    nanosleep(&time, nullptr);
}

// Returns the off-CPU nanoseconds that are charged to the work of `slot`, or to no state.
uint64_t off_cpu_ns(const format::RegionSlot &slot) {
    const format::OffCpuTicks &work = slot.off_cpu[static_cast<size_t>(State::kWork)], &any = slot.off_cpu_anywhere;
    return clock::to_ns(work.preempted + work.blocked + any.preempted + any.blocked);
}

TEST_F(Recording, off_cpu_time_of_a_pause_does_not_count_after_it) {
    begin("profile");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    pause_watch(*thread);
    if (!thread->off_cpu.by_clock()) GTEST_SKIP() << "the kernel refuses records of switches";
    const format::RegionSlot &slot = *thread->region->slot;
    recorder::pause();
    sleep_ms(40);
    const uint64_t begin = clock::monotonic_ns(), begin_cpu = clock::read_ns(CLOCK_THREAD_CPUTIME_ID);
    recorder::resume();
    while (clock::monotonic_ns() - begin < 60'000'000) {}
    begin_region(*thread, address(0x1000));
    const uint64_t elapsed = clock::monotonic_ns() - begin;
    const uint64_t preempted = elapsed - (clock::read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu);
    EXPECT_LT(off_cpu_ns(slot), preempted + 20'000'000);
}

TEST_F(Recording, processor_time_in_a_pause_does_not_hide_off_cpu_time_after_it) {
    begin("profile");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    thread->off_cpu.close();
    thread->ring = thread->off_cpu.page();
    thread->clocks.begin(static_cast<uint32_t>(gettid()), clock::now()); // as if the kernel refused records of switches
    const format::RegionSlot &slot = *thread->region->slot;
    recorder::pause();
    const uint64_t begin_cpu = clock::read_ns(CLOCK_THREAD_CPUTIME_ID);
    while (clock::read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu < 20'000'000) {}
    recorder::resume();
    sleep_ms(10);
    begin_region(*thread, address(0x1000));
    EXPECT_GT(off_cpu_ns(slot), 8'000'000u);
}

// The call that allocates a task and the call that enqueues it both report the begin of its creation.
TEST_F(Recording, a_sampled_creation_is_counted_once_and_timed_from_its_allocation) {
    begin("profile");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    constexpr uint32_t kPeriod = 4;
    TaskConstruct *construct = thread->constructs.at(address(0x2000), 0);
    thread->creation.inline_period = construct->period = kPeriod;
    thread->creation.countdown = 1;
    uint32_t n_timed = 0;
    for (uint32_t i = 0; i < 3 * kPeriod; i++) {
        begin_creation(*thread);
        const bool timed = thread->current->creating;
        n_timed += timed;
        EXPECT_EQ(timed, i % kPeriod == 0);
        begin_creation(*thread);
        EXPECT_EQ(thread->current->creating, timed);
        TaskState *task = thread->pool.take();
        task->local = construct;
        task->flags = kInline;
        begin_inline(*thread, task);
        end_inline(*thread, task);
        end_creation(*thread);
        construct->period = kPeriod;
    }
    EXPECT_EQ(n_timed, 3u);
}

TEST_F(Recording, loops_nested_to_any_depth_are_counted) {
    begin("trace");
    ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
    constexpr unsigned kDepth = 100;
    for (unsigned i = 0; i < kDepth; i++) begin_loop(*thread, format::kWorkTaskloop, 10, address(0x2000));
    for (unsigned i = 0; i < kDepth; i++) end_loop(*thread, format::kWorkTaskloop);
    EXPECT_EQ(thread->loops.depth, 0u);
    EXPECT_EQ(thread->places.loop(address(0x2000), format::kWorkTaskloop).n_entered, kDepth);
    recorder::stop(format::EndReason::kFinalized);
    EXPECT_EQ(validate_run(directory_), std::vector<std::string>{});
}

TEST_F(Recording, unaccounted_time_is_detected) {
    prepare("profile");
    const auto lose_time = [] {
        recorder::start("test");
        ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
        begin_region(*thread, address(0x1000));
        thread->header->mark += 5;
        end_region(*thread);
    };
    OMPASS_EXPECT_NOTICED(lose_time(), "accounted");
}

TEST_F(Recording, time_that_runs_backwards_is_detected) {
    prepare("trace");
    const auto go_back = [] {
        recorder::start("test");
        ThreadState *thread = recorder::thread(format::ThreadKind::kInitial);
        const uint64_t now = clock::now();
        thread->log.timed(format::kStamp, 0, now);
        thread->log.timed(format::kStamp, 0, now - (uint64_t{1} << 30));
    };
    OMPASS_EXPECT_NOTICED(go_back(), "base_ - now");
}

} // namespace
} // namespace ompass
