#pragma once
#include <sstream>

#include "tests/support/program.hpp"

/// Whole outputs of the program, stored as text in tests/golden. To renew them, run
///     ATTN_COLLECT_GOLDENS=1 build/dev/tests/attn_tests -ts='app: goldens,app: step*'
/// and read the difference before committing it.
namespace golden {

/// The first line in which two texts differ, with its number.
inline std::string first_difference(const std::string& ours, const std::string& golden) {
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

/// Compares `text` with tests/golden/NAME.txt, or another suffix, byte by byte.
inline void check(const std::string& name, const std::string& text,
                  const std::string& ending = ".txt") {
    const std::string path = std::string(ATTN_SOURCE_DIR "/tests/golden/") + name + ending;
    if (std::getenv("ATTN_COLLECT_GOLDENS") != nullptr) {
        std::ofstream(path, std::ios::binary) << text;
    }
    const std::string kept = program::read_file(path);
    REQUIRE_MESSAGE(!kept.empty(), "there is no golden " << path);
    CHECK_MESSAGE(text == kept, name << ": " << first_difference(text, kept));
}

}  // namespace golden
