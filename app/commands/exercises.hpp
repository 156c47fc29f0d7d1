#pragma once
#include <string>
#include <vector>

#include "app/commands/program_run.hpp"
#include "attn/judge/trace/explain.hpp"

namespace app {

/// An exercise from data/practice: a program with a gap.
struct Exercise {
    std::string name;                  ///< `04_causal_mask`
    std::string program;               ///< with the solution
    std::vector<std::string> answers;  ///< the variables that are judged
    std::string flags;                 ///< of the walk that it computes
    bool is_torch = false;

    std::string title() const;
    std::string hint() const;
    /// The lines that solve it.
    std::string solution() const;
    /// The program as the learner gets it: a placeholder instead of the solution.
    std::string task() const;
    /// The words at the beginning of the task, and the text after them.
    std::pair<std::string, std::string> words_and_program() const;
};

/// The exercises in the order in which they teach, in NumPy or in PyTorch.
const std::vector<Exercise>& exercises(bool in_torch);

/// The exercise that a file answers, by its name and the library that it imports; nullptr if there
/// is none.
const Exercise* exercise_of(const std::string& path);

/// The verdict on an answer.
struct Judgement {
    enum class Outcome { right, wrong, not_yet, ended };
    Outcome outcome = Outcome::right;
    std::size_t line = 0;   ///< of the mistake; 0 if it has none
    std::string mistake{};  ///< id of the mistake; empty if it is unknown
    std::string text{};     ///< in words; empty if the answer is right
};

/// Runs an answer and compares its variables with those of the solution. A wrong one is explained.
///
/// Errors  as traced_program; a program that is stopped gets a verdict instead.
Judgement judge_answer(const Exercise& exercise, const std::string& path, const std::string& python,
                       const Limits& limits);

}  // namespace app
