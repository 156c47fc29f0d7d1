// How long whole processes take, in one run, taken in turns so that a noisy machine is fair to all:
// an empty C++ program, a minimal one that links the same libraries, python3, and the default walk.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Contender {
    std::string name;
    std::vector<std::string> command;
    std::vector<double> milliseconds;
};

/// Runs a command with its output thrown away and returns its wall time, or -1 if it cannot run.
double time_of(const std::vector<std::string>& command) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const auto start = std::chrono::steady_clock::now();
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    int status = -1;
    if (failed != 0 || waitpid(child, &status, 0) != child || status != 0) return -1;
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main() {
    std::vector<Contender> contenders{
        {"empty C++ program", {ATTN_EMPTY_PROGRAM}, {}},
        {"minimal C++ program, same libraries", {ATTN_MINIMAL_PROGRAM}, {}},
        {"attn-explain, the default walk", {ATTN_PROGRAM}, {}},
        {"attn-explain --format json", {ATTN_PROGRAM, "--format", "json"}, {}},
        {"attn-explain --version", {ATTN_PROGRAM, "--version"}, {}},
        {"attn-explain notebook 000", {ATTN_PROGRAM, "notebook", "000"}, {}},
        {"attn-explain notebook 001", {ATTN_PROGRAM, "notebook", "001"}, {}},
        {"attn-explain notebook 002", {ATTN_PROGRAM, "notebook", "002"}, {}},
        {"attn-explain notebook 003", {ATTN_PROGRAM, "notebook", "003"}, {}},
        {"python3 -c pass", {"python3", "-c", "pass"}, {}},
    };
    constexpr int rounds = 201;
    for (int round = 0; round < rounds; ++round) {
        for (Contender& contender : contenders) {
            const double time = time_of(contender.command);
            if (time >= 0) contender.milliseconds.push_back(time);
        }
    }
    const double minimal = median(contenders[1].milliseconds);
    std::printf("%-38s %9s %9s %12s\n", "median of 201 rounds, in turns", "ms", "best ms",
                "x minimal");
    for (const Contender& contender : contenders) {
        if (contender.milliseconds.empty()) {
            std::printf("%-38s not installed\n", contender.name.c_str());
            continue;
        }
        const double time = median(contender.milliseconds);
        std::printf("%-38s %9.2f %9.2f %12.2f\n", contender.name.c_str(), time,
                    *std::min_element(contender.milliseconds.begin(), contender.milliseconds.end()),
                    time / minimal);
    }
}
