// How mistakes write the steps that they change.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/codegen/code.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/judge/mistakes/mistake.hpp"
#include "tests/judge/mistakes/configurations.hpp"

using namespace attn;

namespace {

/// Walks in which every mistake of the catalogue can show once.
std::vector<Plan> walks() {
    WalkConfig padded;
    Tokens tokens;
    tokens.sequences = {{1, 2, 0, 0}, {1, 2, 3, 1}};
    tokens.vocab_size = 9;
    tokens.pad_id = 0;
    padded.input = tokens;
    padded.heads = 2;
    padded.embed_dim = 8;
    padded.bias = padded.output_projection = padded.output_bias = true;
    padded.mask.padding = padded.mask.causal = true;
    WalkConfig batch =
        configured("batch 3, seq-len 4, heads 2, embed-dim 8, bias, scale embed-dim");
    WalkConfig fused = batch;
    fused.projection = Projection::fused;
    WalkConfig memory = configured("seq-len 3");
    memory.memory = RandomInput{};
    memory.key_len = 5;
    memory.embed_dim = 4;
    memory.weight_layout = WeightLayout::in_out;
    WalkConfig late = memory;
    late.mask.causal = true;
    late.causal_align = CausalAlign::end;
    WalkConfig empty = padded;
    empty.lengths = {0, 4};
    WalkConfig wide = configured("heads 2, head-dim 4, embed-dim 5");
    WalkConfig turning = configured("heads 2, head-dim 8, seq-len 4, positions 3,4,5,6, rope half");
    turning.rotary.scaling.emplace();
    turning.rotary.scaling->kind = RopeScaling::Kind::yarn;
    turning.rotary.scaling->factor = 4;
    turning.rotary.scaling->length = 64;
    turning.rotary.scaling->beta_fast = 8;
    turning.qk_norm.over = NormOver::head;
    for (const char* gain : {"g_query", "g_key"}) {
        turning.parameters.record(gain,
                                  Tensor({"feature"}, Array<float>{1, 2, 3, 4, 0.5F, 0.25F, 1, 2}));
    }
    turning.scale = {ScaleChoice::By::number, 0.2};
    WalkConfig partial = turning;
    partial.rotary.dim = 4;
    WalkConfig neighbours = partial;
    neighbours.rotary = {};
    neighbours.rotary.pairing = Pairing::interleaved;
    neighbours.scale.by = ScaleChoice::By::none;
    WalkConfig capped = configured("heads 6, head-dim 4, seq-len 7, softcap 0.5");
    capped.position_bias = PositionBias{PositionBias::Kind::alibi, 8, 6, {}};
    WalkConfig windowed = capped;
    windowed.mask.causal = true;
    windowed.mask.window = 2;
    windowed.position_bias = PositionBias{PositionBias::Kind::t5, 8, 6, {}};
    WalkConfig two_ways = windowed;
    two_ways.mask = {};
    WalkConfig chunked = windowed;
    chunked.mask.window.reset();
    chunked.mask.chunk = 3;
    WalkConfig prefixed = capped;
    prefixed.mask.causal = true;
    prefixed.mask.prefix = 3;
    WalkConfig packed = capped;
    packed.mask.causal = true;
    packed.mask.documents = {3, 4};
    WalkConfig ended = memory;
    ended.mask.causal = true;
    ended.mask.window = 2;
    ended.causal_align = CausalAlign::end;
    std::vector<Plan> plans;
    for (const WalkConfig& config :
         {padded, batch, fused, memory, late, empty, wide, turning, partial, neighbours, capped,
          windowed, two_ways, chunked, prefixed, packed, ended,
          configured("heads 2, head-dim 4, qk-norm l2")}) {
        plans.push_back(resolve(config));
    }
    for (const auto& configs :
         {attn::testing::shared_configs(), attn::testing::position_configs()}) {
        for (const WalkConfig& config : configs) plans.push_back(resolve(config));
    }
    return plans;
}

/// Lines of code with conventional tensor names, without comments.
std::set<std::string> lines_in(const std::string& code) {
    static const std::vector<std::pair<std::string, std::string>> names{{"capped_scores", "scores"},
                                                                        {"scaled_scores", "scores"},
                                                                        {"masked_scores", "scores"},
                                                                        {"biased_scores", "scores"},
                                                                        {"rotated_", ""},
                                                                        {"projected_", ""},
                                                                        {"query", "q"},
                                                                        {"key", "k"},
                                                                        {"value", "v"}};
    std::set<std::string> lines;
    std::istringstream text(code);
    for (std::string line; std::getline(text, line);) {
        line = line.substr(0, line.find('#'));
        for (const auto& [name, letter] : names) {
            for (std::size_t at = 0; (at = line.find(name, at)) != line.npos;) {
                line.replace(at, name.size(), letter);
            }
        }
        std::erase(line, ' ');
        if (!line.empty()) lines.insert(line);
    }
    return lines;
}

std::set<std::string> code_lines(const Plan& plan, const StepTable& table, CodeLanguage language) {
    std::set<std::string> lines;
    for (const auto& part : program_of(plan, table, language)) lines.merge(lines_in(part.code));
    return lines;
}

/// Every line that a mistake changes is marked, and there is at least one, in both languages.
void check_lines(const Plan& plan, const Mistake& mistake) {
    const StepTable table = with_mistakes(step_table(plan), plan, {mistake.id});
    for (const auto language : {CodeLanguage::torch, CodeLanguage::numpy}) {
        const auto right = program_of(plan, step_table(plan), language);
        const auto wrong = program_of(plan, table, language);
        REQUIRE(right.size() == wrong.size());
        std::size_t differ = 0;
        for (std::size_t i = 0; i < right.size(); ++i) {
            const bool marked = wrong[i].code.find("# a mistake: ") != std::string::npos;
            CHECK(marked == (wrong[i].code != right[i].code));
            differ += marked ? 1 : 0;
        }
        CHECK(differ > 0);
    }
}

/// Each line of a fix that is in the wrong code is in the right code, too.
void check_fixes(const Plan& plan, const Mistake& mistake) {
    const StepTable table = with_mistakes(step_table(plan), plan, {mistake.id});
    for (const auto language : {CodeLanguage::torch, CodeLanguage::numpy}) {
        const std::set<std::string> right = code_lines(plan, step_table(plan), language);
        const std::set<std::string> wrong = code_lines(plan, table, language);
        const bool torch = language == CodeLanguage::torch;
        for (const std::string& line :
             lines_in((torch ? mistake.fix_torch : mistake.fix_numpy).raw())) {
            CAPTURE(line);
            CHECK((!wrong.contains(line) || right.contains(line)));
        }
    }
}

/// The terms of the derivation of each tensor's last cell add up to its number.
void check_derivations(const Plan& plan, const Mistake& mistake) {
    const StepTable table = with_mistakes(step_table(plan), plan, {mistake.id});
    const Ledger ledger = walk(plan, draw(plan), table);
    for (const auto& [name, tensor] : ledger.entries()) {
        if (find_step(table, name).kind != Step::Kind::computed) continue;
        std::vector<std::size_t> last;
        for (const std::size_t extent : tensor.shape()) last.push_back(extent - 1);
        const Cell cell{name, last, tensor.at(tensor.size() - 1)};
        const Derivation derivation = derive(plan, table, ledger, cell);
        CAPTURE(name);
        CHECK_FALSE(derivation.rule.empty());
        if (std::isfinite(cell.value)) CHECK(std::abs(derivation.rounding) < 1e-5);
    }
}

using Check = void (*)(const Plan&, const Mistake&);

void on_each_witness(Check check) {
    for (const Mistake& mistake : mistakes()) {
        CAPTURE(mistake.id);
        check(*witness_of(mistake), mistake);
    }
}

void in_many_walks(Check check) {
    for (const Plan& plan : walks()) {
        for (const Mistake& mistake : mistakes()) {
            if (!mistake.applies(plan)) continue;
            CAPTURE(mistake.id);
            check(plan, mistake);
        }
    }
}

}  // namespace

TEST_SUITE("nightly: lines of mistakes in many walks") {
    TEST_CASE("lines that differ from the right ones") { in_many_walks(check_lines); }
    TEST_CASE("fixes that are not lines of the mistake") { in_many_walks(check_fixes); }
    TEST_CASE("derivations that add up") { in_many_walks(check_derivations); }
}

TEST_SUITE("mistakes: lines") {
    TEST_CASE("every mistake writes lines that differ from the right ones, in both languages") {
        on_each_witness(check_lines);
    }

    TEST_CASE("no fix is a line of the mistake, or of the other language") {
        for (const Mistake& mistake : mistakes()) {
            CAPTURE(mistake.id);
            for (const char* word : {"np.", "axis="}) {
                CHECK(mistake.fix_torch.raw().find(word) == std::string::npos);
            }
            for (const char* word : {"torch.", "dim=", "F."}) {
                CHECK(mistake.fix_numpy.raw().find(word) == std::string::npos);
            }
        }
        on_each_witness(check_fixes);
    }

    TEST_CASE("the formula and the title of a mistaken step describe the mistake") {
        WalkConfig config = configured("heads 2, embed-dim 8");
        const Plan plan = resolve(config);
        const auto formula = [&](const char* id, const char* step) {
            const StepTable table = with_mistakes(step_table(plan), plan, {id});
            return formula_of(find_step(table, step), plan, table);
        };
        CHECK(formula("scale-missing", "scaled_scores") == "scaled_scores[q,k] = scores[q,k]");
        CHECK(formula("scale-twice", "scaled_scores") ==
              "scaled_scores[h,q,k] = scores[h,q,k] / sqrt(4) / 2");
        CHECK(formula("k-dot-k", "scores") == "scores[h,q,k] = sum f: key[h,q,f] * key[h,k,f]");
        CHECK(formula("softmax-axis=query", "weights") ==
              "weights[q,k] = exp(scaled_scores[q,k] - row_max[k]) / row_sum[k] "
              "(softmax(scaled_scores) over the query axis)");
        CHECK(formula("wrong-weight=query-by-key", "projected_query") ==
              "projected_query[t,o] = sum c: x[t,c] * w_key[o,c]");
        const StepTable table = with_mistakes(step_table(plan), plan, {"k-dot-k"});
        CHECK(find_step(table, "scores").title == "keys were multiplied with keys");
        CHECK(find_step(table, "weights").title == find_step(step_table(), "weights").title);
        WalkConfig biased = config;
        const auto title = [&](PositionBias::Kind kind, const char* id, const char* step) {
            biased.position_bias = PositionBias{kind, 8, 6, {}};
            const Plan of = resolve(biased);
            return find_step(with_mistakes(step_table(), of, {id}), step).title;
        };
        CHECK(title(PositionBias::Kind::alibi, "alibi-sign", "position_bias") ==
              "ALiBi was added instead of subtracted");
        CHECK(title(PositionBias::Kind::t5, "t5-cross-bias=dropped", "biased_scores") ==
              "T5's bias was left out");
        CHECK(title(PositionBias::Kind::t5, "t5-direction", "position_bias") ==
              "the sign of the distance was reversed");
    }

    TEST_CASE("the terms of a derivation add up to the number, under every mistake") {
        on_each_witness(check_derivations);
    }
}
