#include "attn/quiz/sheet.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attn/render/ipynb.hpp"
#include "attn/render/svg.hpp"
#include "attn/text/json.hpp"
#include "attn/text/markdown.hpp"
#include "attn/text/width.hpp"

namespace attn {
namespace {

constexpr std::size_t columns = 80;

/// Lines of numbers and derivations, none of them longer than a page is wide.
std::string narrow(const std::string& lines) {
    std::string text;
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = std::min(lines.find('\n', at), lines.size());
        const std::string line = lines.substr(at, end - at);
        const std::string indent(
            line.find_first_not_of(' ') == line.npos ? 0 : line.find_first_not_of(' '), ' ');
        for (const std::string& part : wrap(line.substr(indent.size()), columns - indent.size())) {
            text += (text.empty() ? "" : "\n") + indent + part;
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
std::string in_lines(std::string_view text) { return narrow(std::string(text)); }

std::string latex_prose(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\')
            result += "\\textbackslash{}";
        else if (c == '^' || c == '~')
            result += std::string("\\") + c + "{}";
        else if (std::string_view("{}$&#_%").find(c) != std::string_view::npos)
            result += std::string("\\") + c;
        else
            result += c;
    }
    return result;
}

/// How a form writes each part of a sheet, `{}` for its text.
struct Forms {
    std::string (*prose)(std::string_view);
    const char *head, *question, *paragraph, *block, *choices, *choice, *blank, *tail;
};

const Forms& forms_of(const std::string& format) {
    static const Forms text{in_lines, "{}\n", "\n{}\n\n",      "{}\n", "\n{}\n",
                            "\n{}",   "{}\n", "\nAnswer:\n\n", ""};
    static const Forms markdown{
        markdown_prose, "# {}\n", "\n## {}\n\n",   "{}\n", "\n```text\n{}\n```\n",
        "\n{}",         "- {}\n", "\nAnswer:\n\n", ""};
    static const Forms html{
        xml_text,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{0}</title>\n<style>\nbody {{ font: 1rem/1.5 sans-serif; max-width: 46em; margin: "
        "auto; padding: 1em; }}\npre {{ overflow-x: auto; white-space: pre-wrap; }}\ninput {{ "
        "font: "
        "inherit; width: 18em; border: 0; border-bottom: 1px solid; }}\nsection {{ break-inside: "
        "avoid; }}\n</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        "<section>\n<h2>{}</h2>\n",
        "<p>{}</p>\n",
        "<pre>{}</pre>\n",
        "<ul>\n{}</ul>\n",
        "<li>{}</li>\n",
        "<p><label>Answer: <input autocomplete=\"off\"></label></p>\n",
        "</body>\n</html>\n"};
    static const Forms latex{latex_prose,
                             "\\documentclass{{article}}\n\\usepackage[margin=25mm]{{geometry}}"
                             "\n\\setlength{{\\parindent}}"
                             "{{0pt}}\n\\begin{{document}}\n\\section*{{{}}}\n",
                             "\n\\subsection*{{{}}}\n",
                             "{}\\par\n",
                             "\\begin{{verbatim}}\n{}\n\\end{{verbatim}}\n",
                             "\\begin{{itemize}}\n{}\\end{{itemize}}\n",
                             "\\item[] {}\n",
                             "\\bigskip Answer: \\underline{{\\hspace{{6cm}}}}\\par\n",
                             "\\end{document}\n"};
    return format == "markdown" || format == "ipynb" ? markdown
           : format == "html"                        ? html
           : format == "latex"                       ? latex
                                                     : text;
}

template <class... Parts>
std::string put_in(const char* form, const Parts&... parts) {
    return fmt::format(fmt::runtime(form), parts...);
}

std::string question_text(const Question& question, std::size_t number, bool with_answers,
                          const Forms& forms, bool with_lines) {
    std::string text = put_in(forms.question, fmt::format("{}. {}", number, question.topic));
    const auto block = [&](const std::string& lines) {
        return put_in(forms.block, (forms.prose == xml_text ? xml_text : as_is)(narrow(lines)));
    };
    text += put_in(forms.paragraph, forms.prose(question.asks));
    if (!question.shown.empty() && with_lines) text += block(shown_lines(question));
    std::string choices;
    for (const QuizChoice& choice : question.choices) {
        const auto place = static_cast<char>('a' + (&choice - question.choices.data()));
        choices += put_in(forms.choice, forms.prose(fmt::format("{}) {}", place, choice.text)));
    }
    if (!choices.empty()) text += put_in(forms.choices, choices);
    if (!with_answers) return text + forms.blank;
    return text + put_in(forms.paragraph, forms.prose("Answer: " + question.answer)) +
           block(question.why);
}

/// The lines as Python: `ln 3` as `log(3)`.
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
        const bool has_numbers = questions[i].topic != "rule";
        cells.push_back(
            {question_text(questions[i], i + 1, with_answers, forms_of("ipynb"), !has_numbers)});
        cells.push_back(
            {(has_numbers ? python_of(shown_lines(questions[i])) : "") + "answer = None", true});
    }
    std::string text;
    write_notebook(cells, [&](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace

const std::vector<SheetForm>& sheet_forms() {
    static const std::vector<SheetForm> all{{"text", {".txt"}},
                                            {"markdown", {".md", ".markdown"}},
                                            {"html", {".html", ".htm"}},
                                            {"latex", {".tex"}},
                                            {"ipynb", {".ipynb"}}};
    return all;
}

std::string sheet_text(const std::string& title, const std::vector<Question>& questions,
                       bool with_answers, const std::string& format) {
    if (format == "ipynb") return notebook_text(title, questions, with_answers);
    const Forms& forms = forms_of(format);
    std::string text = put_in(forms.head, forms.prose(title));
    for (std::size_t i = 0; i < questions.size(); ++i) {
        text += question_text(questions[i], i + 1, with_answers, forms, true);
        if (format == "html") text += "</section>\n";
    }
    return text + forms.tail;
}

std::string choices_text(const Question& question) {
    std::string text;
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
        text += fmt::format("{}) {}\n", static_cast<char>('a' + i), question.choices[i].text);
    }
    return text;
}

std::string questions_json(const std::vector<Question>& questions) {
    auto list = nlohmann::ordered_json::array();
    for (const Question& each : questions) {
        nlohmann::ordered_json json{
            {"topic", each.topic}, {"question", each.asks}, {"shown", each.shown}};
        json["choices"] = nlohmann::ordered_json::array();
        for (const QuizChoice& choice : each.choices) {
            json["choices"].push_back(
                {{"text", choice.text},
                 {"mistake", choice.mistake == nullptr ? "" : choice.mistake->id}});
        }
        json["answer"] = each.answer;
        if (each.right.kind == RightAnswer::Kind::number) json["number"] = each.right.number;
        json["why"] = each.why;
        json["flags"] = each.walk.flags;
        json["cell"] = each.cell;
        json["mistake"] = each.mistake == nullptr ? "" : each.mistake->id;
        json["given"] = nlohmann::ordered_json::object();
        for (const auto& [name, tensor] : each.walk.config.parameters.entries()) {
            json["given"][name] = {{"shape", tensor.shape()}, {"numbers", tensor.numbers()}};
        }
        list.push_back(std::move(json));
    }
    return json_text(list);
}

}  // namespace attn
