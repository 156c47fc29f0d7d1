#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/exercises.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"

namespace app {
namespace {

using Outcome = Judgement::Outcome;

/// The exercise of a number, from 1.
const Exercise& numbered(const Arguments& arguments, std::size_t number) {
    return exercises(arguments.has(flags::torch)).at(number - 1);
}

/// Writes the exercises that the folder does not have yet. Returns how many these are.
std::size_t write_tasks(const Arguments& arguments, const std::filesystem::path& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        throw attn::OutputError(attn::quoted_text(folder.string()) + ": " + error.message());
    }
    std::size_t written = 0;
    attn::OutputSet set;
    for (const Exercise& each : exercises(arguments.has(flags::torch))) {
        const std::filesystem::path path = folder / (each.name + ".py");
        if (std::filesystem::exists(path)) continue;
        attn::write_file(set.file(path.string()), each.task());
        ++written;
    }
    set.commit();
    return written;
}

/// Writes the exercises as one notebook: the words of each, then its program in a cell that
/// `%%attn practice` judges.
void write_notebook_of_tasks(const Arguments& arguments, const std::string& path) {
    refuse_edited(path);
    std::vector<attn::NotebookCell> cells{
        {"# Attention, written by yourself\n\nEach exercise is a cell with a place for your code. "
         "Run the cell: your answer is judged, and a mistake is named with its line. "
         "`!attn-explain practice --hint 1` prints the hint of the first exercise."},
        {"%load_ext attn_explain", true}};
    for (const Exercise& each : exercises(arguments.has(flags::torch))) {
        const auto [words, program] = each.words_and_program();
        cells.push_back({"## " + words});
        cells.push_back({"%%attn practice " + each.name + "\n" + program, true});
    }
    attn::OutputFile file(path);
    attn::write_notebook(cells, [&file](std::string_view piece) { file.write(piece); });
    file.commit();
}

std::string judgement_text(const Exercise& exercise, const Judgement& judgement) {
    if (judgement.outcome == Outcome::right) return exercise.name + ": right\n";
    if (judgement.outcome != Outcome::wrong) return exercise.name + ": " + judgement.text + "\n";
    const std::string place =
        judgement.line > 0 ? ", line " + std::to_string(judgement.line) : std::string();
    std::string text = exercise.name + ": wrong" + place + "\n";
    for (const std::string& line : attn::lines_of(attn::visible_lines(judgement.text, false))) {
        for (const std::string& part : attn::wrap(line, 76)) text += "  " + part + "\n";
    }
    return text;
}

/// The exercises of a folder in their order, with their files.
std::vector<std::pair<const Exercise*, std::string>> files_in(const std::filesystem::path& folder) {
    std::vector<std::pair<const Exercise*, std::string>> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string path = entry.path().string();
        if (const Exercise* exercise = exercise_of(path)) files.emplace_back(exercise, path);
    }
    std::ranges::sort(files, {}, [](const auto& each) { return each.second; });
    return files;
}

/// Judges the exercises up to the first that is not right. Returns the exit code.
int judge_all(const std::filesystem::path& folder, const std::string& python) {
    std::size_t right = 0;
    const auto files = files_in(folder);
    const bool is_one = files.size() == 1;
    for (const auto& [exercise, path] : files) {
        const Judgement judgement = judge_answer(*exercise, path, python, {.seconds = 20});
        if (judgement.outcome == Outcome::right) {
            ++right;
            continue;
        }
        const std::string number = exercise->name.substr(0, 2);
        StandardOutput::print(
            (is_one ? "" : fmt::format("{} of {} are right\n", right, files.size())) +
            fmt::format("{}\nhint: attn-explain practice --hint {}\n",
                        judgement_text(*exercise, judgement), std::stoul(number)));
        return judgement.outcome == Outcome::not_yet ? no_verdict : 1;
    }
    StandardOutput::print(is_one ? files.front().first->name + ": right\n"
                                 : fmt::format("all {} exercises are right\n", right));
    return 0;
}

/// Judges a file whenever it was saved, until the user interrupts it.
[[noreturn]] void watch_folder(const std::filesystem::path& folder, const std::string& python) {
    std::map<std::string, std::filesystem::file_time_type> known;
    for (bool is_first = true;; is_first = false) {
        for (const auto& [exercise, path] : files_in(folder)) {
            std::error_code gone;
            const auto time = std::filesystem::last_write_time(path, gone);
            if (gone || std::exchange(known[path], time) == time || is_first) continue;
            StandardOutput::print(
                judgement_text(*exercise, judge_answer(*exercise, path, python, {.seconds = 20})));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
}

int run_practice(const Arguments& arguments) {
    if (arguments.has(flags::list)) {
        std::string text;
        for (const Exercise& each : exercises(arguments.has(flags::torch))) {
            text += fmt::format("{:<20} {}\n", each.name, each.title());
        }
        StandardOutput::print(text);
        return 0;
    }
    if (const auto number = arguments[flags::hint]) {
        StandardOutput::print(numbered(arguments, *number).hint() + "\n");
        return 0;
    }
    if (const auto number = arguments[flags::solution]) {
        StandardOutput::print(numbered(arguments, *number).solution());
        return 0;
    }
    if (arguments.has(flags::notebook)) {
        const std::string path(arguments[flags::notebook]);
        write_notebook_of_tasks(arguments, path);
        StandardOutput::print("the exercises are in " + attn::visible(path) +
                              ": open it in Jupyter\n");
        return 0;
    }
    if (!arguments.has(flags::folder)) {
        throw attn::ConfigError(
            "name a folder for the exercises, as in attn-explain practice "
            "attention; --list prints their topics");
    }
    const std::filesystem::path folder = std::string(arguments[flags::folder]);
    const std::string python(arguments[flags::python]);
    const bool is_new = !std::filesystem::is_directory(folder) || files_in(folder).empty();
    if (is_new) {
        const std::size_t written = write_tasks(arguments, folder);
        StandardOutput::print(fmt::format(
            "{} exercises are in {}: open the first, write your code, and run this command again\n",
            written, attn::visible(folder.string())));
        if (!arguments.has(flags::watch)) return 0;
    }
    if (arguments.has(flags::watch)) watch_folder(folder, python);
    return judge_all(folder, python);
}

std::vector<Flag> practice_flags() {
    return {
        {flags::folder, "FOLDER", "where the exercises are, or are written"},
        {flags::torch, "", "exercises in PyTorch instead of NumPy"},
        Flag{flags::notebook, "FILE", "write the exercises as one notebook instead", file()}
            .writing({".ipynb"}),
        Flag{flags::watch, "", "judge each file when it is saved"}.typed_only(),
        {flags::list, "", "print the names and topics of the exercises"},
        {flags::hint, "N", "print the hint of an exercise", integer(1, 16)},
        {flags::solution, "N", "print the solution of an exercise", integer(1, 16)},
        python_flag("exercises"),
    };
}

}  // namespace

Command practice_command() {
    return {"practice",
            "write attention yourself, in sixteen exercises that are checked",
            {table<practice_flags>},
            run_practice,
            {{"attn-explain practice attention",
              "Writes the exercises; run again, it judges them and names a mistake and its line."},
             {"attn-explain practice attention --watch", "Judges each file when it is saved."}}};
}

}  // namespace app
