// Figures and pages as the library writes them: foreign text stays text.
#include "attn/show/render/figures.hpp"
#include "attn/show/render/render.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "attn/ground/tensor/error.hpp"
#include "attn/show/render/svg.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

/// Text that would end a script, an attribute or a line, reverse the direction, or never end.
const std::vector<std::string> hostile{"</script><img src=x onerror=alert(1)>",
                                       "\"'><svg onload=alert(1)>",
                                       "]]>&amp;<!--",
                                       "bell\a null? tab\t line\n",
                                       "\u202Eright\u2069to left\u200F",
                                       "\xFF\xFE no UTF-8",
                                       std::string("\uFFFE\uFFFF"),
                                       "`](x) ```\n# not a heading",
                                       std::string(10000, 'a')};

Tensor some_weights(std::size_t length) {
    Array<float> cells = empty_array<float>({length, length});
    for (std::size_t i = 0; i < cells.size(); ++i) {
        cells.data()[i] = static_cast<float>(i % 7) / 7;
    }
    return {{"query", "key"}, cells};
}

/// A document in which every text is hostile.
Document hostile_document() {
    Document document;
    document.query_tokens = document.key_tokens = {hostile};
    document.command = hostile.front();
    Section section;
    section.name = "weights";
    section.content = some_weights(hostile.size());
    for (const std::string& text : hostile) {
        if (text.size() > 1000) continue;
        section.title += text;
        section.formula += text;
        section.note += text;
        section.margin += text;
        section.code += text;
    }
    document.sections.push_back(section);
    return document;
}

template <class Render>
std::string text_of(Render&& render) {
    std::string text;
    render([&text](std::string_view piece) { text += piece; });
    return text;
}

std::string svg_of(const Document& document, FigureKind kind) {
    FigureChoices choices;
    choices.kind = kind;
    return text_of([&](const Sink& sink) { render_svg(document, choices, sink); });
}

/// Checks that no hostile text is parsed as markup: none of it starts an element.
void check_stays_text(const std::string& text) {
    CHECK(text.find("<img") == std::string::npos);
    CHECK(text.find("<svg onload") == std::string::npos);
    CHECK(text.find("\u202E") == std::string::npos);
    CHECK(text.find('\a') == std::string::npos);
    CHECK(text.find("\uFFFE") == std::string::npos);
    CHECK(text.size() < 60000);
}

/// A page without its fenced blocks, in which no character is special.
std::string without_code(std::string text) {
    for (std::size_t at = text.find("```"); at != text.npos; at = text.find("```", at)) {
        const std::size_t ticks = text.find_first_not_of('`', at) - at;
        const std::string fence = "\n" + text.substr(at, ticks) + "\n";
        const std::size_t end = text.find(fence, at);
        REQUIRE(end != text.npos);
        text.erase(at, end + fence.size() - at);
    }
    return text;
}

}  // namespace

TEST_SUITE("render: figures") {
    TEST_CASE("hostile words stay text in figures, and the file is XML") {
        for (const FigureKind kind : {FigureKind::matrix, FigureKind::arcs}) {
            const std::string svg = svg_of(hostile_document(), kind);
            check_stays_text(svg);
            CHECK(svg.find("&lt;/script&gt;&lt;img") != std::string::npos);
            if (!program::is_installed("xmllint")) continue;
            const program::Result lint = program::shell("xmllint --noout -", svg);
            CHECK_MESSAGE(lint.exit_code == 0, lint.err);
        }
    }

    TEST_CASE("hostile words stay text in a page") {
        const std::string html = text_of(
            [](const Sink& sink) { render_html(hostile_document(), FigureChoices{}, sink); });
        CHECK(html.find("<img") == std::string::npos);
        CHECK(html.find("<svg onload") == std::string::npos);
        // The style, the walk, the views and the script: no other element ends a script.
        std::size_t ends = 0;
        for (std::size_t at = html.find("</script"); at != html.npos;
             at = html.find("</script", at + 1)) {
            ++ends;
        }
        CHECK(ends == 3);
        const std::size_t begin = html.find("id=\"walk\">") + 10;
        const auto walk =
            nlohmann::json::parse(html.substr(begin, html.find("</script", begin) - begin));
        const std::string title = walk.at("steps").at(0).at("title");
        CHECK(title.rfind(hostile.front(), 0) == 0);
    }

    TEST_CASE("hostile words stay text in markdown and in a notebook") {
        const std::string markdown = text_of([](const Sink& sink) {
            render_markdown(hostile_document(), TextForm::torch, PrintOptions{}, Words::all, sink);
        });
        CHECK(markdown.find("\n# not a heading\n") == markdown.rfind("\n# not a heading\n"));
        CHECK(without_code(markdown).find("<img") == std::string::npos);
        // Titles, formulas and margins of a notebook are the program's own text; notes contain
        // tokens.
        Document words = hostile_document();
        words.sections[0].title = words.sections[0].margin = {};
        words.sections[0].formula = "";
        const std::string notebook = text_of(
            [&](const Sink& sink) { render_ipynb(words, TextForm::torch, PrintOptions{}, sink); });
        const auto parsed = nlohmann::json::parse(notebook);
        for (const auto& cell : parsed.at("cells")) {
            if (cell.at("cell_type") != "markdown") continue;
            std::string source;
            for (const std::string line : cell.at("source")) source += line;
            CHECK(without_code(source).find("<img") == std::string::npos);
        }
    }

    TEST_CASE("the same document gives the same bytes") {
        Document document = hostile_document();
        CHECK(svg_of(document, FigureKind::matrix) == svg_of(document, FigureKind::matrix));
    }

    TEST_CASE("nan and infinities are drawn as themselves") {
        Array<double> cells = empty_array<double>({2, 2});
        const double values[] = {NAN, INFINITY, -INFINITY, 0.5};
        std::copy(std::begin(values), std::end(values), cells.data());
        Document document;
        Section section;
        section.name = "distances";
        section.content = Tensor({"query", "key"}, cells);
        document.sections.push_back(section);
        const std::string svg = svg_of(document, FigureKind::matrix);
        for (const std::string text : {"nan", "inf", "-inf"}) {
            CHECK_MESSAGE(svg.find(">" + text + "</text></g>") != std::string::npos, text);
        }
        CHECK(svg.find("class=\"ninf\" data-cell=\"distances[1,0]\"") != std::string::npos);
    }

    TEST_CASE("a hidden key is visibly hidden, however small the weights next to it") {
        Document document;
        const auto add = [&](const char* name, std::initializer_list<double> values) {
            Array<double> cells = empty_array<double>({2, 2});
            std::copy(values.begin(), values.end(), cells.data());
            Section section;
            section.name = name;
            section.content = Tensor({"query", "key"}, cells);
            document.sections.push_back(section);
        };
        add("scores", {3, 1, -9, 2});
        add("masked_scores", {3, -INFINITY, -9, 2});
        add("weights", {1, 0, 1e-5, 0.99999});
        for (const std::size_t i : {1U, 2U}) {
            document.sections[i].scores = std::get<Tensor>(document.sections[1].content);
        }
        const std::string svg = svg_of(document, FigureKind::matrix);
        for (const std::string name : {"masked_scores", "weights"}) {
            CHECK(svg.find("class=\"hid\" data-cell=\"" + name + "[0,1]\"") != std::string::npos);
            CHECK(svg.find("class=\"hid\" data-cell=\"" + name + "[1,0]\"") == std::string::npos);
        }
        CHECK(svg.find("class=\"s0\" data-cell=\"weights[1,0]\"") != std::string::npos);
        CHECK(svg.find("class=\"hid\" data-cell=\"scores[") == std::string::npos);
    }

    TEST_CASE("a tensor that cannot be drawn is refused with a remedy") {
        Document document = hostile_document();
        CHECK_THROWS_WITH_AS(svg_of(document, FigureKind::flow),
                             doctest::Contains("leave only out"), ConfigError);
        document.sections[0].name = "scores";
        CHECK_THROWS_WITH_AS(svg_of(document, FigureKind::arcs), doctest::Contains("keep weights"),
                             ConfigError);
    }

    TEST_CASE("empty tensors, scalars and rows are drawn too") {
        Document document;
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{0, 2}, Shape{2, 1, 1, 2}}) {
            Section section;
            section.name = "x";
            section.content = Tensor(Axes(shape.size(), "axis"), empty_array<float>(shape));
            document.sections.push_back(section);
        }
        Section words;
        words.name = "shape";
        words.content = "torch.Size([2, 4])";
        document.sections.push_back(words);
        const std::string svg = svg_of(document, FigureKind::matrix);
        CHECK(svg.find("torch.Size([2, 4])") != std::string::npos);
        CHECK(svg.find("data-cell=\"x[1,0,0,1]\"") != std::string::npos);
        CHECK(svg.find("data-cell=\"x[]\"") != std::string::npos);
    }
}
