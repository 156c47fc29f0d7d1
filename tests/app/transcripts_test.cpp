// Typed commands and their output, in tests/app/transcripts: after `$` a command line, then all
// that it prints and, if it is not 0, its exit code in brackets. `|` begins a line of output that
// is blank, or begins as a comment or a command does here. To renew the answers, run
//     ATTN_COLLECT_GOLDENS=1 build/dev/tests/attn_tests -ts='app: transcripts'
// and read the difference before committing it.
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/support/golden.hpp"

namespace {

std::string with_bars(const std::string& output) {
    std::istringstream lines(output);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const bool is_mark = line.empty() || line.starts_with("# ") || line.starts_with("$ ");
        text += (is_mark ? "|" : "") + line + "\n";
    }
    return text;
}

/// The transcript with the current output.
std::string replayed(const std::string& transcript, std::size_t& commands) {
    std::istringstream lines(transcript);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        const bool is_command = line.starts_with("$ ");
        if (!is_command && !line.starts_with("# ") && !line.empty()) continue;
        text += line + "\n";
        if (!is_command) continue;
        const program::Result result = program::shell(line.substr(2));
        text += with_bars(result.out + result.err);
        if (result.exit_code != 0) text += "[" + std::to_string(result.exit_code) + "]\n";
        ++commands;
    }
    return text;
}

}  // namespace

TEST_SUITE("app: transcripts") {
    TEST_CASE("the program prints what its transcripts show") {
        std::set<std::filesystem::path> files;
        for (const auto& file :
             std::filesystem::directory_iterator(ATTN_SOURCE_DIR "/tests/app/transcripts")) {
            files.insert(file.path());
        }
        std::size_t commands = 0;
        for (const std::filesystem::path& path : files) {
            const std::string transcript = program::read_file(path);
            const std::string today = replayed(transcript, commands);
            if (std::getenv("ATTN_COLLECT_GOLDENS") != nullptr) std::ofstream(path) << today;
            const bool is_same = today == transcript;
            CHECK_MESSAGE(is_same, path.filename().string(), ": ",
                          golden::first_difference(today, transcript));
        }
        CHECK(commands > 250);
    }
}
