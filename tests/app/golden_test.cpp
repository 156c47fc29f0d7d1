// Whole outputs of the walk; tests/support/golden.hpp explains how to renew them.
#include "tests/support/golden.hpp"

namespace {

void check_golden(const std::string& name, const std::string& arguments) {
    const program::Result result = program::run(arguments);
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    golden::check(name, result.out);
}

}  // namespace

TEST_SUITE("app: goldens") {
    // The loop implementation's digits are the same on every machine.
    TEST_CASE("the default walk") { check_golden("default", "--variant loop"); }
    TEST_CASE("two heads, causal, output projection") {
        check_golden("two_heads_causal",
                     "--variant loop --heads 2 --mask causal --output-projection");
    }
    TEST_CASE("a padded batch of two texts") {
        check_golden("padded_batch",
                     "--variant loop --text 'the cat sat' --text 'a dog' --mask "
                     "padding --projection fused");
    }
    TEST_CASE("cross-attention to a memory") {
        check_golden("memory", "--variant loop --text 'le chat' --memory-text 'the black cat'");
    }
    TEST_CASE("NumPy's draws and form") {
        check_golden("numpy", "--variant loop --rng numpy --seq-len 3 --embed-dim 4");
    }
    TEST_CASE("softmax over queries") {
        check_golden("softmax_over_queries", "--variant loop --softmax-axis query --from scores");
    }
}
