// Running out of memory: tests/starved.cpp is the program with an allocator that fails.
#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/program.hpp"

namespace {

/// The Nth allocation of the command fails, for some N; prints each departure from what is
/// promised. The script counts its runs in the file `runs`.
const char* const starve = R"sh(
export ATTN_FAILED=mark ASAN_OPTIONS=detect_leaks=0
n=1; step=$2
left() {
    for each in out* .[!.]*; do
        [ -e "$each" ] || continue
        { find out* .[!.]* | sort; find out* .[!.]* -type f | sort | xargs cat; } 2>/dev/null | cksum
        return
    done
}
eval "\"$1\" $3" >said 2>err </dev/null
whole=$(left); rm -rf out*; none=$(left)
while :; do
    for more in '' +; do
        rm -rf mark out*
        export ATTN_FAIL_ALLOCATION=$n$more; eval "\"$1\" $3" >said 2>err </dev/null; code=$?
        [ -e mark ] || exit 0
        echo x >>runs
        [ $code = 2 ] || echo "$n$more: ended with $code: $(cat err)"
        [ "$(grep -v ': note: ' err)" = "$4" ] || echo "$n$more: said $(cat err)"
        now=$(left)
        [ "$now" = "$none" ] || [ "$now" = "$whole" ] || echo "$n$more: left $(ls -A)"
    done
    n=$((n + 1 + n * step / 10))
done)sh";

}  // namespace

TEST_SUITE("app: starved") {
    TEST_CASE("a failed allocation ends a command with one line and no file") {
        const program::Folder folder;
        std::ofstream(folder / "starve") << starve;
        std::ifstream commands(ATTN_SOURCE_DIR "/tests/starved_commands.txt");
        std::size_t count = 0;
        for (std::string line; std::getline(commands, line); ++count) {
            CAPTURE(line);
            const std::string in = "cd '" + folder.path().string() + "' && ";
            if (line.starts_with("! ")) {
                REQUIRE(
                    program::shell(in + "'" + build::starved + "' " + line.substr(2)).exit_code ==
                    0);
                continue;
            }
            std::ofstream(folder / "line") << line;
            const auto result = program::shell(in + "sh starve '" + build::starved +
                                               "' 20 \"$(cat line)\" 'attn-explain: error: not "
                                               "enough memory: make the dimensions smaller'");
            CHECK(result.exit_code == 0);
            CHECK(result.out == "");
        }
        CHECK(count > 24);
        CHECK(program::read_file(folder / "runs").size() > 2 * 24 * 6);
    }
}
