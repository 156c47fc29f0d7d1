// The heatmap: colours only if they are wanted, readable, ordered, and labelled.
#include <algorithm>
#include <cmath>
#include <regex>

#include "attn/ground/text/strings.hpp"
#include "tests/support/program.hpp"

using program::run;
using program::shell;
using program::without_escapes;

namespace {

struct Cell {
    int foreground[3];
    int background[3];
    std::string text;
};

/// The coloured cells of a 24-bit output, in order.
std::vector<Cell> cells_of(const std::string& out) {
    static const std::regex form(
        "\x1b\\[38;2;(\\d+);(\\d+);(\\d+);48;2;(\\d+);(\\d+);(\\d+)m([^\x1b]*)\x1b\\[0m");
    std::vector<Cell> cells;
    for (std::sregex_iterator it(out.begin(), out.end(), form), end; it != end; ++it) {
        const auto number = [&](int group) {
            return std::stoi((*it)[static_cast<std::size_t>(group)]);
        };
        cells.push_back(
            {{number(1), number(2), number(3)}, {number(4), number(5), number(6)}, (*it)[7].str()});
    }
    return cells;
}

/// WCAG's relative luminance.
double luminance(const int (&color)[3]) {
    const auto linear = [](int value) {
        const double v = value / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
}

double contrast(const Cell& cell) {
    const double a = luminance(cell.foreground) + 0.05;
    const double b = luminance(cell.background) + 0.05;
    return std::max(a, b) / std::min(a, b);
}

bool has_escape(const program::Result& result) {
    return result.out.find('\x1b') != std::string::npos ||
           result.err.find('\x1b') != std::string::npos;
}

/// The command that runs `command` on a terminal of its own, if `script` is installed.
std::string on_a_terminal(const std::string& command) {
    return "script -qec \"" + command + "\" /dev/null";
}

const std::string full = "COLORTERM=truecolor attn-explain --heatmap --color always -q ";

}  // namespace

TEST_SUITE("app: heatmap") {
    TEST_CASE("no escape byte goes into a pipe unless requested") {
        CHECK_FALSE(has_escape(run("--heatmap")));
        CHECK_FALSE(has_escape(run("--heatmap --color never")));
        CHECK_FALSE(has_escape(run("--color always --format json --only weights")));
        CHECK_FALSE(has_escape(run("")));
        CHECK_FALSE(has_escape(shell("NO_COLOR=1 FORCE_COLOR=1 attn-explain --heatmap")));
        CHECK_FALSE(has_escape(shell("FORCE_COLOR=0 attn-explain --heatmap")));
        CHECK(has_escape(run("--heatmap --color always")));
        CHECK(has_escape(shell("FORCE_COLOR=1 attn-explain --heatmap")));
        CHECK(has_escape(shell("NO_COLOR=1 attn-explain --heatmap --color always")));
        const program::Result refused = run("--color sometimes");
        CHECK(refused.exit_code == 2);
        CHECK(refused.err.find("use auto, always or never") != std::string::npos);
    }

    TEST_CASE("a terminal gets colours, a dumb one does not") {
        if (shell(on_a_terminal("true")).exit_code != 0) return;
        const std::string heatmap = on_a_terminal("attn-explain --heatmap --only weights");
        CHECK(has_escape(shell("unset NO_COLOR; TERM=xterm " + heatmap)));
        CHECK_FALSE(has_escape(shell("unset NO_COLOR; TERM=dumb " + heatmap)));
        CHECK_FALSE(has_escape(shell("NO_COLOR=1 TERM=xterm " + heatmap)));
        CHECK(has_escape(shell("unset NO_COLOR; TERM=xterm " + on_a_terminal("attn-explain"))));
        CHECK_FALSE(has_escape(shell("TERM=xterm " + on_a_terminal("attn-explain -q"))));
        const program::Result binary = shell(on_a_terminal("attn-explain --format npz"));
        CHECK(binary.out.find("is not text for a terminal") != std::string::npos);
    }

    TEST_CASE("COLORTERM chooses between 24 bits and 256 colours") {
        CHECK(cells_of(shell(full + "--only weights").out).size() > 36);
        const std::string indexed =
            shell("COLORTERM= attn-explain --heatmap --color always -q --only weights").out;
        CHECK(indexed.find("48;2;") == std::string::npos);
        static const std::regex form("\x1b\\[38;5;(\\d+);48;5;(\\d+)m");
        std::size_t count = 0;
        for (std::sregex_iterator it(indexed.begin(), indexed.end(), form), end; it != end; ++it) {
            ++count;
            // a user may have changed the first 16
            CHECK(std::stoi((*it)[1]) >= 16);
            CHECK(std::stoi((*it)[2]) >= 16);
        }
        CHECK(count > 36);
    }

    TEST_CASE("every cell can be read, and sets both of its colours") {
        for (const std::string flags :
             {"--seq-len 9 --mask causal --detail", "--precision 2 --mask causal --detail"}) {
            const auto cells = cells_of(shell(full + flags).out);
            CHECK(cells.size() > 100);
            for (const Cell& cell : cells) CHECK_MESSAGE(contrast(cell) >= 4.5, cell.text);
        }
    }

    TEST_CASE("larger weights are lighter, and the scale is 0 to 1") {
        const auto cells = cells_of(shell(full + "--only weights --mask causal --precision 6").out);
        REQUIRE(cells.size() == 36 + 17);
        for (std::size_t i = 0; i < 36; ++i) {
            for (std::size_t j = 0; j < 36; ++j) {
                if (std::stod(cells[i].text) + 0.004 < std::stod(cells[j].text)) {
                    CHECK_MESSAGE(luminance(cells[i].background) < luminance(cells[j].background),
                                  cells[i].text << " and " << cells[j].text);
                }
            }
        }
        for (std::size_t i = 37; i < cells.size(); ++i) {
            CHECK(luminance(cells[i - 1].background) < luminance(cells[i].background));
        }
        CHECK(luminance(cells[0].background) == luminance(cells.back().background));
    }

    TEST_CASE("signed numbers are purple below zero, orange above, pale at zero") {
        const std::string out =
            shell("printf '%s' '-2,0,2,-1,1' | " + full + "--x - --projection none --only x").out;
        const auto cells = cells_of(out);
        REQUIRE(cells.size() == 5 + 17);
        CHECK(std::min(cells[0].background[0], cells[0].background[2]) >
              cells[0].background[1] + 20);
        CHECK(cells[2].background[0] > cells[2].background[2] + 60);
        CHECK(std::abs(cells[1].background[0] - cells[1].background[2]) <= 2);
        CHECK(luminance(cells[1].background) > luminance(cells[3].background));
        CHECK(luminance(cells[3].background) > luminance(cells[0].background));
        CHECK(luminance(cells[4].background) > luminance(cells[2].background));
        CHECK(without_escapes(out).find("-2 ") != std::string::npos);
    }

    TEST_CASE("nan and the infinities are grey, each in its own shade, and in the legend") {
        const auto cells = cells_of(
            shell("printf '%s' 'nan,inf,-inf,1' | " + full + "--x - --projection none --only x")
                .out);
        REQUIRE(cells.size() == 4 + 17 + 3);
        for (std::size_t i = 0; i < 3; ++i) {
            CHECK(cells[i].background[0] == cells[i].background[1]);
            CHECK(cells[i].background[1] == cells[i].background[2]);
            CHECK(cells[i].background[0] != cells[(i + 1) % 3].background[0]);
        }
        CHECK(cells[21].text == " -inf ");
        CHECK(cells[21].background[0] == cells[2].background[0]);
    }

    TEST_CASE("axes show the tokens of their own sequence, and slices the tokens that they kept") {
        const std::string two =
            "--heatmap -q --text 'the black cat' --text '日本語 א' --mask padding ";
        const std::string whole = run(two + "--only weights").out;
        CHECK(whole.find("batch 0\n         the   black     cat\nthe ") != std::string::npos);
        CHECK(whole.find("batch 1\n") != std::string::npos);
        CHECK(whole.find("\n日本語") != std::string::npos);
        const std::string part = run(two + "--only 'weights[0,::-2,1:]'").out;
        CHECK(part.find("black     cat\ncat ") != std::string::npos);
        CHECK(part.find("\nthe ") != std::string::npos);
        CHECK(run(two + "--only 'weights[1,0]'").out.find("日本語") != std::string::npos);
    }

    TEST_CASE(
        "wide matrices are broken into blocks of the line width, large ones show their corners") {
        const std::string wide = run("--heatmap -q --seq-len 20 --only weights").out;
        std::istringstream lines(wide);
        std::size_t count = 0;
        for (std::string line; std::getline(lines, line); ++count) CHECK(line.size() <= 80);
        CHECK(count == 3 * 21);
        const std::string large = run("--heatmap -q --seq-len 40 --only weights").out;
        CHECK(large.find("\n…\n") != std::string::npos);
        CHECK(large.find("\n37 ") != std::string::npos);
    }

    TEST_CASE("without colours the grid is the same") {
        const std::string plain = run("--heatmap -q --only weights").out;
        std::string shaded = without_escapes(run("--heatmap -q --only weights --color always").out);
        shaded = std::regex_replace(shaded, std::regex(" +\n"), "\n");
        CHECK(shaded.rfind(plain, 0) == 0);
        CHECK(shaded.substr(plain.size()).rfind("0 ", 0) == 0);
    }

    TEST_CASE("the scale ends at the maximum of each row, of the tensor, or at one") {
        const auto lightest_of_row = [](const std::string& scale) {
            const auto cells =
                cells_of(shell("COLORTERM=truecolor attn-explain --heatmap" + scale +
                               " --color always -q --only weights --mask causal --precision 6")
                             .out);
            REQUIRE(cells.size() == 36 + 17);
            std::vector<double> lightest(6, 0.0);
            for (std::size_t i = 0; i < 36; ++i) {
                lightest[i / 6] = std::max(lightest[i / 6], luminance(cells[i].background));
            }
            return lightest;
        };
        const std::vector<double> row = lightest_of_row("=row");
        CHECK(*std::min_element(row.begin(), row.end()) ==
              *std::max_element(row.begin(), row.end()));
        const std::vector<double> fixed = lightest_of_row("=fixed");
        CHECK(fixed == lightest_of_row(""));
        CHECK(fixed == lightest_of_row("=tensor"));  // the first row is one weight of 1
        CHECK(fixed[5] < row[5]);
        const std::string tensor = run("--heatmap=tensor --color always -q --only weights").out;
        CHECK(without_escapes(tensor).find(" 0.3306\n") != std::string::npos);
    }

    TEST_CASE("a compact heatmap without colours has two columns per cell and no digits") {
        const std::string plain = run("--heatmap=compact -q --only weights").out;
        CHECK(plain.rfind("        0 1 2 3 4 5\nlife    ░ ░ ░ ░ ░ ░\n", 0) == 0);
        CHECK(plain.ends_with("\n0 · ░ ▒ ▓ █ 1\n"));
        const std::string masked =
            run("--heatmap=compact -q --only masked_scores --mask causal").out;
        CHECK(masked.find("-∞-∞") != std::string::npos);
        CHECK(run("--heatmap=compact -q --only ids").out == run("--heatmap -q --only ids").out);
    }

    TEST_CASE(
        "in colour a compact heatmap has two cells to a character, in the full one's colours") {
        const std::string flags =
            " --color always -q --only weights --heads 3 --embed-dim 6 --seq-len 5 --mask causal";
        const auto cells = cells_of(
            shell("COLORTERM=truecolor attn-explain --heatmap" + flags + " --precision 6").out);
        REQUIRE(cells.size() == 3 * 25 + 17);
        const std::string compact =
            shell("COLORTERM=truecolor attn-explain --heatmap=compact" + flags).out;
        static const std::regex form(
            "\x1b\\[38;2;(\\d+);(\\d+);(\\d+)(?:;48;2;(\\d+);(\\d+);(\\d+))?m▀\x1b\\[0m");
        std::size_t count = 0;
        for (std::sregex_iterator it(compact.begin(), compact.end(), form), end; it != end;
             ++it, ++count) {
            // Five columns in each of three heads; lines of rows 0 and 1, 2 and 3, and 4.
            const std::size_t row = count / 15 * 2, head = count / 5 % 3, column = count % 5;
            const std::size_t above = head * 25 + row * 5 + column;
            for (int i = 0; i < 3; ++i) {
                CHECK(std::stoi((*it)[1 + i]) == cells[above].background[i]);
                CHECK((*it)[4 + i].matched == (row < 4));
                if (row < 4) {
                    CHECK(std::stoi((*it)[4 + i]) == cells[above + 5].background[i]);
                }
            }
        }
        CHECK(count == 3 * 15);
        CHECK(without_escapes(compact).find("head 0   head 1   head 2\n") != std::string::npos);
    }

    TEST_CASE("compact heads are side by side in 80 columns, with the words of their sequence") {
        const auto widest = [](const std::string& text) {
            std::istringstream lines(without_escapes(text));
            std::size_t most = 0;
            for (std::string line; std::getline(lines, line);) {
                most = std::max(most, attn::display_width(line));
            }
            return most;
        };
        for (const std::string walk :
             {"--heads 12 --embed-dim 48 --seq-len 64", "--heads 12 --embed-dim 48 --seq-len 6",
              "--heads 3 --embed-dim 12 --seq-len 100 --mask causal", "--embed-dim 300"}) {
            for (const std::string color : {"always", "never"}) {
                const std::string drawn = run("--heatmap=compact -q --color " + color + " " + walk +
                                              " --only x,scores,weights")
                                              .out;
                CHECK_MESSAGE(widest(drawn) <= 80, walk << " " << color);
                CHECK(drawn.find("…") == std::string::npos);
            }
        }
        const std::string two =
            run("--heatmap=compact -q --text 'a red fox' --text 'one dog' --mask padding --heads 2 "
                "--only weights")
                .out;
        CHECK(two.find("batch 1\n      head 0   head 1\n") != std::string::npos);
        CHECK(two.find("\n<pad> ") != std::string::npos);
        const std::string named = run("--heatmap=compact -q --seq-len 64 --only weights").out;
        CHECK(named.find("█ largest of its row\n") != std::string::npos);
    }

    TEST_CASE("notebooks are labelled by their own tokens") {
        CHECK(run("notebook 003 --heatmap -q --only weights").out.find("life") !=
              std::string::npos);
    }
}
