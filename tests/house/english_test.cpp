// Rules of English that a program can check, over sources, printed texts and pages.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Phrases that English does not have, or that have a plain word of the field.
constexpr std::array odd_phrases{
    "way back", "way forth", "by lot",    "turned round", "laid out",    "token of now",
    "so many",  "somebody",  "whoever",   "spelt",        "mended",      "seldom",
    "is to be", "but for",   "are to be", "none where",   "empty where", "nothing where"};

/// Openings of comments and test names that lack a noun and a verb.
constexpr std::array headless{"of ",          "the same of ", "the same as ", "the same with ",
                              "the same in ", "the same for "};

bool is_word_character(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string in_lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

std::string_view unindented(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
}

/// The text of a comment that is alone in its line; empty if there is none.
std::string_view comment_in(std::string_view line) {
    for (const std::string_view mark : {"/// ", "// ", "/** ", "# ", "\"\"\""}) {
        if (unindented(line).starts_with(mark)) return unindented(line).substr(mark.size());
    }
    return {};
}

/// The beginning of a comment or of the name of a test; empty if `line` begins neither.
std::string_view beginning_in(std::string_view line, std::string_view before) {
    for (const std::string_view mark : {"TEST_CASE(\"", "SUBCASE(\""}) {
        if (unindented(line).starts_with(mark)) return unindented(line).substr(mark.size());
    }
    if (unindented(before) == "TEST_CASE(") return unindented(line).substr(1);
    return comment_in(before).empty() ? comment_in(line) : std::string_view();
}

/// The phrase that occurs in a text as whole words, with any line breaks; empty if none does.
std::string odd_phrase_in(const std::string& text) {
    for (const std::string_view phrase : odd_phrases) {
        for (std::size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1)) {
            const std::size_t end = at + phrase.size();
            const bool begins = at == 0 || !is_word_character(text[at - 1]);
            // `spelt(` is a function.
            if (begins &&
                (end == text.size() || (!is_word_character(text[end]) && text[end] != '('))) {
                return std::string(phrase);
            }
        }
    }
    return {};
}

/// The text of two lines without the marks of comments and strings at the break.
std::string joined_lines(std::string_view one, std::string_view other) {
    constexpr std::string_view marks = " \t/*#\"<";
    one = one.substr(0, one.find_last_not_of(marks) + 1);
    other.remove_prefix(std::min(other.find_first_not_of(marks), other.size()));
    return in_lower_case(std::string(one) + " " + std::string(other));
}

bool is_checked(const fs::path& path) {
    constexpr std::array endings{".cpp", ".hpp", ".js",  ".mjs", ".css",  ".py",
                                 ".sh",  ".md",  ".txt", ".S",   ".attn", ".cmake"};
    return path.filename() != "english_test.cpp" &&
           std::ranges::find(endings, path.extension().string()) != endings.end();
}

/// Calls `act` for each line of the sources and pages, with the line before it.
void each_line(const std::function<void(const std::string& place, const std::string& line,
                                        const std::string& before)>& act) {
    const fs::path root = ATTN_SOURCE_DIR;
    std::vector<fs::path> files;
    for (const char* folder : {"lib", "app", "tests", "data/attentions", "data/examples",
                               "data/laws", "data/mistakes", "data/practice"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file() && is_checked(entry.path())) files.push_back(entry.path());
        }
    }
    for (const char* page :
         {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci/run", ".ci/setup"})
        files.push_back(root / page);
    CHECK(files.size() > 1000);
    for (const fs::path& path : files) {
        std::ifstream file(path);
        std::string before;
        int number = 0;
        for (std::string line; std::getline(file, line); before = line) {
            act(path.string() + ":" + std::to_string(++number), line, before);
        }
    }
}

}  // namespace

TEST_SUITE("house") {
    TEST_CASE("no comment and no name of a test begins without a noun") {
        each_line([](const std::string& place, const std::string& line, const std::string& before) {
            const std::string beginning = in_lower_case(std::string(beginning_in(line, before)));
            const bool is_headless = std::ranges::any_of(
                headless, [&](std::string_view words) { return beginning.starts_with(words); });
            if (is_headless) FAIL_CHECK(place, ": ", line);
        });
    }

    TEST_CASE("no source, printed text or page has a phrase that English does not have") {
        each_line([](const std::string& place, const std::string& line, const std::string& before) {
            const std::string odd = odd_phrase_in(joined_lines(before, line));
            const bool is_new = odd_phrase_in(in_lower_case(before)) != odd;
            if (is_new && !odd.empty()) FAIL_CHECK(place, ": \"", odd, "\": ", line);
        });
    }
}
