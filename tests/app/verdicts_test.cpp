// One tensor is one step, and no tensor is called right unless it was compared: files as other
// programs save them, computed here in plain loops.

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/sixteen_bits.hpp"
#include "attn/ground/text/number_text.hpp"
#include "tests/support/program.hpp"

// A name of its own, as several test files are compiled as one.
namespace verdicts {
using program::Folder;
using program::has;
using program::Result;
namespace {

/// Rows of numbers, one matrix per head.
using Matrix = std::vector<std::vector<double>>;
using PerHead = std::vector<Matrix>;

std::string json(double number) { return attn::shortest_text(number); }
template <class T>
std::string json(const std::vector<T>& all) {
    std::string text;
    for (const T& each : all) text += (text.empty() ? "[" : ", ") + json(each);
    return text + "]";
}

PerHead drawn(std::size_t heads, std::size_t rows, std::size_t columns, double start) {
    PerHead all(heads, Matrix(rows, std::vector<double>(columns)));
    double place = start;
    for (Matrix& matrix : all) {
        for (std::vector<double>& row : matrix) {
            for (double& cell : row) cell = 2 * std::sin(place += 1.7 + start / 9);
        }
    }
    return all;
}

/// Attention over given queries, keys and values, as another program computes it.
struct Layer {
    PerHead q = drawn(2, 5, 4, 0.3), k = drawn(2, 5, 4, 1.1), v = drawn(2, 5, 4, 2.3);
    double factor = 1;         ///< of every score
    std::size_t unseen = 100;  ///< query i sees the keys up to i + unseen
    bool in_16_bits = false;
    PerHead weights{}, context{};

    double stored(double number) const {
        const auto single = static_cast<float>(number);
        return in_16_bits ? attn::nearest(single, attn::DType::float16) : single;
    }

    void store(PerHead& tensor) const {
        for (Matrix& matrix : tensor) {
            for (std::vector<double>& row : matrix) {
                for (double& cell : row) cell = stored(cell);
            }
        }
    }

    Layer& run() {
        for (PerHead* each : {&q, &k, &v}) store(*each);
        for (std::size_t h = 0; h < q.size(); ++h) {
            weights.push_back({});
            context.push_back({});
            for (std::size_t i = 0; i < q[h].size(); ++i) add_row(h, i);
        }
        store(weights);
        store(context);
        return *this;
    }

    void add_row(std::size_t h, std::size_t i) {
        std::vector<double> row, result(v[h][0].size());
        double sum = 0;
        for (std::size_t j = 0; j < k[h].size(); ++j) {
            double score = 0;
            for (std::size_t f = 0; f < q[h][i].size(); ++f) score += q[h][i][f] * k[h][j][f];
            score *= factor / std::sqrt(static_cast<double>(q[h][i].size()));
            row.push_back(j > i + unseen ? 0 : std::exp(score));
            sum += row.back();
        }
        for (std::size_t j = 0; j < row.size(); ++j) {
            row[j] /= sum;
            for (std::size_t f = 0; f < result.size(); ++f) result[f] += row[j] * v[h][j][f];
        }
        weights[h].push_back(std::move(row));
        context[h].push_back(std::move(result));
    }
};

Result diagnosed(const std::map<std::string, PerHead>& saved, const std::string& flags) {
    const Folder folder;
    std::string text;
    for (const auto& [name, tensor] : saved) {
        text += (text.empty() ? "{\"" : ", \"") + name + "\": " + json(tensor);
    }
    attn::write_file(folder / "mine.json", text + "}");
    return program::run("diagnose '" + (folder / "mine.json") + "' " + flags);
}

Result pasted(const std::string& text) {
    const Folder folder;
    attn::write_file(folder / "mine.txt", text);
    return program::run("diagnose '" + (folder / "mine.txt") + "'");
}

}  // namespace
}  // namespace verdicts

TEST_SUITE("app: verdicts") {
    using namespace verdicts;

    TEST_CASE("a result with the name of an input is judged, right or wrong") {
        Layer layer;
        layer.run();
        const std::map<std::string, PerHead> inputs{
            {"q", layer.q}, {"k", layer.k}, {"v", layer.v}, {"attention", layer.weights}};
        auto saved = inputs;
        saved["values"] = layer.context;
        const Result right = diagnosed(saved, "--heads 2");
        CHECK_MESSAGE(right.exit_code == 0, right.out);
        CHECK(has(right.out, "right: weights, context"));
        for (Matrix& matrix : saved["values"]) std::swap(matrix[0], matrix[1]);
        const Result wrong = diagnosed(saved, "--heads 2");
        CHECK_MESSAGE(wrong.exit_code != 0, wrong.out);
        CHECK_FALSE(has(wrong.out, "right: "));
    }

    TEST_CASE("if two tensors claim one step, the second is not compared and accuses nothing") {
        Layer layer;
        layer.run();
        const Result result = diagnosed({{"q", layer.q},
                                         {"queries", drawn(2, 5, 4, 7.7)},
                                         {"k", layer.k},
                                         {"v", layer.v},
                                         {"attention", layer.weights}},
                                        "--heads 2");
        CHECK_MESSAGE(result.exit_code == 3, result.out);
        CHECK(has(result.out, "not compared  queries"));
        CHECK_FALSE(has(result.out, "no known mistake"));
    }

    TEST_CASE("noise next to right results is not harmless") {
        const Folder folder;
        const std::string walk = "--text 'the cat sat on' ";
        const auto shown = nlohmann::json::parse(
            program::run(walk + "--only query,key,weights --format json").out);
        nlohmann::json saved{{"hidden_states", drawn(1, 4, 4, 5.1)[0]}};
        for (const auto& step : shown.at("steps")) saved[step.at("name")] = step.at("data");
        attn::write_file(folder / "mine.json", saved.dump());
        const Result result = program::run("diagnose '" + (folder / "mine.json") + "' " + walk);
        CHECK_MESSAGE(result.exit_code == 3, result.out << result.err);
        CHECK_FALSE(has(result.out, "harmless"));
    }

    TEST_CASE("a causal mask over fewer queries than keys raises a question of alignment") {
        Layer layer{.q = drawn(2, 3, 4, 0.3), .k = drawn(2, 9, 4, 1.1), .v = drawn(2, 9, 4, 2.3)};
        for (const bool at_end : {false, true}) {
            Layer one = layer;
            one.unseen = at_end ? 6 : 0;
            one.run();
            const std::map<std::string, PerHead> saved{
                {"q", one.q}, {"k", one.k}, {"v", one.v}, {"attn", one.weights}};
            const Result result = diagnosed(saved, "--mask causal");
            CHECK_MESSAGE(result.exit_code == 3, result.out);
            CHECK(has(result.out, "Which did you intend?"));
            const Result reported = diagnosed(
                saved, std::string("--mask causal --causal-align ") + (at_end ? "end" : "start"));
            CHECK_MESSAGE(reported.exit_code == 0, reported.out);
        }
    }

    TEST_CASE("LayerNorm in place of RMSNorm is named with its numbers") {
        const auto normed = [](PerHead raw, double eps, double less) {
            for (Matrix& matrix : raw) {
                for (std::vector<double>& row : matrix) {
                    const auto width = static_cast<double>(row.size());
                    double mean = 0, squares = 0;
                    for (const double cell : row) mean += cell / width;
                    for (const double cell : row) squares += (cell - mean) * (cell - mean);
                    const double root = std::sqrt(squares / (width - less) + eps);
                    for (double& cell : row) cell = (cell - mean) / root;
                }
            }
            return raw;
        };
        Layer raw{.q = drawn(2, 6, 8, 0.3), .k = drawn(2, 6, 8, 1.1), .v = drawn(2, 6, 8, 2.3)};
        for (Matrix& matrix : raw.q) {
            for (std::vector<double>& row : matrix) {
                for (double& cell : row) cell *= 0.02;  // so small that eps shows
            }
        }
        for (const bool is_unbiased : {false, true}) {
            Layer layer = raw;
            layer.store(layer.q);
            layer.store(layer.k);
            const PerHead q = layer.q, k = layer.k;
            layer.q = normed(q, is_unbiased ? 1e-6 : 1e-5, is_unbiased ? 1 : 0);
            layer.k = normed(k, is_unbiased ? 1e-6 : 1e-5, is_unbiased ? 1 : 0);
            layer.run();
            const Result result =
                diagnosed({{"query", q}, {"key", k}, {"v", layer.v}, {"attn", layer.weights}},
                          "--qk-norm head --norm-eps 1e-6");
            CAPTURE(is_unbiased);
            CHECK_MESSAGE(result.exit_code == 1, result.out << result.err);
            CHECK(has(result.out,
                      is_unbiased ? "qk-norm-layernorm=unbiased" : "qk-norm-layernorm=default"));
        }
    }

    TEST_CASE(
        "dropout on the context is recognised by its zeros and its factor, whatever the signs") {
        Layer layer;
        layer.run();
        PerHead dropped = layer.context;
        std::size_t cell = 0;
        for (Matrix& matrix : dropped) {
            for (std::vector<double>& row : matrix) {
                for (double& number : row) number *= cell++ % 3 == 1 ? 0 : 1.5;
            }
        }
        const Result result = diagnosed({{"q", layer.q},
                                         {"k", layer.k},
                                         {"v", layer.v},
                                         {"attn", layer.weights},
                                         {"context", dropped}},
                                        "");
        CHECK_MESSAGE(result.exit_code == 1, result.out);
        CHECK(has(result.out, "dropout-on-context"));
        CHECK(has(result.out, "1.5 times"));
    }

    TEST_CASE("heads split and merged by views are named from a context with heads side by side") {
        const Folder folder;
        const auto x = drawn(1, 6, 8, 0.3)[0], w = drawn(1, 24, 8, 3.1)[0];
        // Row i of the projection, and the heads of 4 features into which a view splits it.
        Matrix projected[3];
        for (std::size_t part = 0; part < 3; ++part) {
            for (const std::vector<double>& row : x) {
                std::vector<double> outcome;
                for (std::size_t o = 0; o < 8; ++o) {
                    double sum = 0;
                    for (std::size_t c = 0; c < 8; ++c) sum += row[c] * w[8 * part + o][c] / 4;
                    outcome.push_back(sum);
                }
                projected[part].push_back(outcome);
            }
        }
        const auto viewed = [](const Matrix& rows) {
            PerHead heads(2, Matrix(6, std::vector<double>(4)));
            for (std::size_t i = 0; i < 48; ++i)
                heads[i / 24][i / 4 % 6][i % 4] = rows[i / 8][i % 8];
            return heads;
        };
        Layer layer{
            .q = viewed(projected[0]), .k = viewed(projected[1]), .v = viewed(projected[2])};
        layer.unseen = 0;
        layer.run();
        Matrix merged(6, std::vector<double>(8));
        for (std::size_t i = 0; i < 48; ++i) {
            merged[i / 8][i % 8] = layer.context[i / 24][i / 4 % 6][i % 4];
        }
        nlohmann::json saved{{"x", x}, {"context", merged}};
        const char* names[] = {"w_query", "w_key", "w_value"};
        for (std::size_t part = 0; part < 3; ++part) {
            Matrix own(w.begin() + 8 * part, w.begin() + 8 * part + 8);
            for (std::vector<double>& row : own) {
                for (double& cell : row) cell /= 4;
            }
            saved[names[part]] = own;
        }
        attn::write_file(folder / "mine.json", saved.dump());
        const Result result =
            program::run("diagnose '" + (folder / "mine.json") + "' --heads 2 --mask causal");
        CHECK_MESSAGE(result.exit_code == 1, result.out << result.err);
        CHECK(has(result.out, "merged: split-view=both"));
    }

    TEST_CASE("weights softmaxed twice for display are a mistake, even with a right context") {
        Layer layer;
        layer.run();
        Matrix shown(5, std::vector<double>(5));
        for (std::size_t i = 0; i < 5; ++i) {
            double sum = 0;
            for (std::size_t j = 0; j < 5; ++j) {
                shown[i][j] = std::exp((layer.weights[0][i][j] + layer.weights[1][i][j]) / 2);
                sum += shown[i][j];
            }
            for (double& cell : shown[i]) cell = static_cast<float>(cell / sum);
        }
        for (const bool saves_context : {false, true}) {
            const Folder folder;
            const auto batch = [](const auto& one) { return nlohmann::json::array({one}); };
            nlohmann::json saved{{"q", batch(layer.q)},
                                 {"k", batch(layer.k)},
                                 {"v", batch(layer.v)},
                                 {"attn", batch(shown)}};
            if (saves_context) saved["context"] = batch(layer.context);
            attn::write_file(folder / "mine.json", saved.dump());
            const Result result = program::run("diagnose '" + (folder / "mine.json") + "'");
            CHECK_MESSAGE(result.exit_code == 1, result.out);
            CHECK(has(result.out, "mean-of-heads-softmaxed-again"));
            CHECK_FALSE(has(result.out, "harmless"));
        }
    }

    TEST_CASE("the walk of a notebook that fits the tensors is chosen, by the page's names") {
        const auto shown = nlohmann::json::parse(
            program::run("--notebook 003:weights --only x,query,key,value,scores,weights --json")
                .out);
        nlohmann::json saved;
        for (const auto& step : shown.at("steps")) {
            const std::string name = step.at("name");
            saved[name == "x" ? "embedded_sentence" : name] = step.at("data");
        }
        const Folder folder;
        attn::write_file(folder / "mine.json", saved.dump());
        const Result result =
            program::run("diagnose '" + (folder / "mine.json") + "' --notebook 003");
        CHECK_MESSAGE(result.exit_code == 1, result.out << result.err);
        CHECK(has(result.err, "assumed: --notebook 003:scores,"));
        CHECK(has(result.out, "embedded_sentence is x"));
        CHECK(has(result.out, "weights: softmax-axis=query"));  // the page's own mistake
        CHECK_FALSE(has(result.out, "SHAPE"));
    }

    TEST_CASE("scores that are four percent too large are named in 16 bits, not their fill") {
        Layer layer{.q = drawn(2, 8, 8, 0.3),
                    .k = drawn(2, 8, 8, 1.1),
                    .v = drawn(2, 8, 8, 2.3),
                    .factor = 1.04,
                    .unseen = 0,
                    .in_16_bits = true};
        layer.run();
        const Result result = diagnosed({{"q", layer.q},
                                         {"k", layer.k},
                                         {"v", layer.v},
                                         {"attn", layer.weights},
                                         {"out", layer.context}},
                                        "--mask causal");
        CHECK_MESSAGE(has(result.out, "weights: scale-other=2.7"), result.out);
        CHECK_FALSE(has(result.out, "mask-fp16\n"));
    }

    TEST_CASE("numbers are compared to the printed digits") {
        const std::string inputs =
            "q = tensor([[1., 0.], [0., 9.]])\nk = tensor([[1., 1.], [0., 9.]])\n"
            "v = tensor([[1., 0.], [0., 1.]])\n";
        for (const char* printed :
             {"scaled_scores = tensor([[0.7071, 0.0000], [6.3640, 57.2756]])\n",
              "weights = tensor([[0.67, 0.33], [0.00, 1.00]])\n",
              "weights = tensor([[6.6976e-01, 3.3024e-01], [7.7506e-23, 1.0000e+00]])\n"}) {
            const Result result = pasted(inputs + printed);
            CHECK_MESSAGE(result.exit_code == 0, result.out);
        }
        const Result wrong = pasted(inputs + "weights = tensor([[0.76, 0.24], [0.00, 1.00]])\n");
        CHECK_MESSAGE(wrong.exit_code != 0, wrong.out);
    }

    TEST_CASE("if nothing was compared, each tensor has a reason") {
        const Result result = pasted(
            "x = tensor([[1., 0., 2.], [0., 1., 1.]])\nq = tensor([[1., 2.], [3., 4.]])\n"
            "k = tensor([[1., 2.], [3., 4.]])\nv = tensor([[1., 2.], [3., 4.]])\n"
            "scores = tensor([[5., 11.], [11., 25.]])\n");
        CHECK(result.exit_code != 2);
        CHECK_FALSE(result.out.empty());
    }
}
