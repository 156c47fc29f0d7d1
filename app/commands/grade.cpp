#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/exercises.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

template <>
inline constexpr std::array<std::pair<std::string_view, app::Judgement::Outcome>, 4>
    attn::words<app::Judgement::Outcome>{{{"right", app::Judgement::Outcome::right},
                                          {"wrong", app::Judgement::Outcome::wrong},
                                          {"not solved", app::Judgement::Outcome::not_yet},
                                          {"ended", app::Judgement::Outcome::ended}}};

namespace app {
namespace {

/// An answer that was graded.
struct Graded {
    std::string student, exercise;
    Judgement judgement;

    bool is_right() const { return judgement.outcome == Judgement::Outcome::right; }
    /// `line 12: `; empty if the mistake has no line.
    std::string place() const {
        return judgement.line > 0 ? "line " + std::to_string(judgement.line) + ": " : "";
    }
    std::string result() const { return std::string(attn::word(judgement.outcome)); }
};

/// Grades every answer below a folder, in the order of their paths.
std::vector<Graded> grade(const std::filesystem::path& folder, const std::string& python,
                          const Limits& limits) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
    std::ranges::sort(paths);
    std::vector<Graded> graded;
    Progress progress;
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const Exercise* const exercise = exercise_of(paths[i]);
        if (exercise == nullptr) continue;
        progress.show(static_cast<double>(i) / static_cast<double>(paths.size()), paths[i]);
        std::string student = std::filesystem::relative(paths[i], folder).string();
        student.erase(student.size() - 3);  // .py
        if (const std::size_t at = student.rfind(exercise->name); at != std::string::npos) {
            student.erase(at, exercise->name.size());
        }
        while (!student.empty() &&
               std::string_view("/_- ").find(student.back()) != std::string_view::npos) {
            student.pop_back();
        }
        Judgement judgement;
        try {
            judgement = judge_answer(*exercise, paths[i], python, limits);
        } catch (const attn::InputError& error) {
            judgement = {Judgement::Outcome::ended, 0, "", error.what()};
        }
        graded.push_back({student, exercise->name, std::move(judgement)});
    }
    progress.clear();
    return graded;
}

std::string grades_text(const std::vector<Graded>& all) {
    std::size_t width = 7, right = 0;
    for (const Graded& each : all) {
        width = std::max(width, attn::display_width(attn::visible(each.student)));
        right += each.is_right();
    }
    std::string text;
    for (const Graded& each : all) {
        const std::string words =
            each.judgement.mistake.empty()
                ? each.judgement.text.substr(0, each.judgement.text.find('\n'))
                : each.judgement.mistake;
        text += attn::fitted(attn::visible(each.student), width, false) +
                fmt::format("  {:<20} {:<10} ", each.exercise, each.result()) +
                (each.is_right() ? "" : each.place() + attn::cut_to(attn::visible(words), 60)) +
                "\n";
    }
    return text + fmt::format("{} of {} answers are right\n", right, all.size());
}

std::string as_csv(const std::vector<Graded>& all) {
    std::string text = "student,exercise,points,result,line,mistake,message\n";
    for (const Graded& each : all) {
        text += attn::csv_field(attn::visible(each.student)) + "," + each.exercise + "," +
                (each.is_right() ? "1," : "0,") + each.result() + "," +
                (each.judgement.line > 0 ? std::to_string(each.judgement.line) : "") + "," +
                each.judgement.mistake + "," + attn::csv_field(attn::visible(each.judgement.text)) +
                "\n";
    }
    return text;
}

attn::JsonText grade_json(const Graded& each) {
    return {{"student", each.student},           {"exercise", each.exercise},
            {"points", each.is_right() ? 1 : 0}, {"result", each.result()},
            {"line", each.judgement.line},       {"mistake", each.judgement.mistake},
            {"message", each.judgement.text}};
}

/// results.json of Gradescope: a test for each exercise of one submission.
std::string as_gradescope(const std::vector<Graded>& all) {
    const auto tests = collected(all, [](const Graded& each) -> attn::JsonText {
        return {{"name", each.exercise},
                {"score", each.is_right() ? 1 : 0},
                {"max_score", 1},
                {"status", each.is_right() ? "passed" : "failed"},
                {"output", each.is_right() ? "right" : each.place() + each.judgement.text}};
    });
    return attn::JsonText({{"tests", {tests, ",\n  "}}}).text + "\n";
}

int run_grade(const Arguments& arguments) {
    const std::filesystem::path folder = std::string(arguments[flags::folder]);
    if (!std::filesystem::is_directory(folder)) {
        throw attn::InputError(attn::quoted_text(folder.string()) + ": is not a folder of answers");
    }
    Limits limits;
    limits.seconds = static_cast<unsigned>(arguments[flags::seconds]);
    limits.bytes = std::size_t{6} << 30;
    limits.is_trusted = false;
    const std::vector<Graded> all = grade(folder, std::string(arguments[flags::python]), limits);
    if (all.empty()) {
        throw attn::InputError(attn::quoted_text(folder.string()) +
                               ": contains no answers: name them after the exercises, as in "
                               "ada/04_causal_mask.py");
    }
    const std::string format = specified_form(arguments);
    write_text(arguments, format == "json"  ? attn::JsonText(collected(all, grade_json)).text + "\n"
                          : format == "csv" ? as_csv(all)
                          : format == "gradescope" ? as_gradescope(all)
                                                   : grades_text(all));
    return 0;
}

std::vector<Flag> grade_flags() {
    return {
        Flag{flags::folder, "FOLDER", "a folder of answers, one folder per student"}.demanded(),
        {flags::format, "FORMAT", "gradescope: results.json of one submission",
         one_of("text json csv gradescope"), "from the extension of --output, otherwise text"},
        {flags::seconds, "N", "stop an answer after N seconds of processor time", integer(1, 3600),
         "20"},
        python_flag("answers"),
        output_flag({".txt", ".json", ".csv"}),
    };
}

}  // namespace

Command grade_command() {
    return {"grade",
            "check a folder of answers to the exercises",
            {table<grade_flags>, json_flags},
            run_grade,
            {{"attn-explain grade submissions -o grades.csv",
              "Runs each answer in its own process, with limits, and names its mistake."}}};
}

}  // namespace app
