// SPDX-License-Identifier: Apache-2.0
/*
 * Deferred tasks that own copies of objects with constructors and destructors, which the runtime destroys after the
 * body. objects_undeferred.cpp tests undeferred tasks.
 */
#include <string>

#include "../facts.h"

namespace {

long n_alive;

struct Counted {
    std::string text;
    explicit Counted(std::string value) : text(std::move(value)) { add_long(&n_alive, 1); }
    Counted(const Counted &other) : text(other.text) { add_long(&n_alive, 1); }
    Counted &operator=(const Counted &) = default;
    ~Counted() { add_long(&n_alive, -1); }
};

} // namespace

int main() {
    long n_characters = 0;
#pragma omp parallel shared(n_characters)
#pragma omp single
    {
        count_region();
        Counted original("a text that is too long to be kept inside of the string object");
        for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(original) shared(n_characters)
            {
                add_long(&n_characters, static_cast<long>(original.text.size()));
                count_task();
            }
        }
#pragma omp taskwait
    }
    REQUIRE(load_long(&n_alive) == 0);
    REQUIRE(n_characters == 100 * 62);
    REQUIRE(n_tasks_run == 100);
    printf("characters %ld\n", n_characters);
    print_facts();
    return 0;
}
