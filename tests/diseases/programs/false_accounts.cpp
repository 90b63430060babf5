// SPDX-License-Identifier: Apache-2.0
// Transfers between accounts, as tasks that depend on the bank. Cured: on the two accounts.
#include "disease.h"

#include <vector>

struct Account {
    double balance = 100.0;
};

struct Bank {
    std::vector<Account> accounts{64};
};

int main() {
    Bank bank;
    calibrate();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 800; i++) {
        Account *const from = &bank.accounts[i * 7 % 64], *const to = &bank.accounts[i * 13 % 64 ^ 1];
#ifdef CURED
#pragma omp task depend(inout : *from, *to)
#else
#pragma omp task depend(inout : bank) // DISEASE
#endif
        {
            compute_us(700);
            from->balance -= 1.0;
            to->balance += 1.0;
        }
    }
    return bank.accounts[0].balance == 12345.0;
}
