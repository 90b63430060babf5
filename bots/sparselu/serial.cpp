// SPDX-License-Identifier: Apache-2.0
// Driver: sparse LU factorization, serial.
#include "harness.hpp"
#include "inputs.hpp"
#include "sparselu.hpp"
#include "sparselu_input.hpp"

namespace {

class SparseLuSerial : public bots::Workload {
public:
    explicit SparseLuSerial(const bots::Options &options) : matrix_(bots::make_sparselu_matrix(options)) {}
    void prepare() override { matrix_.fill(); }
    void run() override { bots::factor_serial(matrix_, 0); }
    std::string check() override { return matrix_.check_factors(); }
    std::optional<double> n_units() override { return bots::n_operations(matrix_); }
    std::string describe_result() const override { return matrix_.describe(); }

private:
    bots::BlockSparseMatrix matrix_;
};

} // namespace

int main(int argc, char **argv) { return bots::serial_main<SparseLuSerial>(argc, argv, bots::kSparseLu); }
