#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <list>
#include <random>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/io/atomic_file.hpp"
#include "attn/quiz/sheet.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

using attn::Question;
using attn::Verdict;

std::string explained(const Question& question) {
    std::string text;
    for (std::size_t at = 0; at < question.why.size();) {
        const std::size_t end = question.why.find('\n', at);
        text += "  " + question.why.substr(at, end - at) + "\n";
        at = end + 1;
    }
    return text;
}

/// A session: questions one after the other, answers line by line.
class Session {
public:
    Session(const Arguments& arguments, std::uint64_t seed)
        : arguments_(arguments),
          seed_(seed),
          questions_(arguments.text("--topic"), seed),
          count_(*arguments.integer("--count")) {}

    void run() {
        for (; asked_ < count_; ++asked_) {
            const Question question = questions_.next();
            say((asked_ > 0 ? "\n" : "") + std::to_string(asked_ + 1) + " of " +
                std::to_string(count_) + ", " + question.topic + ": " + question.asks + "\n");
            for (const std::string& line : question.shown) say("  " + line + "\n");
            say(choices_text(question));
            if (asked_ == 0 && prompts_) say("Enter: a hint. skip: the answer. q: leave.\n");
            if (!answer(question)) break;
        }
        say("\n" + std::to_string(right_) + " of " + std::to_string(answered_) +
            " right. The same questions: attn-explain quiz" +
            (arguments_.has("--topic") ? " --topic " + arguments_.text("--topic") : "") +
            " --seed " + std::to_string(seed_) + "\n");
    }

private:
    void say(const std::string& text) const { write_text(arguments_, text); }

    /// Reads lines until one is an answer; false at the end.
    bool answer(const Question& question) {
        std::size_t hints = 0;
        for (std::string line;;) {
            if (prompts_) say("> ");
            if (!std::getline(std::cin, line)) return false;
            const std::string typed(attn::trimmed(line));
            if (typed.starts_with('#')) continue;
            if (typed == "q" || typed == "quit") return false;
            if (typed.empty()) {
                const bool has_more = hints < question.hints.size();
                say("  hint: " +
                    (has_more ? question.hints[hints++] : std::string("skip tells the answer")) +
                    "\n");
                continue;
            }
            const bool skips = typed == "?" || typed == "skip";
            const Verdict verdict = skips ? Verdict{} : check_answer(question.right, typed);
            if (verdict.is == Verdict::Is::unread && prompts_) {
                say("  " + verdict.advice + "\n");
                continue;
            }
            ++answered_;
            const bool is_right = verdict.is == Verdict::Is::right;
            right_ += is_right ? 1 : 0;
            say(is_right ? "Right: " + question.answer + "\n"
                : skips  ? "It is " + question.answer + "\n"
                         : "Not " + attn::visible(typed) +
                              (verdict.advice.empty() ? "" : " (" + verdict.advice + ")") +
                              ": it is " + question.answer + "\n");
            if (const attn::Mistake* mistake =
                    is_right || skips ? nullptr : mistake_behind(question, typed)) {
                say("That comes out of a mistake: " + mistake->title + " (attn-explain bugs " +
                    mistake->id + ")\n");
            }
            say(explained(question));
            return true;
        }
    }

    const Arguments& arguments_;
    std::uint64_t seed_;
    attn::QuizSession questions_;
    std::int64_t count_, asked_ = 0, answered_ = 0, right_ = 0;
    bool prompts_ = isatty(STDIN_FILENO) != 0;
};

std::vector<Question> questions(const Arguments& arguments, std::uint64_t seed,
                                std::int64_t count) {
    attn::QuizSession session(arguments.text("--topic"), seed);
    std::vector<Question> all;
    while (std::ssize(all) < count) all.push_back(session.next());
    return all;
}

/// The form that --format says, or the ending of the file.
std::string form_of(const Arguments& arguments, const std::string& path) {
    const std::string said = arguments.has("--format") ? arguments.text("--format") : "";
    for (const attn::SheetForm& form : attn::sheet_forms()) {
        if (std::ranges::find(form.endings, ending_of(path)) == form.endings.end()) continue;
        if (!said.empty() && said != form.name) {
            throw attn::ConfigError("-o " + path + " asks for " + form.name + " and --format for " +
                                    said + ": leave --format out, or give the file another ending");
        }
        return form.name;
    }
    return said.empty() ? "text" : said;
}

/// `sheet.md` as `sheet-03.md`, one of several.
std::string numbered(const std::string& path, std::int64_t number, std::int64_t count) {
    if (count < 2) return path;
    std::string digits = std::to_string(number);
    digits.insert(0, std::to_string(count).size() - digits.size(), '0');
    const std::size_t ending = path.size() - ending_of(path).size();
    return path.substr(0, ending) + "-" + digits + path.substr(ending);
}

/// Writes sheets and their keys, each file whole, and none where one folder takes no files.
void write_sheets(const Arguments& arguments, std::uint64_t seed) {
    const std::string path = arguments.text("--output"), key = arguments.text("--solutions");
    const std::int64_t students = arguments.integer("--students").value_or(1);
    const bool to_file = !path.empty() && path != "-";
    if (arguments.has("--students") && !to_file) {
        throw attn::ConfigError(
            "--students writes a file each: pass -o sheet.md for sheet-01.md and on");
    }
    const std::string form = form_of(arguments, path),
                      key_form = key.empty() ? form : form_of(arguments, key);
    remove_temporaries_on_signals();
    std::vector<std::pair<std::string, std::string>> files;
    for (std::int64_t student = 1; student <= students; ++student) {
        const std::uint64_t own = seed + static_cast<std::uint64_t>(student - 1);
        const std::vector<Question> all = questions(arguments, own, *arguments.integer("--sheet"));
        const std::string title =
            "Attention" +
            (arguments.has("--topic") ? ": " + arguments.text("--topic") : std::string()) +
            (students > 1 ? ", sheet " + std::to_string(student) : "");
        const std::string sheet = sheet_text(title, all, false, form);
        if (to_file)
            files.emplace_back(numbered(path, student, students), sheet);
        else
            write_text(arguments, sheet);
        if (!key.empty()) {
            files.emplace_back(numbered(key, student, students),
                               sheet_text(title + ", answers (--seed " + std::to_string(own) + ")",
                                          all, true, key_form));
        }
    }
    std::list<attn::OutputFile> tried;
    for (std::size_t i = 0; i < std::min<std::size_t>(files.size(), 2); ++i)
        tried.emplace_back(files[i].first);
    tried.clear();
    for (const auto& [name, text] : files) attn::write_file(name, text);
}

int run_quiz(const Arguments& arguments) {
    std::uint64_t seed = arguments.has("--sheet") ? 42 : std::random_device()() % 1'000'000;
    if (arguments.has("--seed")) seed = static_cast<std::uint64_t>(*arguments.integer("--seed"));
    note_useless_flags(arguments, nullptr);
    if (arguments.has("--json") || ending_of(arguments.text("--output")) == ".json") {
        write_text(arguments, attn::questions_json(questions(arguments, seed,
                                                             arguments.integer("--sheet").value_or(
                                                                 *arguments.integer("--count")))));
    } else if (arguments.has("--sheet")) {
        write_sheets(arguments, seed);
    } else if (arguments.has("--output")) {
        throw attn::ConfigError("-o is for sheets: add --sheet 10");
    } else {
        Session(arguments, seed).run();
    }
    return 0;
}

std::vector<std::string> form_names() {
    std::vector<std::string> names;
    for (const attn::SheetForm& form : attn::sheet_forms()) names.push_back(form.name);
    return names;
}

constexpr Need sheet{[](const Arguments& said) { return said.has("--sheet"); }, nullptr,
                     "a sheet: add --sheet 10"};

const std::vector<Flag>& quiz_flags() {
    static const std::vector<Flag> all{
        {"--topic", "TOPIC", "ask about one thing only", one_of(attn::quiz_topics)},
        {"--seed", "N", "ask the questions of this number again", integer(0),
         "another each time; of sheets 42"},
        {"--count", "N", "how many questions are asked", integer(1, 1000), "11"},
        {"--sheet", "N", "write a sheet of N questions instead of asking", integer(1, 1000)},
        Flag{"--format", "FORMAT", "form of the sheet", one_of(form_names),
             "by the name of --output; else text"}
            .needing(sheet),
        Flag{"--solutions", "FILE",
             "write the answers to the sheet, with their derivations, to a file", file()}
            .writing({".txt", ".md", ".html", ".tex", ".ipynb"})
            .needing(sheet),
        Flag{"--students", "N",
             "write as many sheets, each with other numbers, as sheet-01.md and on for -o sheet.md",
             integer(1, 1000)}
            .needing(sheet),
        output_flag({".txt", ".md", ".html", ".tex", ".ipynb", ".json"})};
    return all;
}

}  // namespace

Command quiz_command() {
    return {
        "quiz",
        "answer questions about small walks, or print them as a sheet",
        {quiz_flags, json_flags},
        run_quiz,
        {{"attn-explain quiz", "Asks, and says where each number comes from."},
         {"attn-explain quiz --topic softmax --seed 3", "The same questions on one topic again."},
         {"attn-explain quiz --sheet 10 -o sheet.md --solutions key.md",
          "A sheet for a class, and its key."}}};
}

}  // namespace app
