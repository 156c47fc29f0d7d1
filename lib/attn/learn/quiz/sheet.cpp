#include "attn/learn/quiz/question.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/svg.hpp"

namespace attn {
namespace {

constexpr std::size_t sheet_columns = 80;

/// Breaks a line to the width of a page: a tensor is broken after a row.
std::vector<std::string> broken(const std::string& line) {
    std::vector<std::string> lines;
    std::size_t begin = 0;
    const std::size_t indent = std::min(line.find('['), sheet_columns / 2);
    while (line.size() - begin + (begin > 0 ? indent : 0) > sheet_columns) {
        const std::size_t end = line.rfind("], ", begin + sheet_columns - indent - 2);
        if (end == line.npos || end < begin) break;
        lines.push_back(line.substr(begin, end + 2 - begin));
        begin = end + 3;
    }
    if (lines.empty()) return wrap(line, sheet_columns);
    lines.push_back(line.substr(begin));
    for (std::size_t i = 1; i < lines.size(); ++i) lines[i].insert(0, indent + 1, ' ');
    return lines;
}

/// Formats lines of numbers and derivations, none longer than the width of a page.
std::string narrow(const std::string& lines, std::string (*escaped)(std::string_view)) {
    std::string text;
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        const std::string line = lines.substr(at, end - at);
        const bool is_long = line.size() > sheet_columns;
        for (const std::string& part : is_long ? broken(line) : std::vector{line}) {
            text += (text.empty() ? "" : "\n") + escaped(part);
        }
        at = end + 1;
    }
    return text;
}

std::string shown_lines(const Question& question) {
    std::string text;
    for (const std::string& line : question.shown) text += line + "\n";
    return text;
}

std::string as_is(std::string_view text) { return std::string(text); }

std::string latex_prose(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (std::string_view("{}$&#_%^~").find(c) != std::string_view::npos) result += '\\';
        result += c;
        if (c == '^' || c == '~') result += "{}";
    }
    return result;
}

std::string text_lines(std::string_view text) { return joined(wrap(text, sheet_columns), "\n"); }

/// Formats such lines without accidental lists in Markdown.
std::string markdown_lines(std::string_view text) {
    return replaced_all(text_lines(markdown_prose(text)),
                        {{"\n-", "\n\\-"}, {"\n+", "\n\\+"}, {"\n=", "\n\\="}});
}

constexpr Paper markdown{markdown_lines,
                         as_is,
                         "# {}\n",
                         "\n## {}\n",
                         "\n{}\n",
                         "\n```text\n{}\n```\n",
                         "\nName: \\_\\_\\_\\_\\_\\_\\_\\_\\_\\_ Date: \\_\\_\\_\\_\\_\\_\n",
                         "\nAnswer:\n",
                         "",
                         ""};
constexpr Paper plain{text_lines,
                      as_is,
                      "{}\n",
                      "\n{}\n",
                      "\n{}\n",
                      "\n{}\n",
                      "\nName: ____________________ Date: ____________\n",
                      "\nAnswer: ____________\n",
                      "",
                      ""};

constexpr Paper html{xml_text,
                     xml_text,
                     "",
                     "<section>\n<h2>{}</h2>\n",
                     "<p>{}</p>\n",
                     "<pre>{}</pre>\n",
                     "<p><label>Name: <input autocomplete=\"off\"></label> "
                     "<label>Date: <input autocomplete=\"off\"></label></p>\n",
                     "<p><label>Answer: <input autocomplete=\"off\"></label></p>\n",
                     "</section>\n",
                     ""};

constexpr Paper latex{latex_prose,
                      as_is,
                      R"(\documentclass{{article}}
\usepackage[margin=25mm]{{geometry}}
\setlength{{\parindent}}{{0pt}}
\begin{{document}}
\section*{{{}}}
)",
                      "\n\\begin{{minipage}}{{\\textwidth}}\n\\subsection*{{{}}}\n",
                      "{}\\par\n",
                      "\\begin{{verbatim}}\n{}\n\\end{{verbatim}}\n",
                      "Name: \\underline{\\hspace{6cm}} Date: \\underline{\\hspace{3cm}}\\par\n",
                      "\\bigskip Answer: \\underline{\\hspace{6cm}}\\par\n",
                      "\\end{minipage}\\par\n",
                      "\\end{document}\n"};

std::string question_text(const Question& question, std::size_t number, bool with_answers,
                          const Paper& parts, bool with_lines) {
    const auto paragraph = [&](const std::string& text) {
        return Paper::put(parts.paragraph, parts.prose(text));
    };
    std::string text = Paper::put(parts.section, fmt::format("{}. {}", number, question.topic));
    text += paragraph(question.asks);
    if (!question.shown.empty() && with_lines) text += parts.block_of(shown_lines(question));
    for (const std::string& choice : choice_lines(question)) text += paragraph(choice);
    if (!with_answers) return text + parts.blank + parts.end;
    text += paragraph("Answer: " + question.answer) + parts.block_of(question.why);
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
        const Mistake* mistake = question.choices[i].mistake;
        if (mistake == nullptr) continue;
        text += paragraph(fmt::format("If you chose {}): {} (attn-explain bugs {}).",
                                      static_cast<char>('a' + i), mistake->title.visible(),
                                      mistake->id));
    }
    return text + parts.end;
}

/// Converts the lines to Python: `ln 3` becomes `log(3)`.
std::string python_of(const std::string& lines) {
    std::string text = lines;
    for (std::size_t at = 0; (at = text.find("ln ", at)) != text.npos;) {
        const std::size_t end = text.find_first_of(",]", at);
        text.insert(end, ")");
        text.replace(at, 3, "log(");
    }
    return text;
}

std::string notebook_text(const std::string& title, const std::vector<Question>& questions,
                          bool with_answers) {
    std::vector<NotebookCell> cells{{"# " + title}, {"from math import inf, log, nan", true}};
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const bool has_numbers = std::ranges::all_of(questions[i].shown, [](const auto& line) {
            return line.find(" = [") != line.npos;  // rules are not Python
        });
        cells.push_back({question_text(questions[i], i + 1, with_answers, markdown, !has_numbers)});
        cells.push_back(
            {(has_numbers ? python_of(shown_lines(questions[i])) : "") + "answer = None", true});
    }
    std::string text;
    write_notebook(cells, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace

const std::vector<SheetForm>& sheet_forms() {
    static const std::vector<SheetForm> all{{"markdown", {".md", ".markdown"}},
                                            {"html", {".html", ".htm"}},
                                            {"latex", {".tex"}},
                                            {"ipynb", {".ipynb"}},
                                            {"text", {".txt"}}};
    return all;
}

std::string Paper::put(const char* part, const std::string& text) {
    return fmt::format(fmt::runtime(part), text);
}

std::string Paper::block_of(const std::string& text) const {
    return put(block, narrow(text, lines));
}

const Paper& paper(const std::string& format) {
    if (format == "html") return html;
    if (format == "latex") return latex;
    if (format == "text") return plain;
    if (format == "markdown") return markdown;
    throw ConfigError("there is no sheet of form '" + format +
                      "': markdown, html, latex, ipynb or text");
}

std::string sheet_text(const std::string& title, const std::vector<Question>& questions,
                       bool with_answers, const std::string& format, const std::string& command) {
    if (format == "ipynb") return notebook_text(title, questions, with_answers);
    const Paper& parts = paper(format);
    std::string text = Paper::put(parts.head, parts.prose(title));
    if (!with_answers) text += parts.names;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        text += question_text(questions[i], i + 1, with_answers, parts, true);
    }
    if (format == "html") return text_page(title, command, text);
    return text + parts.tail;
}

std::string text_page(const std::string& title, const std::string& command,
                      const std::string& text) {
    return plain_page({title, command, "<div class=\"text\">\n" + text + "</div>\n"});
}

std::vector<std::string> choice_lines(const Question& question) {
    std::vector<std::string> lines;
    for (const QuizChoice& choice : question.choices) {
        lines.push_back(fmt::format("{}) {}", static_cast<char>('a' + lines.size()), choice.text));
    }
    return lines;
}

std::string questions_json(const std::vector<Question>& questions) {
    using Json = nlohmann::ordered_json;
    const auto id_of = [](const Mistake* cause) {
        return cause == nullptr ? std::string() : cause->id;
    };
    Json list = Json::array();
    for (const Question& each : questions) {
        Json choices = Json::array(), given = Json::object();
        for (const QuizChoice& choice : each.choices) {
            choices.push_back({{"text", choice.text}, {"mistake", id_of(choice.mistake)}});
        }
        for (const auto& [name, tensor] : each.walk.config.parameters.entries()) {
            given[name] = {{"shape", tensor.shape()}, {"numbers", tensor.numbers()}};
        }
        list.push_back({{"topic", each.topic},
                        {"question", each.asks},
                        {"shown", each.shown},
                        {"choices", choices},
                        {"answer", each.answer},
                        {"why", each.why},
                        {"flags", each.walk.flags},
                        {"given", given},
                        {"cell", each.cell},
                        {"mistake", id_of(each.mistake)}});
        if (each.right.kind == RightAnswer::Kind::number) list.back()["number"] = each.right.number;
    }
    return json_text(list);
}

}  // namespace attn
