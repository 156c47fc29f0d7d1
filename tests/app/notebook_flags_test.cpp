// The cells of the replayed notebooks as plain walks: `--as-flags` and `--notebook`.
#include <cmath>
#include <sstream>

#include "tests/support/steps.hpp"

using Json = nlohmann::json;
using program::run;
using program::shell;

namespace {

/// A line of `--as-flags`: name and title of each cell, and the command below it.
struct Line {
    std::string name, title, command;
};

std::vector<Line> lines_of_cells(const std::string& notebook) {
    std::istringstream text(run("notebook " + notebook + " --as-flags").out);
    std::vector<Line> lines;
    for (std::string line; std::getline(text, line);) {
        REQUIRE(line.starts_with("# "));
        const std::size_t colon = line.find(": ");
        lines.push_back({line.substr(2, colon - 2), line.substr(colon + 2), ""});
        REQUIRE(std::getline(text, lines.back().command));
    }
    return lines;
}

/// The tensors concatenated along their last axis.
std::vector<std::string> side_by_side(const Json& metadata) {
    if (metadata.size() == 1) return steps::numbers_of(metadata[0]);
    std::vector<std::string> all;
    std::vector<std::vector<std::string>> parts;
    for (const Json& step : metadata) parts.push_back(steps::numbers_of(step));
    const std::size_t rows = parts[0].size() / metadata[0]["shape"].back().get<std::size_t>();
    for (std::size_t row = 0; row < rows; ++row) {
        for (const std::vector<std::string>& part : parts) {
            const std::size_t width = part.size() / rows;
            const auto start = part.begin() + static_cast<std::ptrdiff_t>(row * width);
            all.insert(all.end(), start, start + static_cast<std::ptrdiff_t>(width));
        }
    }
    return all;
}

/// The lengths in `torch.Size([4, 8, 2])` or `(4, 20)`.
std::vector<std::size_t> lengths_in(const std::string& text) {
    std::vector<std::size_t> lengths;
    for (std::size_t i = 0; i < text.size();) {
        if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) {
            ++i;
            continue;
        }
        std::size_t used = 0;
        lengths.push_back(std::stoul(text.substr(i), &used));
        i += used;
    }
    return lengths;
}

/// Cells whose numbers are not those of a walk's step, and how they are computed from it.
void check_compiled(const std::string& name, const Json& cell, const Json& metadata) {
    const std::vector<std::string> parts = side_by_side(metadata);
    if (name == "lower_triangle") {
        const std::vector<std::string> ones = steps::numbers_of(cell);
        REQUIRE(ones.size() == parts.size());
        for (std::size_t i = 0; i < ones.size(); ++i) {
            CHECK(ones[i] == (parts[i] == "true" ? "0.0" : "1.0"));
        }
    } else if (name == "running_mean") {  // sums divided once, instead of a sum of weights
        const std::vector<std::string> means = steps::numbers_of(cell);
        REQUIRE(means.size() == parts.size());
        for (std::size_t i = 0; i < means.size(); ++i) {
            CHECK(std::abs(std::stod(means[i]) - std::stod(parts[i])) < 2e-7);
        }
    } else if (name == "weights_variance") {
        double sum = 0;
        double squares = 0;
        for (const std::string& part : parts) sum += std::stod(part);
        const double mean = sum / static_cast<double>(parts.size());
        for (const std::string& part : parts) squares += std::pow(std::stod(part) - mean, 2);
        CHECK(squares / static_cast<double>(parts.size() - 1) ==
              doctest::Approx(cell["data"].get<double>()).epsilon(1e-5));
    } else if (name.ends_with("_sum")) {
        double sum = 0;
        for (const std::string& part : parts) sum += std::stod(part);
        CHECK(sum == doctest::Approx(std::stod(cell["text"].get<std::string>())).epsilon(1e-5));
    } else if (name == "first_score_of_fifth") {
        CHECK(static_cast<float>(std::stod(parts.at(0))) ==
              static_cast<float>(std::stod(cell["text"].get<std::string>())));
    } else if (name == "vocabulary") {
        for (const std::string& id : parts) CHECK(program::has(cell["text"], ": " + id));
    } else {
        CHECK(name == "five_heads");  // it raised an error: the walk continues
        CHECK(metadata[0]["shape"] == Json({4, 8, 80}));
    }
}

/// A printed shape is that of the walk's tensor, or of its numbers reshaped.
void check_shape(const std::string& name, const std::string& text, const Json& step) {
    const std::vector<std::size_t> shape = lengths_in(text);
    std::size_t count = 1;
    for (const std::size_t length : shape) count *= length;
    const std::size_t times = name == "repeated_x_shape" ? 3 : 1;
    CHECK(count == steps::numbers_of(step).size() * times);
    const bool laid_out = name.starts_with("qkv_") || name == "repeated_x_shape" ||
                          name.ends_with("_by_feature_shape");
    if (!laid_out || name == "qkv_shape") CHECK(Json(shape) == step["shape"]);
}

/// Runs the command of every cell that a notebook prints; returns how many tensors were compared.
std::size_t check_lines(const std::string& notebook) {
    const std::vector<Line> lines = lines_of_cells(notebook);
    std::size_t tensors = 0;
    std::size_t at = 0;
    for (const Json& cell : steps::of("notebook " + notebook)) {
        const std::string name = cell["name"];
        if (at == lines.size() || lines[at].name != name) continue;  // not printed
        const Line& line = lines[at++];
        CAPTURE(line.command);
        if (line.command == "# no walk computes it") continue;
        const Json metadata = steps::of_line(line.command);
        if (name.ends_with("_shape")) {
            check_shape(name, cell["text"], metadata[0]);
        } else if (cell.contains("text") || name == "lower_triangle" || name == "running_mean" ||
                   name == "weights_variance") {
            check_compiled(name, cell, metadata);
        } else {
            CHECK(steps::numbers_of(cell) == side_by_side(metadata));
            ++tensors;
        }
    }
    CHECK(at == lines.size());
    return tensors;
}

/// The command of one cell gives the numbers that the page shows under `shown`.
void check_cell(const std::string& page, const std::string& cell, const std::string& shown) {
    const Json metadata = steps::of_line(run("notebook " + page + " --as-flags " + cell).out);
    for (const Json& section : steps::of("notebook " + page)) {
        if (section["name"] != shown) continue;
        CHECK(steps::numbers_of(section) == side_by_side(metadata));
        return;
    }
    FAIL("there is no " << shown);
}

std::vector<std::string> without_walk(const std::string& notebook) {
    std::vector<std::string> names;
    for (const Line& line : lines_of_cells(notebook)) {
        if (line.command == "# no walk computes it") names.push_back(line.name);
    }
    return names;
}

}  // namespace

TEST_SUITE("app: notebook --as-flags") {
    TEST_CASE("each cell of padding-heads is a plain walk, bit for bit") {
        CHECK(check_lines("000") == 10);
        CHECK(without_walk("000").empty());
    }

    TEST_CASE("each cell of causal-heads is a plain walk, except for a transposition") {
        CHECK(check_lines("002") == 5);
        CHECK(without_walk("002") == std::vector<std::string>{"transposed_alike"});
    }

    TEST_CASE("each cell of sentence is a plain walk, bit for bit") {
        CHECK(check_lines("003") == 10);
        CHECK(without_walk("003").empty());
    }

    TEST_CASE("numpy-loops is a plain walk, except for the cells of the word without projections") {
        check_lines("001");
        CHECK(without_walk("001") == std::vector<std::string>{"scores_shape", "scores", "weights",
                                                              "one_weight", "context_shape",
                                                              "context"});
    }

    TEST_CASE("a step after a printed shape is part of the walk too") {
        for (const std::string cell :
             {"average_by_softmax", "context", "context_by_einsum", "two_heads_weights",
              "two_heads_output", "five_heads_scores", "five_heads_output"}) {
            check_cell("002", cell, cell);
        }
        for (const std::string cell :
             {"loop_context", "array_weights", "array_context", "head_context"}) {
            check_cell("001", cell, cell);
        }
    }

    TEST_CASE("a corrected page and another seed or build have lines of their own") {
        check_cell("000 --corrected", "weights", "weights_corrected");
        check_cell("002 --corrected", "five_heads_output", "five_heads_output_corrected");
        check_cell("003 --corrected", "head_context", "head_context_corrected");
        check_cell("003 --seed 9", "weights", "weights");
        check_cell("002 --torch-build portable", "older_weights", "older_weights");
        CHECK(!program::has(run("notebook 000 --corrected --as-flags weights").out, "--bug"));
    }

    TEST_CASE("a cell is named by its section or by its number on the page") {
        const std::string line =
            "attn-explain --random randn --batch 4 --seq-len 8 --embed-dim 32 --head-dim 16 "
            "--draw-order kqv --mask causal --scale embed-dim --seed 1337 --variant loop --only "
            "'weights[0]'\n";
        CHECK(run("notebook 002 --as-flags weights").out == line);
        CHECK(run("notebook 002 --as-flags 39").out == line);
        CHECK(run("notebook causal --as-flags weights").out == line);
        CHECK(run("notebook 2 weights --as-flags").out == line);
        CHECK(program::has(run("notebook 002 --as-flags 40").out, "# masked_zeros: cell 40, "));
        const program::Result script = shell("attn-explain notebook 000 --as-flags | sh");
        CHECK(script.exit_code == 0);
        CHECK(program::has(script.out, "# weights: "));
    }

    TEST_CASE("a cell that no walk makes is reported, with the likely intention") {
        CHECK(program::run("notebook 000 weights").out ==
              program::run("notebook 000 --only weights").out);
    }
}
