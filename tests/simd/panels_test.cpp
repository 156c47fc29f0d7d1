// Products with a factor that is packed once, of every instruction set that this processor has.

#include <doctest/doctest.h>

#include <cmath>
#include <new>
#include <random>
#include <vector>

#include "attn/simd/kernels.hpp"

using namespace attn;

namespace {

constexpr int untouched = 1000;

/// Numbers aligned as panels must be.
template <class Real>
class Aligned {
public:
    explicit Aligned(std::size_t count)
        : numbers_(static_cast<Real*>(::operator new(count * sizeof(Real), alignment))) {}
    ~Aligned() { ::operator delete(numbers_, alignment); }
    Aligned(const Aligned&) = delete;
    Aligned& operator=(const Aligned&) = delete;
    Real* data() { return numbers_; }

private:
    static constexpr std::align_val_t alignment{64};
    Real* numbers_;
};

template <class Real>
std::vector<Real> whole_numbers(std::size_t count, std::mt19937& random) {
    std::vector<Real> numbers(count);
    for (Real& number : numbers) number = static_cast<Real>(static_cast<int>(random() % 9) - 4);
    return numbers;
}

/// One product of small whole numbers, whose sums are exact in any order: (count, steps) times the
/// first `used_steps` rows and `used` columns of (steps, columns).
template <class Real>
void check_product(const PanelOperations<Real>& panels, std::size_t count, std::size_t steps,
                   std::size_t columns, std::size_t used_steps, std::size_t used, bool transposed,
                   std::mt19937& random) {
    const std::size_t row_stride = steps + 3;
    const std::size_t result_stride = columns + 5;
    const std::vector<Real> rows = whole_numbers<Real>(count * row_stride, random);
    const std::vector<Real> matrix = whole_numbers<Real>(steps * columns, random);
    Aligned<Real> numbers(panels.size(steps, columns));
    panels.pack(matrix.data(), steps, columns, transposed, numbers.data());
    std::vector<Real> result(count * result_stride, Real(untouched));
    panels.multiply(rows.data(), row_stride, count, {numbers.data(), steps, columns}, used_steps,
                    used, result.data(), result_stride);
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t c = 0; c < result_stride; ++c) {
            Real sum = c < used ? Real(0) : Real(untouched);
            for (std::size_t k = 0; c < used && k < used_steps; ++k) {
                sum +=
                    rows[r * row_stride + k] * matrix[transposed ? c * steps + k : k * columns + c];
            }
            REQUIRE_MESSAGE(result[r * result_stride + c] == sum,
                            "row " << r << ", column " << c << " of " << count << " x " << used
                                   << ", " << used_steps << " steps");
        }
    }
}

template <class Real>
void check_shapes(InstructionSet instruction_set) {
    const PanelOperations<Real> panels = simd::kernels_for(instruction_set).of<Real>().panels;
    std::mt19937 random(7);
    for (const std::size_t count : {1, 2, 7, 24}) {
        for (const std::size_t steps : {1, 3, 64, 191, 193, 400}) {
            for (const std::size_t columns : {1, 15, 16, 17, 48, 49, 64, 130}) {
                const bool transposed = random() % 2 == 0;
                check_product(panels, count, steps, columns, steps, columns, transposed, random);
                check_product(panels, count, steps, columns, 1 + random() % steps,
                              1 + random() % columns, transposed, random);
            }
        }
    }
}

/// The largest error of sums over `steps` products, in units of the rounding of their size.
double units_off(InstructionSet instruction_set, std::size_t steps) {
    const PanelOperations<float> panels = simd::kernels_for(instruction_set).of<float>().panels;
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(0.5F, 1.0F);
    std::vector<float> row(steps), column(steps);
    for (std::size_t k = 0; k < steps; ++k) row[k] = uniform(random), column[k] = uniform(random);
    double exact = 0;
    for (std::size_t k = 0; k < steps; ++k) exact += static_cast<double>(row[k]) * column[k];
    Aligned<float> numbers(panels.size(steps, 1));
    panels.pack(column.data(), steps, 1, false, numbers.data());
    float sum = 0;
    panels.multiply(row.data(), steps, 1, {numbers.data(), steps, 1}, steps, 1, &sum, 1);
    return std::abs(sum - exact) / (exact * 0x1p-24);
}

}  // namespace

TEST_SUITE("panels") {
    TEST_CASE("products of any shape are exact where the numbers are whole") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            INFO(instruction_set_name(instruction_set));
            check_shapes<float>(instruction_set);
            check_shapes<double>(instruction_set);
        }
    }

    TEST_CASE("no steps give sums of 0") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            const PanelOperations<float> panels =
                simd::kernels_for(instruction_set).of<float>().panels;
            std::vector<float> result(3, float(untouched));
            panels.multiply(nullptr, 0, 1, {nullptr, 0, 3}, 0, 3, result.data(), 3);
            CHECK(result == std::vector<float>(3, 0.0F));
        }
    }

    // One chain of 20,000 additions of positive numbers would be off by hundreds of units.
    TEST_CASE("long sums are sums of shorter ones") {
        for (const InstructionSet instruction_set : available_instruction_sets()) {
            INFO(instruction_set_name(instruction_set));
            CHECK(units_off(instruction_set, 20'000) < 60);
        }
    }
}
