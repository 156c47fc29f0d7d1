#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

namespace fs = std::filesystem;

/// The floor of each wing of lib/attn: an include stays in its wing or goes to a lower floor.
const std::map<std::string, int> floors{{"ground", 0}, {"files", 1}, {"core", 1},   {"explain", 2},
                                        {"judge", 3},  {"show", 3},  {"models", 4}, {"learn", 4}};

/// The wing in `attn/WING/...`; empty for a header beside the wings.
std::string library_in(const std::string& path) {
    const std::size_t begin = path.find("attn/") + 5;
    const std::size_t end = path.find('/', begin);
    return end == std::string::npos ? "" : path.substr(begin, end - begin);
}

/// The floor of each room, for wings with ordered rooms.
const std::map<std::string, std::map<std::string, int>> rooms{
    {"core",
     {{"rules", 0},
      {"steps", 0},
      {"fused", 0},
      {"plan", 1},
      {"settings", 2},
      {"walk", 2},
      {"cards", 3}}},
    {"explain",
     {{"codegen", 0}, {"notes", 0}, {"why", 1}, {"backward", 2}, {"bounds", 3}, {"document", 4}}},
    {"judge", {{"mistakes", 0}, {"compare", 1}, {"lint", 2}, {"diagnose", 3}, {"trace", 4}}}};

/// The room in `attn/WING/ROOM/...`.
std::string space_in(const std::string& path) {
    const std::size_t begin = path.find('/', path.find("attn/") + 5) + 1;
    return path.substr(begin, path.find('/', begin) - begin);
}

}  // namespace

TEST_SUITE("house") {
    TEST_CASE("no include of core, explain or judge goes up to another room") {
        const std::string begin = "#include \"attn/";
        for (const auto& [library, floor_of] : rooms) {
            const std::string folder = ATTN_SOURCE_DIR "/lib/attn/" + library;
            for (const auto& entry : fs::recursive_directory_iterator(folder)) {
                const std::string path = entry.path().string();
                if (!path.ends_with("pp")) continue;
                const std::string room = space_in(path.substr(path.rfind("/lib/attn/") + 5));
                INFO(path);
                REQUIRE(floor_of.contains(room));
                std::ifstream file(path);
                for (std::string line; std::getline(file, line);) {
                    if (!line.starts_with(begin) || library_in(line) != library) continue;
                    const std::string other = space_in(line);
                    INFO(line);
                    REQUIRE(floor_of.contains(other));
                    CHECK((other == room || floor_of.at(other) < floor_of.at(room)));
                }
            }
        }
    }

    TEST_CASE("no include of the library goes up a floor") {
        const std::string begin = "#include \"attn/";
        std::size_t includes = 0;
        for (const auto& entry : fs::recursive_directory_iterator(ATTN_SOURCE_DIR "/lib/attn")) {
            const std::string path = entry.path().string();
            if (!path.ends_with("pp")) continue;
            const std::string library = library_in(path.substr(path.rfind("/lib/attn/") + 1));
            if (library.empty()) continue;
            INFO(path);
            REQUIRE(floors.contains(library));
            std::ifstream file(path);
            for (std::string line; std::getline(file, line);) {
                if (!line.starts_with(begin)) continue;
                const std::string other = library_in(line);
                if (other.empty() || other == library) continue;
                INFO(line);
                REQUIRE(floors.contains(other));
                CHECK(floors.at(other) < floors.at(library));
                ++includes;
            }
        }
        CHECK(includes > 100);
    }

    TEST_CASE(
        "no text of the library names a flag: it names settings, and the program adds dashes") {
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
                    // CSS properties begin like flags: `--share:`, setProperty("--share".
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
