#include "app/commands/exercises.hpp"
#include "app/commands/printed_cells.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "app/flags/walk_flags.hpp"
#include "attn/core/settings/parse.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

extern "C" const char attn_practice_numpy[], attn_practice_torch[];

namespace app {
namespace {

constexpr std::string_view begins = "# exercise: ", answers_of = "# answer: ",
                           walk_flags_of = "# explain: ";
constexpr std::string_view hole = "# your code: begin", hole_end = "# your code: end";
constexpr std::string_view placeholder = " = ...  # your code here";

std::vector<Exercise> exercises_in(const char* texts, bool is_torch) {
    std::vector<Exercise> all;
    for (const std::string& line : attn::lines_of(texts)) {
        if (line.starts_with(begins)) {
            all.push_back({line.substr(begins.size()), "", {}, "", is_torch});
        } else if (line.starts_with(answers_of)) {
            for (const std::string& name : attn::split(line.substr(answers_of.size()), ',')) {
                all.back().answers.emplace_back(attn::trimmed(name));
            }
        } else if (line.starts_with(walk_flags_of)) {
            all.back().flags = line.substr(walk_flags_of.size());
        } else {
            all.back().program += line + "\n";
        }
    }
    for (Exercise& each : all) {
        while (each.program.ends_with("\n\n")) each.program.pop_back();
    }
    return all;
}

/// The lines of a program before, in and after its gap.
struct Parts {
    std::string before, solution, after, indent;
};

Parts parts_of(const std::string& program) {
    Parts parts;
    std::string* part = &parts.before;
    for (const std::string& line : attn::lines_of(program)) {
        const std::string_view bare = attn::trimmed(line);
        if (bare == hole) {
            parts.indent = line.substr(0, line.find('#'));
            part = &parts.solution;
        } else if (bare == hole_end) {
            part = &parts.after;
        } else {
            *part += line + "\n";
        }
    }
    while (parts.after.ends_with("\n\n")) parts.after.pop_back();
    return parts;
}

/// Returns the position of the hint in the text of an exercise.
std::pair<std::size_t, std::size_t> hint_in(const std::string& program) {
    const std::size_t from = program.find("\nHint: ");
    return {from, program.find("\"\"\"", from)};
}

/// The last value of a program's variable; nullptr if it has none of that name.
const attn::Tensor* last_variable(const TracedProgram& program, const std::string& name) {
    const auto last = program.last.find(name);
    return last == program.last.end() ? nullptr : program.tensors.find(last->second);
}

/// Returns how a variable differs from that of the solution; empty if it does not.
std::string difference_in(const std::string& name, const attn::Tensor& mine,
                          const attn::Tensor& right) {
    if (mine.shape() != right.shape()) {
        return name + " has shape " + attn::shape_text(mine.shape()) + " and should have " +
               attn::shape_text(right.shape());
    }
    double largest = 0;
    for (const double number : right.numbers()) {
        if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    }
    const auto [worst, distance] = farthest_cell(mine, right);
    if (distance <= 1e-5 * largest) return {};
    return name + attn::index_text(attn::indices_of(worst, right.shape())) + " is " +
           attn::brief(mine.at(worst)) + " and should be " + attn::brief(right.at(worst));
}

/// The line of a tensor in a trace, which its label begins with.
std::size_t line_bound(const TracedProgram& program, const std::string& name) {
    const std::string& label = program.last.at(name);
    return label.find_first_of("0123456789") == 0 ? std::stoul(label) : 0;
}

/// The trace of a solution. Each solution runs once.
const TracedProgram& solved(const Exercise& exercise, const std::string& python) {
    static std::map<const Exercise*, TracedProgram> known;
    const auto found = known.find(&exercise);
    if (found != known.end()) return found->second;
    return known.emplace(&exercise, traced_text(exercise.program, python)).first->second;
}

attn::RequestedWalk walk_of(const Exercise& exercise) {
    Arguments arguments({walk_flags});
    arguments.parse(attn::shell_words(exercise.flags), true);
    return walk_by_flags(arguments);
}

/// Adds the first known mistake, or the rule that the numbers follow, to the judgement. Returns
/// whether there is one.
bool add_mistake(const attn::Explanation& found, bool has_lines, Judgement& judgement) {
    for (const attn::ExplainedAttention& attention : found.attentions) {
        for (const attn::ExplainedLine& line : attention.lines) {
            if (line.finding == nullptr || !line.file.empty()) continue;
            if (line.verdict == attn::LineVerdict::unknown) {
                judgement.text += "\n" + attn::followed_rule(*line.finding);
                if (has_lines) judgement.line = line.line;
                return true;
            }
            if (line.verdict != attn::LineVerdict::wrong) continue;
            const attn::Mistake& mistake = *line.finding->mistake();
            if (has_lines) judgement.line = line.line;
            judgement.mistake = mistake.id;
            judgement.text += "\n" + mistake.id + ": " + attn::described(mistake);
            return true;
        }
    }
    return false;
}

/// Names the mistake of a wrong answer: in the program itself, else in its answers beside the other
/// tensors of the solution.
void explain_mistake(const Exercise& exercise, const TracedProgram& program,
                     const TracedProgram& right, Judgement& judgement) {
    const attn::RequestedWalk walk = walk_of(exercise);
    if (add_mistake(explanation_of(program, walk, {}), true, judgement)) return;
    attn::Ledger answers;
    for (const std::string& name : exercise.answers) {
        const attn::Tensor* const mine = last_variable(program, name);
        if (mine != nullptr) answers.record(right.last.at(name), *mine);
    }
    add_mistake(explanation_of(right, walk, {}, answers), false, judgement);
}

}  // namespace

std::string Exercise::title() const {
    const std::size_t from = program.find(": ");
    return program.substr(from + 2, program.find('\n') - from - 2);
}

std::string Exercise::hint() const {
    const auto [from, to] = hint_in(program);
    if (from == std::string::npos) return {};
    const std::string text = attn::replaced_all(program.substr(from + 7, to - from - 7), "\n", " ");
    return std::string(attn::trimmed(text));
}

std::string Exercise::solution() const { return parts_of(program).solution; }

std::string Exercise::task() const {
    Parts parts = parts_of(program);
    const auto [from, to] = hint_in(parts.before);
    if (from != std::string::npos) parts.before.erase(from, to - from);
    std::string text = parts.before;
    for (const std::string& variable_name : answers) {
        text += parts.indent + variable_name + std::string(placeholder) + "\n";
    }
    return text + parts.after;
}

std::pair<std::string, std::string> Exercise::words_and_program() const {
    constexpr std::string_view quotes = "\"\"\"";
    const std::string text = task();
    const std::size_t from = quotes.size(), to = text.find(quotes, from);
    const std::size_t begin = text.find_first_not_of('\n', to + quotes.size());
    return {text.substr(from, text.find_last_not_of('\n', to - 1) + 1 - from),
            text.substr(begin, text.find_last_not_of('\n') + 1 - begin)};
}

const std::vector<Exercise>& exercises(bool in_torch) {
    static const std::vector<Exercise> in_numpy = exercises_in(attn_practice_numpy, false);
    static const std::vector<Exercise> torch = exercises_in(attn_practice_torch, true);
    return in_torch ? torch : in_numpy;
}

const Exercise* exercise_of(const std::string& path) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (!name.ends_with(".py")) return nullptr;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const Exercise& each : exercises(attn::has_name(text, "import torch"))) {
        if (name.find(each.name) != std::string::npos) return &each;
    }
    return nullptr;
}

Judgement judge_answer(const Exercise& exercise, const std::string& path, const std::string& python,
                       const Limits& limits) {
    using Outcome = Judgement::Outcome;
    Judgement judgement;
    TracedProgram program;
    try {
        program = traced_program(path, python, limits);
    } catch (const EndedProgram& ended) {
        return {Outcome::ended, 0, "", ended.what()};
    }
    const bool is_open = std::ranges::any_of(program.source, [](const std::string& line) {
        return line.find(placeholder) != std::string::npos;
    });
    if (is_open) return {Outcome::not_yet, 0, "", "the place for your code is still empty"};
    if (program.raised) {
        judgement = {Outcome::wrong, program.raised->line, "", raised_text(program)};
        return judgement;
    }
    const TracedProgram& right = solved(exercise, python);
    for (const std::string& name : exercise.answers) {
        const attn::Tensor* const mine = last_variable(program, name);
        if (mine == nullptr) {
            return {Outcome::wrong, 0, "", "there is no array or tensor " + name};
        }
        const std::string differs = difference_in(name, *mine, *last_variable(right, name));
        if (differs.empty()) continue;
        judgement = {Outcome::wrong, line_bound(program, name), "", differs};
        explain_mistake(exercise, program, right, judgement);
        return judgement;
    }
    return judgement;
}

}  // namespace app
