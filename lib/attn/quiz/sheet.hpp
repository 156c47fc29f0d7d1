#pragma once
#include <string>
#include <vector>

#include "attn/quiz/question.hpp"

namespace attn {

/// A form of sheets, by its name and the endings of its files.
struct SheetForm {
    std::string name;
    std::vector<std::string_view> endings;
};
const std::vector<SheetForm>& sheet_forms();

/// Questions on paper, or with their answers and derivations the key to it.
///
/// `format` is one of those above: markdown, html (one file that needs no network), latex (a
/// document) or ipynb (whose cells hold the numbers as Python).
std::string sheet_text(const std::string& title, const std::vector<Question>& questions,
                       bool with_answers, const std::string& format);

/// The questions as a JSON list, with all that a stranger needs to confirm the answers: flags, the
/// tensors given, the cell, and the mistakes behind wrong choices.
std::string questions_json(const std::vector<Question>& questions);

/// The choices as they are read: `a) 0.5`.
std::vector<std::string> choice_lines(const Question& question);

}  // namespace attn
