// Gradients computed by other code, on numbers that no walk of the program draws.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

using program::has;
using program::run;

namespace {

using Rows = std::vector<std::vector<double>>;

Rows product(const Rows& a, const Rows& b) {
    Rows c(a.size(), std::vector<double>(b[0].size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < b[0].size(); ++j) {
            for (std::size_t k = 0; k < b.size(); ++k) c[i][j] += a[i][k] * b[k][j];
        }
    }
    return c;
}

Rows transposed_copy(const Rows& a) {
    Rows b(a[0].size(), std::vector<double>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a[0].size(); ++j) b[j][i] = a[i][j];
    }
    return b;
}

template <class Cell>
Rows each(Rows rows, Cell&& cell) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (std::size_t j = 0; j < rows[i].size(); ++j) rows[i][j] = cell(i, j);
    }
    return rows;
}

/// Attention of 6 tokens and its backward pass, written by hand.
struct Hand {
    static constexpr std::size_t tokens = 6;
    static constexpr double root = 2;  // of 4 features
    bool causal = false;
    Rows q = numbers(0.3), k = numbers(1.1), v = numbers(2.3), d_out = numbers(4.1);
    std::string wrong{};  ///< what the backward pass does differently
    Rows scores{}, weights{}, out{}, dp{}, ds{}, dq{}, dk{}, dv{};

    static Rows numbers(double start) {
        Rows rows(tokens, std::vector<double>(4));
        return each(rows, [start](std::size_t i, std::size_t j) {
            const double place = static_cast<double>(4 * i + j);
            return 1.7 * std::sin(start + place * place * 0.37 + place);
        });
    }

    void rotated_forward() {
        scores = product(q, transposed_copy(k));
        weights = each(scores, [&](std::size_t i, std::size_t j) {
            double sum = 0;
            for (std::size_t m = 0; m < (causal ? i + 1 : tokens); ++m) {
                sum += std::exp(scores[i][m] / root);
            }
            return causal && j > i ? 0 : std::exp(scores[i][j] / root) / sum;
        });
        out = product(weights, v);
    }

    void back() {
        dv = product(transposed_copy(weights), d_out);
        dp = product(d_out, transposed_copy(v));
        ds = each(dp, [&](std::size_t i, std::size_t j) {
            double sum = 0;
            for (std::size_t m = 0; m < tokens; ++m) sum += weights[i][m] * dp[i][m];
            return weights[i][j] * (dp[i][j] - (wrong == "row" ? 0 : sum));
        });
        const double factor = wrong == "scale"         ? 1
                              : wrong == "scale twice" ? 1 / root / root
                                                       : 1 / root;
        const Rows scaled =
            each(ds, [&](std::size_t i, std::size_t j) { return ds[i][j] * factor; });
        dq = product(wrong == "dq" ? transposed_copy(scaled) : scaled, k);
        dk = product(wrong == "key" ? scaled : transposed_copy(scaled), q);
        if (wrong == "dk alone") dk = each(dk, [&](auto i, auto j) { return dk[i][j] * root; });
        if (wrong == "dv") dv = product(weights, d_out);
    }

    static Hand made(const std::string& wrong = "", bool causal = false) {
        Hand hand;
        hand.causal = causal;
        hand.wrong = wrong;
        hand.rotated_forward();
        hand.back();
        return hand;
    }
    /// A loss of the output alone: each cell of its gradient from that of the output.
    template <class Cell>
    static Hand of_loss(Cell&& cell, const std::string& wrong = "") {
        Hand hand;
        hand.wrong = wrong;
        hand.rotated_forward();
        hand.d_out =
            each(hand.out, [&](std::size_t i, std::size_t j) { return cell(hand.out[i][j]); });
        hand.back();
        return hand;
    }
};

void write_file(const std::string& path, const std::map<std::string, Rows>& tensors,
                bool in_floats = false, std::size_t heads = 0) {
    std::vector<attn::Tensor> kept;
    std::vector<attn::TensorRef> arrays;
    kept.reserve(tensors.size());
    for (const auto& [name, rows] : tensors) {
        const std::size_t width = rows[0].size();
        attn::Shape shape{rows.size(), width};
        if (heads > 0) shape = {1, heads, rows.size() / heads, width};
        attn::Array<double> cells = attn::empty_array<double>(shape);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = rows[i / width][i % width];
        }
        const attn::Tensor tensor(attn::Axes(shape.size(), "a"), std::move(cells));
        kept.push_back(in_floats ? attn::cast(tensor, attn::DType::float32) : tensor);
        arrays.push_back({name, kept.back()});
    }
    attn::OutputFile file(path);
    attn::write_npz(file, arrays);
    file.commit();
}

/// The output of diagnose for these tensors.
program::Result diagnosed(const std::map<std::string, Rows>& tensors, const std::string& flags = "",
                          bool in_floats = false, std::size_t heads = 0) {
    const program::Folder folder;
    const std::string path = folder / "mine.npz";
    write_file(path, tensors, in_floats, heads);
    return run("diagnose " + path + " " + flags);
}

std::map<std::string, Rows> saved(const Hand& h) {
    return {{"q", h.q},   {"k", h.k},   {"v", h.v},  {"out", h.out},
            {"dq", h.dq}, {"dk", h.dk}, {"dv", h.dv}};
}

}  // namespace

TEST_SUITE("diagnose_back") {
    TEST_CASE(
        "in 16 bits the backward pass of a wrong forward pass is right if all its gradients are "
        "1") {
        const program::Folder folder;
        const std::string mine = folder / "mine.npz";
        for (const std::string type : {"float32", "bfloat16", "float16"}) {
            const std::string flags = " --heads 2 --mask causal --dtype " + type;
            const std::string wrong = flags + " --backward --bug softmax-axis=query -o " + mine;
            REQUIRE(program::run(wrong).exit_code == 0);
            const program::Result found = program::run("diagnose " + mine + flags);
            CHECK_MESSAGE(has(found.out, "the backward pass matches your own forward pass"),
                          type << found.out);
        }
    }

    TEST_CASE("right gradients of given query, key and value are right") {
        for (const bool in_floats : {false, true}) {
            for (const bool causal : {false, true}) {
                const Hand h = Hand::made("", causal);
                auto tensors = saved(h);
                tensors["d_out"] = h.d_out;
                const auto result = diagnosed(tensors, causal ? "--mask causal" : "", in_floats);
                INFO(result.out);
                CHECK(result.exit_code == 0);
                CHECK(has(result.out, "right: the backward pass matches this walk"));
            }
        }
    }
    TEST_CASE("mistakes are named from query, key, value, output and their gradients") {
        const std::map<std::string, std::string> names{{"row", "grad-softmax-no-row-sum"},
                                                       {"scale", "grad-scale-missing"},
                                                       {"scale twice", "grad-scale-twice"},
                                                       {"key", "grad-key-transpose"},
                                                       {"dv", "grad-value-transpose"}};
        for (const auto& [wrong, id] : names) {
            const Hand h = Hand::made(wrong);
            auto tensors = saved(h);
            tensors["dout"] = h.d_out;
            const auto result = diagnosed(tensors);
            INFO(wrong << result.out);
            CHECK(result.exit_code == 1);
            CHECK(has(result.out, id));
            CHECK(has(diagnosed(saved(Hand::of_loss([](double) { return 1.0; }, wrong))).out, id));
        }
    }
    TEST_CASE("with as many heads as tokens, a tensor saved per head is not taken for merged") {
        for (const std::string wrong : {"", "scale"}) {
            std::map<std::string, Rows> all;
            for (std::size_t head = 0; head < Hand::tokens; ++head) {
                Hand h;
                h.q = Hand::numbers(0.2 * static_cast<double>(head));
                h.wrong = wrong;
                h.rotated_forward();
                h.back();
                auto tensors = saved(h);
                for (const char* name : {"q", "k", "v"}) {
                    tensors[std::string("g") + name] = tensors[std::string("d") + name];
                    tensors.erase(std::string("d") + name);
                }
                tensors["d_out"] = h.d_out;
                for (const auto& [name, rows] : tensors) {
                    all[name].insert(all[name].end(), rows.begin(), rows.end());
                }
            }
            const auto result = diagnosed(all, "--heads 6", false, Hand::tokens);
            INFO(result.out);
            CHECK(result.exit_code == (wrong.empty() ? 0 : 1));
            CHECK(has(result.out, wrong.empty() ? "the backward pass matches this walk"
                                                : "grad-scale-missing"));
        }
    }
    TEST_CASE("a loss that was not given is inferred from the gradients and reported") {
        const auto mean = diagnosed(saved(Hand::of_loss([](double) { return 1.0 / 24; })));
        CHECK(mean.exit_code == 0);
        CHECK(has(mean.out, "assumed: the loss is the mean of context; save the gradient"));
        const auto squares = diagnosed(saved(Hand::of_loss([](double x) { return x / 12; })));
        CHECK(squares.exit_code == 0);
        CHECK(has(squares.out, "the mean of the squares of context"));
        // Any other factor makes diagnose ask, and so does a loss that is none of these.
        const auto third = diagnosed(saved(Hand::of_loss([](double) { return 0.3; })));
        CHECK(third.exit_code == 3);
        CHECK(has(third.out, "0.3 times the sum of context"));
        const auto cosine = diagnosed(saved(Hand::of_loss([](double x) { return std::cos(x); })));
        CHECK(cosine.exit_code == 3);
        CHECK(!has(cosine.out, "wrong:"));
        CHECK(has(cosine.out, "which loss is it?"));
    }
    TEST_CASE("a loss that was given is not guessed") {
        const Hand h = Hand::of_loss([](double) { return 1.0 / 24; });
        const auto reported = diagnosed(saved(h), "--backward --loss mean");
        CHECK(reported.exit_code == 0);
        CHECK(!has(reported.out, "assumed"));
        const auto other = diagnosed(saved(h), "--loss sum");
        CHECK(other.exit_code != 0);
        CHECK(has(other.out, "wrong: d_key, d_query, d_value"));
        const auto none =
            diagnosed({{"q", h.q}, {"k", h.k}, {"v", h.v}, {"out", h.out}}, "--backward");
        CHECK(none.exit_code == 2);
        CHECK(has(none.err, "no tensor of"));
    }
    TEST_CASE("a target or upstream gradient of any name is matched by its shape") {
        const Hand h = Hand::made();
        auto tensors = saved(h);
        tensors["cotangent"] = h.d_out;
        const auto result = diagnosed(tensors);
        INFO(result.out);
        CHECK(result.exit_code == 0);
        CHECK(has(result.out, "the sum of context times cotangent"));
    }
    TEST_CASE("gradients alone are judged, and reveal a mask that was not given") {
        const Hand h = Hand::made("", true);
        const auto result = diagnosed({{"q", h.q},
                                       {"k", h.k},
                                       {"v", h.v},
                                       {"do", h.d_out},
                                       {"dq", h.dq},
                                       {"dk", h.dk},
                                       {"dv", h.dv}});
        INFO(result.out);
        CHECK(result.exit_code == 3);
        CHECK(has(result.out, "with --mask causal the gradients are right"));
        CHECK(!has(result.out, "wrong:"));
    }
    TEST_CASE("a gradient is matched to the step that its tensor was read as") {
        const Hand h = Hand::made();
        const Rows scaled = each(h.scores, [&](auto i, auto j) { return h.scores[i][j] / 2; });
        auto tensors = saved(h);
        tensors["scores"] = scaled;
        tensors["d_scores"] = h.ds;
        tensors["d_out"] = h.d_out;
        const auto result = diagnosed(tensors);
        INFO(result.out);
        CHECK(result.exit_code == 0);
        CHECK(has(result.out, "d_scaled_scores"));
    }
    TEST_CASE("scores in units of log2 have a gradient in units of log2") {
        const Hand h = Hand::made();
        auto tensors = saved(h);
        tensors["d_out"] = h.d_out;
        tensors["ds"] = each(h.ds, [&](auto i, auto j) { return h.ds[i][j] * std::log(2.0); });
        const auto result = diagnosed(tensors);
        INFO(result.out);
        CHECK(result.exit_code == 0);
    }
    TEST_CASE("a gradient with a mistake of its own is judged from the user's gradient before it") {
        const Hand h = Hand::made("dk alone");
        auto tensors = saved(h);
        tensors["d_out"] = h.d_out;
        const auto alone = diagnosed(tensors);
        CHECK(alone.exit_code == 1);
        CHECK(has(alone.out, "wrong: d_key\n  d_key, alone: grad-scale-missing"));
        const Hand row = Hand::made("row");
        const auto local = diagnosed({{"q", row.q},
                                      {"k", row.k},
                                      {"v", row.v},
                                      {"P", row.weights},
                                      {"dP", row.dp},
                                      {"dS", row.ds}});
        INFO(local.out);
        CHECK(has(local.out, "grad-softmax-no-row-sum"));
        const Hand queries = Hand::made("dq");
        tensors = saved(queries);
        tensors["d_out"] = queries.d_out;
        const auto unknown = diagnosed(tensors);
        CHECK(unknown.exit_code == 3);
        CHECK(has(unknown.out, "with two indices exchanged"));
    }
    TEST_CASE("two mistakes at once are searched for if --pairs is given") {
        Hand h = Hand::made("row");
        h.dq = product(h.ds, h.k);
        h.dk = product(transposed_copy(h.ds), h.q);
        auto tensors = saved(h);
        tensors["d_out"] = h.d_out;
        CHECK(diagnosed(tensors).exit_code == 3);
        const auto pairs = diagnosed(tensors, "--pairs");
        CHECK(pairs.exit_code == 1);
        CHECK(has(pairs.out, "grad-softmax-no-row-sum"));
        CHECK(has(pairs.out, "and grad-scale-missing"));
    }
    TEST_CASE("a tensor made from missing parameters is not judged") {
        const Hand h = Hand::made();
        auto tensors = saved(h);
        tensors["d_out"] = h.d_out;
        tensors["x"] = h.v;
        tensors["dx"] = h.q;
        const auto result = diagnosed(tensors);
        INFO(result.out);
        CHECK(result.exit_code == 3);
        CHECK(has(result.out, "not compared: dx: there is no w_"));
        CHECK(!has(result.out, "wrong:"));
    }
    TEST_CASE("a probe of a backward pass has an uneven upstream gradient, or that of a loss") {
        const program::Folder folder;
        const std::string probe = folder / "p.npz";
        const std::string walk = " --heads 2 --seq-len 5 --embed-dim 6 --batch 2 -o " + probe;
        const auto start_of = [&](const std::string& loss) {
            REQUIRE(run("probe --backward" + loss + walk).exit_code == 0);
            for (const attn::NamedTensor& each : attn::read_tensors(probe)) {
                if (each.name == "d_merged") return each.tensor.numbers();
            }
            return std::vector<double>();
        };
        const std::vector<double> uneven = start_of("");
        CHECK(std::set<double>(uneven.begin(), uneven.end()).size() > 30);
        CHECK(start_of(" --loss sum") == std::vector<double>(60, 1.0));
        CHECK(run("probe --backward --loss 'weights[0,1]'" + walk).exit_code == 2);
    }
    TEST_CASE("the backward pass starts from the gradient in a probe") {
        const Hand h = Hand::made("", true);
        const program::Folder folder;
        write_file(folder / "given.npz", {{"d_context", h.d_out}});
        const std::string flags = "--mask causal --given " + (folder / "given.npz");
        const auto result = diagnosed(saved(h), flags);
        INFO(result.out);
        CHECK(result.exit_code == 0);
        CHECK(has(result.out, "right: the backward pass matches this walk"));
        CHECK(!has(result.err, "not used"));
        CHECK(has(diagnosed(saved(Hand::made("row", true)), flags).out, "grad-softmax-no-row"));
    }
    TEST_CASE("JSON reports the same about gradients") {
        const auto result =
            diagnosed(saved(Hand::of_loss([](double) { return 1.0; }, "scale")), "--json");
        CHECK(has(result.out, "\"mistakes\": [\"grad-scale-missing\"]"));
        CHECK(has(result.out, "\"open\": false"));
    }
}
