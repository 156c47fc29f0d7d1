#include "app/commands/program_run.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <nlohmann/json.hpp>

#include "app/flags/ledger_file.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/json.hpp"
#include "attn/files/io/temporaries.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

extern "C" const char attn_python_module[], attn_python_tracer[];

namespace app {
namespace {

/// A folder for intermediate files, removed at the end.
struct ScratchFolder : attn::TemporaryFolder {
    ScratchFolder()
        : attn::TemporaryFolder(std::filesystem::temp_directory_path() / "attn-explain") {
        if (reason() == 0) return;
        throw attn::OutputError("cannot create a folder in " +
                                std::filesystem::temp_directory_path().string() + ": " +
                                std::strerror(reason()));
    }
    std::string file(const std::string& name) const { return path() + "/" + name; }
};

void write_text_file(const std::string& path, const char* text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) throw attn::OutputError("cannot write " + path);
}

/// Sets up a child process and turns it into the program.
[[noreturn]] void become(const std::vector<char*>& words, const Limits& limits,
                         const std::string& folder) {
    setpgid(0, 0);
    const auto bound = [](auto what, std::size_t most) {
        const rlimit limit{most, most};
        setrlimit(what, &limit);
    };
    if (limits.seconds > 0) bound(RLIMIT_CPU, limits.seconds);
    if (limits.bytes > 0) bound(RLIMIT_AS, limits.bytes);
    if (limits.is_trusted) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    } else {
        bound(RLIMIT_FSIZE, std::size_t{1} << 30);
        bound(RLIMIT_CORE, 0);
        static_cast<void>(unshare(CLONE_NEWUSER | CLONE_NEWNET));  // if allowed
        const int nothing = open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            dup2(nothing, stream);
        }
        if (chdir(folder.c_str()) != 0) _exit(126);
    }
    execvp(words[0], words.data());
    _exit(127);
}

/// Runs a command. Returns its exit code, or that of shells for a signal; nullopt if its time is
/// over.
std::optional<int> run(const std::vector<std::string>& specified, const Limits& limits,
                       const std::string& folder) {
    std::vector<char*> words;
    for (const std::string& word : specified) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t process = fork();
    if (process < 0) throw attn::OutputError(std::string("cannot fork: ") + std::strerror(errno));
    if (process == 0) become(words, limits, folder);
    const auto start = std::chrono::steady_clock::now();
    const auto end = start + std::chrono::seconds(2 * limits.seconds);
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(process, &status, limits.seconds > 0 ? WNOHANG : 0)) <= 0) {
        if (ended < 0 && errno != EINTR) break;
        if (limits.seconds == 0 || ended < 0) continue;
        if (std::chrono::steady_clock::now() > end) {
            kill(-process, SIGKILL);
            waitpid(process, &status, 0);
            return std::nullopt;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (!limits.is_trusted) kill(-process, SIGKILL);  // processes that it left running
    if (WIFSIGNALED(status) && limits.seconds > 0 &&
        (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
        return std::nullopt;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw attn::InputError(attn::quoted_text(path) + ": cannot be read");
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Adopts the tracer's information on a program other than its tensors.
void take_notes(const nlohmann::json& notes, TracedProgram& program) {
    program.source = notes.value("source", std::vector<std::string>());
    program.last = notes.value("last", std::map<std::string, std::string>());
    program.names = notes.value("names", std::map<std::string, std::vector<std::string>>());
    program.left_out = notes.value("left_out", std::size_t{0});
    program.cells = notes.value("cells", std::vector<std::pair<std::size_t, std::size_t>>());
    for (const auto& each : notes.value("functions", nlohmann::json::array())) {
        program.functions.push_back({each.at(0).get<std::string>(), each.at(1).get<std::size_t>(),
                                     each.at(2).get<std::size_t>()});
    }
    if (!notes.contains("raised")) return;
    const nlohmann::json& raised = notes["raised"];
    RaisedLine& line = program.raised.emplace();
    line.type = raised.value("type", "");
    line.message = raised.value("message", "");
    line.file = raised.value("file", "");
    line.line = raised.value("line", std::size_t{0});
    line.fits = raised.value("fits", "");
    for (const auto& each : raised.value("shapes", nlohmann::json::array())) {
        line.shapes.emplace_back(each.at(0).get<std::string>(), each.at(1).get<attn::Shape>());
    }
}

}  // namespace

TracedProgram read_trace(const std::string& trace, const std::string& path) {
    return program_of_trace(read_ledger(trace), trace, path);
}

TracedProgram program_of_trace(attn::Ledger tensors, const std::string& trace,
                               const std::string& path) {
    TracedProgram program;
    program.tensors = std::move(tensors);
    const std::filesystem::path notes = std::filesystem::path(trace).replace_extension(".json");
    std::error_code ignored;
    if (notes.string() != trace && std::filesystem::exists(notes, ignored)) {
        try {
            take_notes(attn::parse_json(text_of(notes.string()), notes.string()), program);
        } catch (const nlohmann::json::exception& error) {
            throw attn::InputError(attn::quoted_text(notes.string()) +
                                   ": is not a file of the tracer: " + error.what());
        }
    } else if (!path.empty()) {
        program.source = attn::lines_of(text_of(path));
    }
    return program;
}

TracedProgram traced_program(const std::string& path, const std::string& python,
                             const Limits& limits) {
    text_of(path);  // reports a missing file before Python starts
    const ScratchFolder folder;
    write_text_file(folder.file("attn_explain.py"), attn_python_module);
    write_text_file(folder.file("attn_trace.py"), attn_python_tracer);
    const std::string program = limits.is_trusted ? path : std::filesystem::absolute(path).string();
    const std::optional<int> code =
        run({python, folder.file("attn_trace.py"), folder.path(), program}, limits, folder.path());
    const std::string trace = folder.file("trace.safetensors");
    if (!code) {
        throw EndedProgram(attn::quoted_text(path) + ": was ended after " +
                           std::to_string(limits.seconds) + " seconds");
    }
    if (*code == 127) {
        throw attn::ConfigError("cannot run " + attn::visible(python) +
                                ": install Python 3 with NumPy, or pass --python PROGRAM");
    }
    if (const std::string why = folder.file("error.txt"); std::filesystem::exists(why)) {
        throw attn::InputError(attn::quoted_text(path) + ": " + attn::visible(text_of(why)));
    }
    if (*code != 0 || !std::filesystem::exists(trace)) {
        throw EndedProgram(attn::quoted_text(path) + ": the program ended Python with code " +
                           std::to_string(*code) + " before its tensors were written");
    }
    return read_trace(trace, path);
}

TracedProgram traced_text(const std::string& program, const std::string& python) {
    const ScratchFolder folder;
    const std::string path = folder.file("program.py");
    write_text_file(path, program.c_str());
    return traced_program(path, python, {.is_trusted = false});
}

std::string raised_text(const TracedProgram& program) {
    const RaisedLine& raised = *program.raised;
    std::string text = attn::visible(raised.type) + ": " + attn::visible(raised.message) + "\n";
    if (const std::string line = program.line(raised.line); !line.empty()) {
        text += "  " + attn::visible(attn::trimmed(line)) + "\n";
    }
    for (const auto& [name, shape] : raised.shapes) {
        text += "    " + attn::visible(name) + " is " + attn::shape_text(shape) + "\n";
    }
    if (raised.type == "ModuleNotFoundError") {
        text += "    --python PROGRAM runs it with another Python, which may have this module\n";
    }
    if (!raised.fits.empty()) text += "    " + attn::visible(raised.fits) + "\n";
    return text;
}

attn::RequestedWalk walk_by_flags(const Arguments& arguments) {
    return {.config = config_of(arguments), .specified = specified_settings(arguments)};
}

Flag python_flag(const std::string& programs) {
    return Flag{flags::python, "PROGRAM", "run the " + programs + " with this Python"}
        .with_default("python3")
        .typed_only();
}

attn::Explanation explanation_of(const TracedProgram& program, const attn::RequestedWalk& base,
                                 const attn::DiagnoseOptions& options,
                                 const attn::Ledger& answers) {
    attn::Trace trace = attn::traced(program.tensors);
    for (attn::Traced& each : trace) {
        const auto names = program.names.find(each.label);
        if (names != program.names.end()) each.other_names = names->second;
        if (each.file.empty()) each.statement = program.line(each.line);
    }
    attn::Explanation found = attn::explain(trace, base, options, answers);
    const bool has_torch = std::ranges::any_of(
        program.source, [](const std::string& line) { return line.find("torch") != line.npos; });
    for (attn::ExplainedAttention& each : found.attentions) {
        each.diagnosis.in_numpy = !program.source.empty() && !has_torch;
    }
    return found;
}

}  // namespace app
