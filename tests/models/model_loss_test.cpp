// The cross-entropy of a model's next word, and its gradient for the output of one attention.
#include "attn/models/model_loss.hpp"
#include "attn/explain/backward/backward.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"
#include "tests/support/refusal.hpp"

using attn::Array;
using attn::cross_entropy;
using attn::models::Model;

namespace {

/// The input of a layer and the output of its attention, in a run over these tokens.
struct Seen {
    Seen(const Model& model, const std::vector<std::int64_t>& ids, std::size_t layer) {
        attn::models::Runtime<double> runtime(model);
        runtime.watch(
            [&](const attn::models::LayerPass& passing) {
                if (passing.layer != layer) return;
                (passing.name == "x" ? x : output) = passing.tensor.as<double>();
            },
            {"x", "output"});
        const Array<double> rows = runtime.advance(ids);
        logits = runtime.last_logits(rows);
    }
    double loss_of(std::size_t id) const {
        double sum = 0;
        for (const double logit : logits) sum += std::exp(logit - logits.data()[id]);
        return std::log(sum);
    }

    Array<double> x, output, logits;
};

}  // namespace

TEST_SUITE("backward: loss of a model") {
    TEST_CASE("the loss is that of the model's own logits, and its gradient matches its change") {
        std::vector<std::string> models{"stories"};
        for (const auto& entry :
             std::filesystem::directory_iterator(ATTN_SOURCE_DIR "/tests/models/fixtures")) {
            if (entry.is_directory()) models.push_back(entry.path().string());
        }
        CHECK(models.size() > 5);
        std::size_t tried = 0;
        for (const std::string& name : models) {
            INFO(name);
            const Model model = attn::models::open_model(name, "");
            if (!model.architecture.causal || model.architecture.experts > 0) continue;
            ++tried;
            const std::vector<std::int64_t> ids{1, 0, 2};
            const Seen seen(model, ids, 0);
            const auto found = cross_entropy(model, 0, 2, seen.x, seen.output);
            CHECK(found.loss == doctest::Approx(seen.loss_of(2)).epsilon(1e-10));
            for (const std::size_t i : {std::size_t{1}, seen.output.size() - 2}) {
                const auto shifted = [&](double by) {
                    Array<double> output = seen.output;
                    output.data()[i] += by;
                    return cross_entropy(model, 0, 2, seen.x, output).loss;
                };
                const double h = 1e-3;
                const double slope =
                    (8 * (shifted(h) - shifted(-h)) - (shifted(2 * h) - shifted(-2 * h))) /
                    (12 * h);
                INFO("cell " << i);
                CHECK(std::abs(found.gradient.data()[i] - slope) < 1e-6 * (1 + std::abs(slope)));
            }
        }
        CHECK(tried > 4);
    }

    TEST_CASE("a model that predicts no next word has no such loss") {
        const Model bert =
            attn::models::open_model(ATTN_SOURCE_DIR "/tests/models/fixtures/bert", "");
        const Array<double> rows = Array<double>::filled({2, bert.architecture.embed_dim}, 1);
        CHECK(refusal<attn::ConfigError>([&] {
                  cross_entropy(bert, 0, 1, rows, rows);
              }).find("predicts no next word") != std::string::npos);
    }
}
