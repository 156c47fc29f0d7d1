// Whole outputs of the program, kept as text in tests/golden. To collect them anew, run
//     ATTN_COLLECT_GOLDENS=1 build/dev/tests/attn_tests -ts='app: goldens'
// and read the difference before committing it.
#include <sstream>

#include "tests/support/program.hpp"

namespace {

/// The first line in which two texts differ, with its number.
std::string first_difference(const std::string& ours, const std::string& golden) {
    std::istringstream our_lines(ours);
    std::istringstream golden_lines(golden);
    std::string our_line;
    std::string golden_line;
    for (int number = 1;; ++number) {
        const bool have_ours = static_cast<bool>(std::getline(our_lines, our_line));
        const bool have_golden = static_cast<bool>(std::getline(golden_lines, golden_line));
        if (!have_ours && !have_golden) return "no line differs";
        if (have_ours != have_golden || our_line != golden_line) {
            return "line " + std::to_string(number) + "\n- " +
                   (have_golden ? golden_line : "(end)") + "\n+ " +
                   (have_ours ? our_line : "(end)");
        }
    }
}

void check_golden(const std::string& name, const std::string& arguments) {
    const std::string path = std::string(ATTN_SOURCE_DIR "/tests/golden/") + name + ".txt";
    const program::Result result = program::run(arguments);
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    if (std::getenv("ATTN_COLLECT_GOLDENS") != nullptr) {
        std::ofstream(path, std::ios::binary) << result.out;
    }
    const std::string golden = program::read_file(path);
    REQUIRE_MESSAGE(!golden.empty(), "there is no golden " << path);
    CHECK_MESSAGE(result.out == golden, name << ": " << first_difference(result.out, golden));
}

}  // namespace

TEST_SUITE("app: goldens") {
    // The loop twin's digits are the same on every machine.
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
