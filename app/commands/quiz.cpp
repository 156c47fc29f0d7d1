#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <random>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/quiz/question.hpp"

namespace app {
namespace {

using attn::Judgement;
using attn::Question;

attn::QuizSession session(const Arguments& arguments, std::uint64_t seed) {
    if (arguments.has(flags::from)) {
        const std::string path = arguments[flags::from];
        Arguments walk({walk_flags, config_flags, notebook_walk_flags, bug_flags});
        walk.specify({{walk.find(flags::weights), path}});
        return {
            {config_of(walk), "--weights " + shell_quoted(path)}, arguments[flags::topic], seed};
    }
    const std::size_t level = arguments.has(flags::level) ? arguments[flags::level] : 0;
    return {arguments[flags::topic], seed, level};
}

/// A session: asks questions one after another, and reads answers line by line.
class Asking {
public:
    Asking(const Arguments& arguments, std::uint64_t seed)
        : arguments_(arguments),
          seed_(seed),
          questions_(session(arguments, seed)),
          count_(arguments[flags::count]) {}

    void run() {
        for (; requested_ < count_; ++requested_) {
            const Question question = questions_.next();
            print_text((requested_ > 0 ? "\n" : "") + std::to_string(requested_ + 1) + " of " +
                       std::to_string(count_) + ", " + question.topic + ": " + question.asks +
                       "\n");
            for (const std::string& line : question.shown) print_text("  " + line + "\n");
            for (const std::string& line : choice_lines(question)) print_text(line + "\n");
            if (requested_ == 0 && prompts_)
                print_text("Enter or hint: a hint. skip or ?: the answer. q: quit.\n");
            if (!answer(question)) break;
        }
        print_text("\n" + std::to_string(right_) + " of " + std::to_string(answered_) +
                   " right. The same questions: attn-explain quiz" +
                   (arguments_.has(flags::from) ? " --from " + shell_quoted(arguments_[flags::from])
                                                : "") +
                   (arguments_.has(flags::topic) ? " --topic " + arguments_[flags::topic] : "") +
                   (arguments_.has(flags::level)
                        ? " --level " + std::to_string(arguments_[flags::level])
                        : "") +
                   " --seed " + std::to_string(seed_) +
                   "\nTo write attention yourself: attn-explain practice FOLDER\n");
    }

private:
    void print_text(const std::string& text) const { write_text(arguments_, text); }

    /// Reads lines until one is an answer; on a terminal, a wrong answer may be corrected once.
    /// Returns false at the end of the input.
    bool answer(const Question& question) {
        std::size_t hints = 0;
        bool may_try_again = prompts_;
        for (std::string line;;) {
            if (prompts_) StandardOutput::print("> ");
            if (!std::getline(std::cin, line)) return false;
            const std::string typed(attn::trimmed(line));
            if (typed.starts_with('#')) continue;
            if (typed == "q" || typed == "quit") return false;
            if (const std::string word = attn::lower(typed);
                word.empty() || word == "hint" || word == "help") {
                const bool is_last = hints == question.hints.size();
                print_text("  hint: " +
                           (is_last ? "type skip for the answer" : question.hints[hints++]) + "\n");
                continue;
            }
            const bool skips = typed == "?" || typed == "skip";
            const Judgement verdict = skips ? Judgement{}
                                      : typed == question.answer
                                          ? Judgement{Judgement::Is::right}
                                          : check_answer(question.right, typed);
            const bool is_unread = verdict.is == Judgement::Is::unread;
            const std::string advice = is_unread ? " (" + verdict.advice + ")" : "";
            if (is_unread && prompts_) {
                print_text("  " + verdict.advice + "\n");
                continue;
            }
            const bool is_right = verdict.is == Judgement::Is::right,
                       is_wrong = !is_right && !skips,
                       tries_again = is_wrong && std::exchange(may_try_again, false);
            const std::string wrong = "Not " + attn::visible(typed) + advice;
            print_text(tries_again ? wrong + ". Try again, or ? for the answer.\n"
                                   : (is_right   ? "Right: "
                                      : is_wrong ? wrong + ": it is "
                                                 : "It is ") +
                                         question.answer + "\n");
            const attn::Mistake* mistake = is_wrong ? mistake_in_answer(question, typed) : nullptr;
            if (mistake != nullptr) {
                print_text("This mistake gives that answer: " + mistake->title.visible() +
                           " (attn-explain bugs " + mistake->id + ")\n");
            }
            if (tries_again) continue;
            ++answered_;
            if (is_right) ++right_;
            print_text(question.why);
            return true;
        }
    }

    const Arguments& arguments_;
    std::uint64_t seed_;
    attn::QuizSession questions_;
    std::int64_t count_, requested_ = 0, answered_ = 0, right_ = 0;
    bool prompts_ = isatty(STDIN_FILENO) != 0;
};

std::vector<Question> questions(const Arguments& arguments, std::uint64_t seed,
                                std::int64_t count) {
    attn::QuizSession requested = session(arguments, seed);
    std::vector<Question> all;
    while (std::ssize(all) < count) all.push_back(requested.next());
    return all;
}

/// Returns the format of the file's suffix, or that of --format.
std::string sheet_form(const Arguments& arguments, const std::string& path) {
    const std::string specified = arguments.has(flags::format) ? arguments[flags::format] : "";
    for (const attn::SheetForm& form : attn::sheet_forms()) {
        if (std::ranges::find(form.endings, ending_of(path)) == form.endings.end()) continue;
        if (!specified.empty() && specified != form.name && path == arguments[flags::output]) {
            throw attn::ConfigError("-o " + path + " means " + form.name + " and --format means " +
                                    specified +
                                    ": leave --format out, or give the file another extension");
        }
        return form.name;
    }
    return specified.empty() ? "markdown" : specified;
}

/// Numbers one of several files: `sheet.md` becomes `sheet-03.md`.
std::string numbered(const std::string& path, std::int64_t number, std::int64_t count) {
    const std::string ending = ending_of(path);
    const std::size_t digits = std::max<std::size_t>(2, std::to_string(count).size());
    return count < 2 ? path
                     : fmt::format("{}-{:0{}}{}", path.substr(0, path.size() - ending.size()),
                                   number, digits, ending);
}

/// Writes sheets and their keys, all of them or none.
void write_sheets(const Arguments& arguments, std::uint64_t seed) {
    std::string path = arguments[flags::output], key = arguments[flags::solutions];
    const std::int64_t students = arguments[flags::students].value_or(1);
    const bool to_file = !path.empty() && path != "-";
    if (arguments.has(flags::students) && !to_file) {
        throw attn::ConfigError(
            "--students writes one file per student: pass -o sheet.md for sheet-01.md and so on");
    }
    if (key == "-") throw attn::ConfigError("--solutions - is not a file: pass --solutions key.md");
    const std::string form = sheet_form(arguments, path);
    const std::string key_form = key.empty() ? form : sheet_form(arguments, key);
    const auto go_into_folder = [](std::string& file, const char* name, const std::string& of) {
        const auto& forms = attn::sheet_forms();
        const auto& endings = std::ranges::find(forms, of, &attn::SheetForm::name)->endings;
        const bool is_folder = file.ends_with('/') || std::filesystem::is_directory(file);
        if (is_folder)
            file = (std::filesystem::path(file) / name).string() + std::string(endings.front());
    };
    go_into_folder(path, "sheet", form);
    go_into_folder(key, "key", key_form);
    std::vector<std::pair<std::string, std::string>> files;
    for (std::int64_t student = 1; student <= students; ++student) {
        const std::uint64_t own = seed + static_cast<std::uint64_t>(student - 1);
        const std::vector<Question> all = questions(arguments, own, *arguments[flags::sheet]);
        const std::string topic = arguments.has(flags::topic) ? ": " + arguments[flags::topic] : "";
        const std::string title =
            "Attention" + topic + (students > 1 ? fmt::format(", sheet {}", student) : "");
        // The command of a sheet has no seed, which would reproduce its answers.
        const std::string command = fmt::format("attn-explain quiz --sheet {}", all.size());
        const std::string sheet = sheet_text(title, all, false, form, command);
        if (!to_file) write_text(arguments, sheet);
        if (to_file) files.emplace_back(numbered(path, student, students), sheet);
        if (!key.empty()) {
            files.emplace_back(
                numbered(key, student, students),
                sheet_text(fmt::format("{}, answers (--seed {})", title, own), all, true, key_form,
                           fmt::format("{} --seed {}", command, own)));
        }
    }
    attn::OutputSet set;
    for (const auto& [name, text] : files) attn::write_file(set.file(name), text);
    set.commit();
}

int run_quiz(const Arguments& arguments) {
    std::uint64_t seed = arguments.has(flags::sheet) ? 42 : std::random_device()() % 1'000'000;
    if (arguments.has(flags::seed)) seed = arguments[flags::seed];
    note_useless_flags(arguments, nullptr);
    if (arguments.has(flags::topic) && arguments.has(flags::level)) {
        throw attn::ConfigError("--topic and --level both choose topics: leave one out");
    }
    if (specified_form(arguments) == "json") {
        const std::int64_t count = arguments[flags::sheet].value_or(arguments[flags::count]);
        write_text(arguments, attn::questions_json(questions(arguments, seed, count)));
    } else if (arguments.has(flags::sheet)) {
        write_sheets(arguments, seed);
    } else if (arguments.has(flags::output)) {
        throw attn::ConfigError("-o is for sheets: add --sheet 10");
    } else {
        Asking(arguments, seed).run();
    }
    return 0;
}

std::vector<std::string> form_names() {
    return collected(attn::sheet_forms(), &attn::SheetForm::name);
}

constexpr Need sheet = with<flags::sheet>("a sheet: add --sheet 10");

constexpr Need asking = without<flags::sheet>("questions on the screen: leave --sheet out");

std::vector<Flag> quiz_flags() {
    return {
        {flags::topic, "TOPIC", "ask about one topic only", such_as(attn::quiz_topics)},
        {flags::level, "N",
         "ask about the basics (1: scores, scale, softmax, mask), the next topics (2: heads, "
         "shape, rope, cache) or the last (3: gradient, mistake, rule, recurrence)",
         integer(1, 3), "all"},
        {flags::from, "FILE",
         "ask about the walk of your own numbers: parameters, query and key, or scores, by their "
         "names",
         file()},
        {flags::seed, "N", "ask the questions of this seed again", integer(0),
         "random; 42 for sheets"},
        Flag{flags::count, "N", "number of questions", integer(1, 1000),
             std::to_string(attn::quiz_topics().size())}
            .needing(asking),
        {flags::sheet, "N", "write a sheet of N questions instead of asking", integer(1, 1000)},
        Flag{flags::format, "FORMAT", "format of the sheet", one_of(form_names),
             "from the extension of --output, otherwise markdown"}
            .needing(sheet),
        Flag{flags::solutions, "FILE",
             "write the answers to the sheet, with their derivations, to a file", file()}
            .writing({".md", ".html", ".tex", ".ipynb", ".txt"})
            .needing(sheet),
        Flag{
            flags::students, "N",
            "write N sheets with different numbers: sheet-01.md and so on for -o sheet.md, or into "
            "a folder for -o FOLDER",
            integer(1, 1000)}
            .needing(sheet),
        output_flag({".md", ".html", ".tex", ".ipynb", ".txt", ".json"})};
}

}  // namespace

Command quiz_command() {
    return {
        "quiz",
        "answer questions about small walks, or print them as a sheet",
        {table<quiz_flags>, json_flags},
        run_quiz,
        {{"attn-explain quiz", "Asks questions, and derives every answer."},
         {"attn-explain quiz --topic softmax --seed 3", "The same questions on one topic again."},
         {"attn-explain quiz --sheet 10 -o sheet.md --solutions key.md",
          "A sheet for a class, and its key."}}};
}

}  // namespace app
