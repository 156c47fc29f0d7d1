#pragma once
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/build.hpp"

/// Running the program as a shell would, and collecting its output and exit code.
namespace program {

struct Result {
    int exit_code = -1;
    std::string out;
    std::string err;
};

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Returns a text without the escape sequences that color it.
inline std::string without_escapes(const std::string& text) {
    std::string plain;
    std::size_t from = 0;
    for (std::size_t at; (at = text.find("\x1b[", from)) != std::string::npos;) {
        plain.append(text, from, at - from);
        from = text.find('m', at) + 1;
    }
    return plain.append(text, from);
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// The names of the files and folders in a folder.
inline std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

/// A fresh folder that is removed with its object.
class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "attn-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

/// The beginning of a command line under the sanitizers: one command in eight checks for leaks, as
/// that takes longer than the command itself.
inline std::string sanitizers() {
    static int count = 0;
    if (!build::is_sanitized || count++ % 8 == 0) return {};
    return "export ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" && ";
}

/// Runs a command line in `sh`, where `attn-explain` is the program under test and the working
/// folder is the repository. Standard input is `input`.
inline Result shell(const std::string& command, const std::string& input = {}) {
    const Folder folder;
    std::ofstream(folder / "in", std::ios::binary) << input;
    std::filesystem::create_directory(folder.path() / "bin");
    std::filesystem::create_symlink(build::program, folder.path() / "bin" / "attn-explain");
    const std::string line =
        sanitizers() + "cd '" ATTN_SOURCE_DIR "' && PATH='" + (folder / "bin") +
        "':\"$PATH\" && export PATH && unset FORCE_COLOR && { " + command + "\n} <'" +
        (folder / "in") + "' >'" + (folder / "out") + "' 2>'" + (folder / "err") + "'";
    const int status = std::system(line.c_str());
    Result result;
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    result.out = read_file(folder.path() / "out");
    result.err = read_file(folder.path() / "err");
    return result;
}

/// Runs `attn-explain ARGUMENTS`.
inline Result run(const std::string& arguments, const std::string& input = {}) {
    return shell("attn-explain " + arguments, input);
}

/// Invalid input: one error line in the usual form, exit code 2, and nothing on standard output.
inline void check_refused(const std::string& arguments, const std::string& reason) {
    INFO("attn-explain " << arguments);
    const Result result = run(arguments);
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK_MESSAGE(result.err.rfind("attn-explain: error: ", 0) == 0, result.err);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_MESSAGE(result.err.find(reason) != std::string::npos, result.err);
}

/// True if the shell finds a tool; prints a line if tests are skipped without it.
inline bool is_installed(const std::string& tool) {
    const bool found = shell("command -v " + tool).exit_code == 0;
    if (!found) MESSAGE("SKIPPED: " << tool << " is not installed");
    return found;
}

}  // namespace program
