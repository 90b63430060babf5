// SPDX-License-Identifier: Apache-2.0
#include "messages.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <pthread.h>
#include <string_view>

#include "process/loaded_code.h"

namespace ompass::mpi {

namespace {

using format::MessageRole;
using Handle = uint64_t; // a pointer in OpenMPI, a number in MPICH

// ---------------------------------------------------------------- arguments of each function

constexpr int8_t kNo = -1;

// Positions of the arguments that describe a message.
struct Part {
    MessageRole role;
    int8_t count = kNo, type = kNo, peer = kNo, tag = kNo, comm = kNo;
};
struct Shape {
    const char *name; // without MPI_ and, for nonblocking collectives, without the I
    Part part;
    int8_t request = kNo; // position of the new request; a collective has one only in its nonblocking form
    Part second = {MessageRole::kNone};
    int8_t awaited = kNo,
           n_awaited = kNo; // positions of the requests that the call completes, and of their number (kNo: one)
};

constexpr Part message(MessageRole role) { return {role, 1, 2, 3, 4, 5}; }
constexpr Part collective(int8_t comm, int8_t count = kNo, int8_t type = kNo, int8_t root = kNo) {
    return {MessageRole::kCollective, count, type, root, kNo, comm};
}
constexpr Part kSend = message(MessageRole::kSend), kSynchronous = message(MessageRole::kSynchronousSend),
               kReceive = message(MessageRole::kReceive);

// A collective's size is read only if its count and type are significant on all ranks.
constexpr Shape kShapes[] = {
    {"Send", kSend},
    {"Bsend", kSend},
    {"Rsend", kSend},
    {"Ssend", kSynchronous},
    {"Recv", kReceive},
    {"Isend", kSend, 6},
    {"Ibsend", kSend, 6},
    {"Irsend", kSend, 6},
    {"Issend", kSynchronous, 6},
    {"Irecv", kReceive, 6},
    {"Sendrecv", {MessageRole::kSend, 1, 2, 3, 4, 10}, kNo, {MessageRole::kReceive, 6, 7, 8, 9, 10}},
    {"Sendrecv_replace", {MessageRole::kSend, 1, 2, 3, 4, 7}, kNo, {MessageRole::kReceive, 1, 2, 5, 6, 7}},
    {"Wait", {MessageRole::kNone}, kNo, {MessageRole::kNone}, 0},
    {"Waitall", {MessageRole::kNone}, kNo, {MessageRole::kNone}, 1, 0},
    {"Barrier", collective(0), 1},
    {"Bcast", collective(4, 1, 2, 3), 5},
    {"Reduce", collective(6, 2, 3, 5), 7},
    {"Allreduce", collective(5, 2, 3), 6},
    {"Scan", collective(5, 2, 3), 6},
    {"Exscan", collective(5, 2, 3), 6},
    {"Reduce_scatter", collective(5), 6},
    {"Reduce_scatter_block", collective(5, 2, 3), 6},
    {"Gather", collective(7, kNo, kNo, 6), 8},
    {"Gatherv", collective(8, kNo, kNo, 7), 9},
    {"Scatter", collective(7, kNo, kNo, 6), 8},
    {"Scatterv", collective(8, kNo, kNo, 7), 9},
    {"Allgather", collective(6, 4, 5), 7},
    {"Allgatherv", collective(7), 8},
    {"Alltoall", collective(6, 4, 5), 7},
    {"Alltoallv", collective(8), 9},
    {"Alltoallw", collective(8), 9},
    {"Comm_dup", collective(0)},
    {"Comm_dup_with_info", collective(0)},
    {"Comm_create", collective(0)},
    {"Comm_split", collective(0)},
    {"Comm_split_type", collective(0)},
    {"Cart_create", collective(0)},
    {"Cart_sub", collective(0)},
    {"Graph_create", collective(0)},
    {"Dist_graph_create", collective(0)},
    {"Dist_graph_create_adjacent", collective(0)},
};

constexpr const char *kNames[] = {
#define X(name, kind) #name,
#include "functions.def"
#undef X
};

struct Known {
    const Shape *shape = nullptr;
    bool is_nonblocking = false;
    bool has_large_counts = false; // MPI_Count
    bool has_further_steps() const {
        return shape && (is_nonblocking || shape->awaited != kNo || shape->second.role != MessageRole::kNone);
    }
};
constexpr Known shape_of(std::string_view name) {
    Known known;
    if (name.ends_with("_c")) known.has_large_counts = true, name.remove_suffix(2);
    for (const Shape &shape : kShapes) {
        const std::string_view plain = shape.name;
        const bool is_collective = shape.part.role == MessageRole::kCollective;
        known.is_nonblocking = !is_collective && shape.request != kNo;
        known.shape = &shape;
        if (name == plain) return known;
        known.is_nonblocking = true;
        if (is_collective && shape.request != kNo && name.size() == plain.size() + 1 && name[0] == 'I' &&
            (name[1] | ' ') == (plain[0] | ' ') && name.substr(2) == plain.substr(1))
            return known;
    }
    return {nullptr, false, false};
}
constexpr auto kKnown = [] {
    std::array<Known, std::size(kNames)> known{};
    for (size_t i = 0; i < known.size(); i++) known[i] = shape_of(kNames[i]);
    return known;
}();

// ---------------------------------------------------------------- MPI's functions

struct Library {
    int (*type_size)(Handle, int *);
    int (*comm_size)(Handle, int *);
    int (*comm_rank)(Handle, int *);
    int (*comm_group)(Handle, Handle *);
    int (*comm_test_inter)(Handle, int *);
    int (*group_free)(Handle *);
    int (*translate)(Handle, int, const int *, Handle, int *);
    Handle (*comm_of)(int); // converts Fortran's handles; null: they equal C's
    Handle (*type_of)(int);
    Handle world;
    int any_source, no_peer; // MPI_ANY_SOURCE, MPI_PROC_NULL
    bool has_pointers; // handles are pointers
    bool is_complete;
};
template <typename F>
bool find(F &function, const char *name) {
    function = reinterpret_cast<F>(find_exported(name));
    return function != nullptr;
}

Library look_up() {
    Library found{};
    found.is_complete = find(found.type_size, "PMPI_Type_size") && find(found.comm_size, "PMPI_Comm_size") &&
                        find(found.comm_rank, "PMPI_Comm_rank") && find(found.comm_group, "PMPI_Comm_group") &&
                        find(found.comm_test_inter, "PMPI_Comm_test_inter") &&
                        find(found.group_free, "PMPI_Group_free") &&
                        find(found.translate, "PMPI_Group_translate_ranks");
    found.has_pointers = find_exported("OMPI_C_MPI_COMM_DUP_FN") != nullptr;
    if (found.has_pointers) { // OpenMPI
        found.is_complete =
            found.is_complete && find(found.comm_of, "PMPI_Comm_f2c") && find(found.type_of, "PMPI_Type_f2c");
        found.world = found.is_complete ? found.comm_of(0) : 0; // the number of MPI_COMM_WORLD in mpif.h
        found.any_source = -1, found.no_peer = -2;
    } else { // MPICH's binary interface
        found.world = 0x44000000;
        found.any_source = -2, found.no_peer = -1;
    }
    return found;
}

const Library &library() {
    static const Library found = look_up();
    return found;
}

// ---------------------------------------------------------------- handles

// A handle as the program passes it: a C handle, or a Fortran number where these differ.
using Key = uint64_t;
constexpr Key kOfFortran = uint64_t{1} << 63; // no pointer has this bit
constexpr Key kNoKey = ~uint64_t{0};

Key key_of_number(int number, bool has_pointers) {
    return static_cast<uint32_t>(number) | (has_pointers ? kOfFortran : 0);
}
Handle handle_of(Key key, Handle (*convert)(int)) {
    return convert && key & kOfFortran ? convert(static_cast<int>(static_cast<uint32_t>(key))) : key;
}

// ---------------------------------------------------------------- communicators

struct Communicator {
    Key key;
    uint32_t generation; // of communicator_generation
    uint32_t id; // hash of its members, the same on all of them; 0: unknown
    int size;
    int *members; // ranks in MPI_COMM_WORLD
};

// Each counter rises when a handle of its kind is freed, because MPI may reuse the handle for another object. Threads
// then look up handles of this kind again.
std::atomic<uint32_t> communicator_generation{1}, type_generation{1};
pthread_mutex_t communicators_lock = PTHREAD_MUTEX_INITIALIZER;
Communicator communicators[64]; // a new one replaces the oldest; kNoKey: freed
unsigned n_communicators;

// Fills the table of members. Returns false if MPI refuses.
bool list_members(Handle handle, int size, int *members) {
    const Library &mpi = library();
    Handle own = 0, world = 0;
    auto *ranks = static_cast<int *>(malloc(static_cast<size_t>(size) * sizeof(int)));
    if (!ranks) return false;
    for (int i = 0; i < size; i++) ranks[i] = i;
    const bool has_groups = mpi.comm_group(handle, &own) == 0 && mpi.comm_group(mpi.world, &world) == 0;
    const bool is_known = has_groups && mpi.translate(own, size, ranks, world, members) == 0;
    if (own) mpi.group_free(&own);
    if (world) mpi.group_free(&world);
    free(ranks);
    return is_known;
}

// Replaces the new table of members by an equal one, if there is one, and frees the new table. Other tables are never
// freed, because other threads may use them.
void share_members(Communicator &comm) {
    for (const Communicator &other : communicators) {
        const size_t bytes = static_cast<size_t>(comm.size) * sizeof(int);
        if (other.id != comm.id || other.size != comm.size || memcmp(other.members, comm.members, bytes) != 0) continue;
        free(comm.members);
        comm.members = other.members;
        return;
    }
}

Communicator described(Key key) {
    const Library &mpi = library();
    Communicator comm{key, 0, 0, 0, nullptr};
    if (!mpi.is_complete) return comm;
    const Handle handle = handle_of(key, mpi.comm_of);
    int is_inter = 1;
    if (mpi.comm_test_inter(handle, &is_inter) != 0 || is_inter || mpi.comm_size(handle, &comm.size) != 0) return comm;
    comm.members = static_cast<int *>(malloc(static_cast<size_t>(comm.size) * sizeof(int)));
    if (!comm.members || !list_members(handle, comm.size, comm.members)) {
        free(comm.members);
        comm.members = nullptr;
        return comm;
    }
    uint32_t hash = 2166136261u; // FNV-1a
    for (int i = 0; i < comm.size; i++) hash = (hash ^ static_cast<uint32_t>(comm.members[i])) * 16777619u;
    hash = (hash ^ hash >> format::kCommunicatorBits) & ((1u << format::kCommunicatorBits) - 1);
    comm.id = hash ? hash : 1;
    share_members(comm);
    return comm;
}

// Finds a communicator in the table of the process, or adds it.
[[gnu::noinline]] Communicator find_communicator(Key key, uint32_t now) {
    pthread_mutex_lock(&communicators_lock);
    const Communicator *found = nullptr;
    for (const Communicator &comm : communicators)
        if (comm.key == key) found = &comm;
    if (!found) {
        Communicator &place = communicators[n_communicators++ % std::size(communicators)];
        place = described(key);
        found = &place;
    }
    Communicator result = *found;
    result.generation = now;
    pthread_mutex_unlock(&communicators_lock);
    return result;
}

void forget_communicator(Key key) {
    pthread_mutex_lock(&communicators_lock);
    for (Communicator &comm : communicators)
        if (comm.key == key) comm.key = kNoKey;
    pthread_mutex_unlock(&communicators_lock);
    communicator_generation.fetch_add(1, std::memory_order_acq_rel);
}

const Communicator &communicator(Key key) {
    static thread_local Communicator latest[4];
    const uint32_t now = communicator_generation.load(std::memory_order_acquire);
    Communicator &place = latest[(key >> 6 ^ key) % std::size(latest)];
    if (__builtin_expect(place.key != key || place.generation != now, 0)) place = find_communicator(key, now);
    return place;
}

// ---------------------------------------------------------------- types

struct Type {
    Key key;
    uint32_t generation; // of type_generation
    uint32_t bytes; // 0: unknown
};

[[gnu::noinline]] Type find_type(Key key, uint32_t now) {
    const Library &mpi = library();
    int bytes = 0;
    const bool is_known = mpi.type_size(handle_of(key, mpi.type_of), &bytes) == 0 && bytes > 0;
    return {key, now, is_known ? static_cast<uint32_t>(bytes) : 0};
}

uint64_t bytes_of_type(Key key) {
    static thread_local Type latest[8];
    const uint32_t now = type_generation.load(std::memory_order_acquire);
    Type &place = latest[(key >> 8 ^ key >> 4 ^ key) % std::size(latest)];
    if (__builtin_expect(place.key != key || place.generation != now, 0)) place = find_type(key, now);
    return place.bytes;
}

// ---------------------------------------------------------------- reading

// True for a name that Fortran compilers use, such as mpi_send_ or MPI_SEND.
bool is_fortran_name(const char *name) {
    if (*name == 'P' || *name == 'p') name++;
    return name[0] == 'm' || (name[5] >= 'A' && name[5] <= 'Z');
}

// Reads the arguments of one call.
class Reader {
public:
    Reader(const Arguments &arguments, bool has_pointers)
        : arguments_(arguments), is_fortran_(is_fortran_name(arguments.name)), has_pointers_(has_pointers) {}

    uint64_t raw(int position) const {
        constexpr int kRegisters =
#if defined(__aarch64__)
            8;
#else
            6;
#endif
        return position < kRegisters ? arguments_.registers[position] : arguments_.stack[position - kRegisters];
    }
    int integer(int position) const {
        const uint64_t value = raw(position);
        return __builtin_expect(is_fortran_, 0) ? *reinterpret_cast<const int *>(value) : static_cast<int>(value);
    }
    uint64_t count(int position, bool is_large) const {
        if (is_large && !is_fortran_) return raw(position);
        const int value = integer(position);
        return value > 0 ? static_cast<uint64_t>(value) : 0;
    }
    Key key(int position) const {
        if (__builtin_expect(is_fortran_, 0)) return key_of_number(integer(position), has_pointers_);
        const uint64_t value = raw(position);
        return has_pointers_ ? value : static_cast<uint32_t>(value);
    }
    bool has_wide_handles() const { return has_pointers_ && !is_fortran_; }
    int n_awaited(const Shape &shape) const {
        return shape.awaited == kNo ? 0 : shape.n_awaited == kNo ? 1 : integer(shape.n_awaited);
    }

private:
    const Arguments &arguments_;
    const bool is_fortran_; // all arguments are addresses, and handles are INTEGER
    const bool has_pointers_; // handles are pointers
};

uint64_t handle_at(const void *address, bool is_wide, size_t index = 0) {
    if (is_wide) return static_cast<const uint64_t *>(address)[index];
    return static_cast<const uint32_t *>(address)[index];
}

thread_local struct {
    const void *address; // of the request that the open call creates; null: none
    bool is_wide;
} new_request;

// Fills `message`. Returns false if the communicator is not known.
bool describe(const Part &part, const Known &known, const Reader &read, const Library &mpi, format::Message &message) {
    const Communicator &comm = communicator(read.key(part.comm));
    if (__builtin_expect(!comm.id, 0)) return false;
    if (part.peer != kNo) {
        const int rank = read.integer(part.peer);
        if (static_cast<unsigned>(rank) < static_cast<unsigned>(comm.size))
            message.peer = format::peer_of_rank(static_cast<uint32_t>(comm.members[rank]));
        else if (rank == mpi.no_peer)
            return true; // no message
        else if (rank == mpi.any_source)
            message.peer = format::kAnyPeer;
    }
    message.role = part.role;
    message.communicator = comm.id;
    if (part.count != kNo) message.bytes = read.count(part.count, known.has_large_counts);
    if (message.bytes) message.bytes *= bytes_of_type(read.key(part.type));
    message.tag = part.tag == kNo ? static_cast<uint32_t>(comm.size) : format::tag_of(read.integer(part.tag));
    return true;
}

} // namespace

CallWords words_of_call(const Function &function, const Arguments &arguments) {
    const Known &known = kKnown[function.number];
    new_request.address = nullptr;
    constexpr CallWords kPlain = {format::kEnterCall, format::kLeaveCall};
    if (!known.shape) return kPlain;
    const Library &mpi = library();
    if (!mpi.is_complete) return kPlain;
    const Reader read(arguments, mpi.has_pointers);
    format::Message message;
    const bool is_known = known.shape->part.role == MessageRole::kNone
                              ? read.n_awaited(*known.shape) <= 0 // waits for nothing
                              : describe(known.shape->part, known, read, mpi, message);
    if (!is_known) return kPlain;
    return {format::pack_message(message, format::kEnterCall), format::pack_size(message, format::kLeaveCall)};
}

void report_further_steps(const Function &function, const Arguments &arguments, const Hooks &hooks) {
    const Known &known = kKnown[function.number];
    if (!known.has_further_steps()) return;
    const Library &mpi = library();
    if (!mpi.is_complete) return;
    const Reader read(arguments, mpi.has_pointers);
    const Shape &shape = *known.shape;
    format::Message second;
    if (shape.second.role != MessageRole::kNone && describe(shape.second, known, read, mpi, second)) {
        hooks.step(format::pack_size(second));
        hooks.step(format::pack_message(second));
    }
    if (known.is_nonblocking)
        new_request = {reinterpret_cast<const void *>(read.raw(shape.request)), read.has_wide_handles()};
    const int n_awaited = read.n_awaited(shape);
    const auto *requests = n_awaited > 0 ? reinterpret_cast<const void *>(read.raw(shape.awaited)) : nullptr;
    for (int i = 0; i < n_awaited; i++)
        hooks.step(format::pack_call_step(format::kAwaitedStep,
                                          handle_at(requests, read.has_wide_handles(), static_cast<size_t>(i))));
}

void report_new_request(const Hooks &hooks) {
    if (__builtin_expect(!new_request.address, 1)) return;
    hooks.step(format::pack_call_step(format::kRequestStep, handle_at(new_request.address, new_request.is_wide)));
    new_request.address = nullptr;
}

void forget_handle(Freed freed, const Arguments &arguments) {
    if (freed == Freed::kType) type_generation.fetch_add(1, std::memory_order_acq_rel);
    if (freed != Freed::kCommunicator) return;
    const bool has_pointers = library().has_pointers;
    const auto *handle = reinterpret_cast<const void *>(arguments.registers[0]);
    forget_communicator(is_fortran_name(arguments.name) ? key_of_number(*static_cast<const int *>(handle), has_pointers)
                                                        : handle_at(handle, has_pointers));
}

} // namespace ompass::mpi
