#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

namespace fs = std::filesystem;

/// The floor of each room of lib/attn: an include goes to the same room or to one below it.
/// `tensor` stands below `text`, whose errors are its own, and `simd` below the other two.
const std::map<std::string, int> floors{
    {"tensor", 0},    {"text", 1},      {"simd", 2},       {"random", 3},   {"io", 3},
    {"rules", 3},     {"fused", 4},     {"steps", 5},      {"plan", 6},     {"walk", 7},
    {"cards", 8},     {"notes", 9},     {"codegen", 9},    {"why", 10},     {"backward", 11},
    {"mistakes", 12}, {"document", 13}, {"models", 13},    {"compare", 13}, {"lint", 13},
    {"diagnose", 14}, {"render", 15},   {"notebooks", 16}, {"bench", 16},   {"quiz", 16}};

/// The room in `attn/ROOM/file`; empty for a header beside the rooms.
std::string room_in(const std::string& path) {
    const std::size_t begin = path.find("attn/") + 5;
    const std::size_t end = path.find('/', begin);
    return end == std::string::npos ? "" : path.substr(begin, end - begin);
}

}  // namespace

TEST_SUITE("house") {
    TEST_CASE("no include of the library goes up a floor") {
        const std::string begin = "#include \"attn/";
        std::size_t includes = 0;
        for (const auto& entry : fs::recursive_directory_iterator(ATTN_SOURCE_DIR "/lib/attn")) {
            const std::string path = entry.path().string();
            if (!path.ends_with("pp")) continue;
            const std::string room = room_in(path.substr(path.rfind("/lib/attn/") + 1));
            if (room.empty()) continue;
            INFO(path);
            REQUIRE(floors.contains(room));
            std::ifstream file(path);
            for (std::string line; std::getline(file, line);) {
                if (!line.starts_with(begin)) continue;
                const std::string other = room_in(line);
                if (other.empty() || other == room) continue;
                INFO(line);
                REQUIRE(floors.contains(other));
                CHECK(floors.at(other) < floors.at(room));
                ++includes;
            }
        }
        CHECK(includes > 100);
    }

    TEST_CASE(
        "no text of the library names a flag: it names settings, and the program puts dashes") {
        std::size_t texts = 0;
        for (const auto& entry : fs::recursive_directory_iterator(ATTN_SOURCE_DIR "/lib")) {
            if (!entry.is_regular_file()) continue;
            std::ifstream file(entry.path());
            for (std::string line; std::getline(file, line);) {
                const std::size_t text = line.find('"');
                if (text == std::string::npos) continue;
                ++texts;
                for (std::size_t at = line.find("--", text); at != std::string::npos;
                     at = line.find("--", at + 1)) {
                    // Properties of styles begin like flags: `--share:`, setProperty("--share".
                    const std::size_t end =
                        line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
                    const bool is_style = (end != std::string::npos && line[end] == ':') ||
                                          line.find("setProperty(\"--") + 13 == at;
                    const bool is_flag =
                        std::islower(static_cast<unsigned char>(line[at + 2])) != 0;
                    CHECK_MESSAGE((!is_flag || is_style), entry.path().string(), ": ", line);
                }
            }
        }
        CHECK(texts > 5000);
    }
}
