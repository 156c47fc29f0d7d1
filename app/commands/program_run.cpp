#include "app/commands/program_run.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "app/flags/ledger_file.hpp"
#include "attn/core/settings/parse.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

extern "C" const char attn_python_module[], attn_python_tracer[];
extern "C" char** environ;

namespace app {
namespace {

/// A folder for files in between, which is removed at the end.
class ScratchFolder {
public:
    ScratchFolder() : path_(std::filesystem::temp_directory_path() / "attn-explain-XXXXXX") {
        std::string name = path_;
        if (mkdtemp(name.data()) == nullptr) {
            throw attn::OutputError("cannot make a folder in " +
                                    std::filesystem::temp_directory_path().string() + ": " +
                                    std::strerror(errno));
        }
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    std::string file(const std::string& name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

void write_lines(const std::string& path, const char* text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw attn::OutputError("cannot write " + path);
}

/// Runs a command with standard output sent to standard error. Returns its exit code, or that of
/// shells for a signal.
int run(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t process = 0;
    const int failed =
        posix_spawnp(&process, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) {
        throw attn::ConfigError("cannot run " + words[0] + ": " + std::strerror(failed) +
                                ": install Python 3 with NumPy, or pass --python PROGRAM");
    }
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw attn::InputError(attn::shown(path) + ": cannot be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Takes over what the tracer says of a program beside its tensors.
void take_notes(const nlohmann::json& notes, TracedProgram& program) {
    program.source = notes.value("source", std::vector<std::string>());
    program.left_out = notes.value("left_out", std::size_t{0});
    program.cells = notes.value("cells", std::vector<std::pair<std::size_t, std::size_t>>());
    if (!notes.contains("raised")) return;
    const nlohmann::json& raised = notes["raised"];
    RaisedLine& line = program.raised.emplace();
    line.type = raised.value("type", "");
    line.message = raised.value("message", "");
    line.file = raised.value("file", "");
    line.line = raised.value("line", std::size_t{0});
    for (const auto& each : raised.value("shapes", nlohmann::json::array())) {
        line.shapes.emplace_back(each.at(0).get<std::string>(), each.at(1).get<attn::Shape>());
    }
}

}  // namespace

TracedProgram read_trace(const std::string& trace, const std::string& path) {
    TracedProgram program;
    program.tensors = read_ledger(trace);
    const std::filesystem::path notes = std::filesystem::path(trace).replace_extension(".json");
    std::error_code ignored;
    if (notes.string() != trace && std::filesystem::exists(notes, ignored)) {
        try {
            take_notes(attn::parse_json(text_of(notes.string()), notes.string()), program);
        } catch (const nlohmann::json::exception& error) {
            throw attn::InputError(attn::shown(notes.string()) +
                                   ": is no file of the tracer: " + error.what());
        }
    } else {
        for (std::string& line : attn::split(text_of(path), '\n')) {
            program.source.push_back(std::move(line));
        }
    }
    return program;
}

TracedProgram traced_program(const std::string& path, const std::string& python) {
    text_of(path);  // a file that is not there is told before Python starts
    const ScratchFolder folder;
    write_lines(folder.file("attn_explain.py"), attn_python_module);
    write_lines(folder.file("attn_trace.py"), attn_python_tracer);
    const int code = run({python, folder.file("attn_trace.py"), folder.path(), path});
    const std::string trace = folder.file("trace.safetensors");
    if (code == 2) throw attn::InputError(attn::shown(path) + ": is no program that can be run");
    if (code != 0 || !std::filesystem::exists(trace)) {
        throw attn::InputError(attn::shown(path) + ": the program ended Python with code " +
                               std::to_string(code) + " before its tensors were written");
    }
    return read_trace(trace, path);
}

}  // namespace app
