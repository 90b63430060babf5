// SPDX-License-Identifier: Apache-2.0
// The code that the task versions of the sparse factorization share: everything but the creation of the tasks.
// Verified against the factors of the serial version, which runs once, after the first run.
#pragma once

#include <optional>

#include "harness.hpp"
#include "sparselu_input.hpp"
#include "sparselu_tasks.hpp"

namespace bots {

class SparseLuTasks : public Workload {
public:
    explicit SparseLuTasks(const Options &options) : options_(options), matrix_(make_sparselu_matrix(options)) {}
    void prepare() override { matrix_.fill(); }
    std::string check() override {
        std::string complaint = matrix_.check_factors();
        if (!complaint.empty()) return complaint;
        if (!expected_) expected_ = serial_fingerprint();
        return matrix_.fingerprint() == *expected_ ? "" : "the factors differ in bits from the serial run's factors";
    }
    std::optional<std::uint64_t> n_tasks() override { return count_sparselu_tasks(matrix_, grain(), options_.cutoff); }
    std::optional<double> n_units() override { return n_operations(matrix_); }
    std::string describe_result() const override { return matrix_.describe(); }

protected:
    std::size_t grain() const { return static_cast<std::size_t>(options_.cuts[0]); }
    const Options &options() const { return options_; }
    BlockSparseMatrix *matrix() { return &matrix_; }

private:
    std::uint64_t serial_fingerprint() const {
        BlockSparseMatrix reference = make_sparselu_matrix(options_);
        reference.fill();
        factor_serial(reference, 0);
        return reference.fingerprint();
    }

    Options options_;
    BlockSparseMatrix matrix_;
    std::optional<std::uint64_t> expected_;
};

} // namespace bots
