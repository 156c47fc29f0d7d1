// The generated lines. tests/check_ipynb.py runs them under PyTorch and NumPy.
#include <doctest/doctest.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/settings.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/show/render/render.hpp"

using namespace attn;

namespace {

WalkConfig two_heads() {
    WalkConfig config = configured("seq-len 3, embed-dim 8, heads 2, mask causal");
    return config;
}

std::string line(const char* step, const WalkConfig& config,
                 CodeLanguage language = CodeLanguage::torch) {
    return step_code(step, resolve(config), step_table(), language);
}

}  // namespace

TEST_SUITE("code") {
    TEST_CASE("each step is the line that a PyTorch user would write") {
        const WalkConfig config = two_heads();
        CHECK(line("x", config) == "x = torch.randn(3, 8)");
        CHECK(line("projected_query", config) == "projected_query = x @ w_query.T");
        CHECK(line("query", config) ==
              "query = projected_query.reshape(3, 2, 4).transpose(-3, -2)");
        CHECK(line("scores", config) == "scores = query @ key.transpose(-2, -1)");
        CHECK(line("scaled_scores", config) == "scaled_scores = scores / math.sqrt(4)");
        CHECK(line("weights", config) == "weights = F.softmax(masked_scores, dim=-1)");
        CHECK(line("merged", config) == "merged = context.transpose(-3, -2).reshape(3, 8)");
        CHECK(line("scores", config, CodeLanguage::numpy) ==
              "scores = query @ key.swapaxes(-2, -1)");
        CHECK(line("masked_scores", config, CodeLanguage::numpy) ==
              "masked_scores = np.where(mask, -np.inf, scaled_scores)");
    }

    TEST_CASE(
        "parameters are drawn by the first step that reads them, in draw order and the requested "
        "number of times") {
        WalkConfig config = two_heads();
        config.draw_order = "kqv";
        config.redraw = 1;
        const std::string draws = line("w_query", config);
        CHECK(draws.find("range(2)") != std::string::npos);
        CHECK(draws.find("w_key = ") < draws.find("w_query = "));
        CHECK(line("w_key", config).empty());
    }

    TEST_CASE("each tensor of a program is a tensor, and has a gradient") {
        const auto program = [](const std::string& steps, bool has_backward) {
            WalkConfig config = two_heads();
            config.attentions = {std::make_shared<const AttentionFile>(
                parse_attention("attention a\n" + steps, "a.attn"))};
            const Plan plan = resolve(config);
            StepTable table = step_table(plan);
            if (has_backward) table = with_gradients(std::move(table), plan, {Loss::Kind::sum});
            std::string all;
            for (const StepCode& each : program_of(plan, table, CodeLanguage::torch))
                all += each.code + "\n";
            return all;
        };
        const auto has = [](const std::string& text, const std::string& part) {
            return text.find(part) != std::string::npos;
        };
        CHECK(has(program("step power[] = 2 ^ 3\n"
                          "step context[h,t,f] = values[h,t,f] * power[]\n",
                          false),
                  "power = torch.tensor(2 ** 3"));
        CHECK(has(program("step top[h,q] = stop(max k: latest scores[h,q,k])\n"
                          "step weights[h,q,k] = exp(latest scores[h,q,k] - top[h,q])\n",
                          true),
                  ".detach()\ntop.requires_grad_()"));
        // Both sides of a row's condition have its dimensions.
        CHECK(has(program("together one two\n"
                          "step one[h,t,f] = if t == 0 then 0 else two[h,t - 1,f] / 2\n"
                          "step two[h,t,f] = one[h,t,f] + keys[h,t,f]\n"
                          "step context[h,t,f] = two[h,t,f]\n",
                          false),
                  "(torch.full((1, 2, 4), 0) if t == 0 else"));
    }

    TEST_CASE("a program draws in the order of the walk") {
        const std::vector<std::function<void(WalkConfig&)>> kinds{
            [](WalkConfig& config) { config.position_embedding = PositionEmbedding::learned; },
            [](WalkConfig& config) {
                config.position_embedding = PositionEmbedding::learned;
                Tokens tokens;
                tokens.sequences = {{1, 2, 1}};
                tokens.vocab_size = 4;
                config.input = tokens;
                config.memory = tokens;
            },
            [](WalkConfig& config) {
                config.bias = config.output_projection = config.output_bias = true;
                config.sink = SinkLogit::normal;
                config.past = 2;
            }};
        for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
            CAPTURE(kind);
            WalkConfig config = two_heads();
            kinds[kind](config);
            const Plan plan = resolve(config);
            std::string program;
            for (const StepCode& step : program_of(plan, step_table(plan), CodeLanguage::torch))
                program += "\n" + step.code;
            std::size_t last = 0;
            for (const DrawnTensor& row : draw_list(plan)) {
                if (row.name.empty()) continue;
                CAPTURE(row.name);
                const std::size_t place = program.find("\n" + row.name + " = ");
                REQUIRE(place != std::string::npos);
                CHECK(place >= last);
                last = place;
            }
        }
    }

    TEST_CASE("a step that the walk does not have is refused") {
        CHECK_THROWS_AS(line("output", two_heads()), ConfigError);
    }

    TEST_CASE("the portable build asks for portable kernels before torch is imported") {
        WalkConfig config = two_heads();
        config.torch_build = TorchBuild::portable;
        const std::string setup = setup_code(resolve(config), CodeLanguage::torch);
        const std::size_t asks = setup.find("ATEN_CPU_CAPABILITY");
        REQUIRE(asks != std::string::npos);
        CHECK(asks < setup.find("import torch"));
    }

    TEST_CASE("a formula is short although the lines that compute it have all digits") {
        WalkConfig config = two_heads();
        config.rotary.pairing = Pairing::half;
        config.rotary.scaling = RopeScaling{};
        config.rotary.scaling->kind = RopeScaling::Kind::yarn;
        config.rotary.scaling->factor = 40;
        config.rotary.scaling->length = 8;
        const Plan plan = resolve(config);
        CHECK(line("cos", config) == "cos = torch.cos(angles) * 1.3688879454113936");
        CHECK(formula_of(find_step(step_table(), "cos"), plan, step_table()) ==
              "cos[t,i] = cos(angles[t,i]) * 1.36889");
    }
    TEST_CASE("literals read back to the same bits") {
        Array<float> values = empty_array<float>({2, 2});
        values(0, 0) = 0.1F;
        values(0, 1) = -HUGE_VALF;
        values(1, 0) = 1e-30F;
        values(1, 1) = -0.0F;
        const Tensor tensor({"row", "column"}, values);
        CHECK(tensor_literal(tensor, DType::float32, CodeLanguage::torch) ==
              "torch.tensor([[0.1, -float(\"inf\")],\n              [1e-30, -0.0]], "
              "dtype=torch.float32)");
        CHECK(size_tuple({3}) == "(3,)");
        CHECK(size_tuple({}) == "()");
    }

    TEST_CASE("the lines of a section that is not printed go to the next one") {
        const Plan plan = resolve(two_heads());
        Document document = document_of(plan, walk(plan, draw(plan)), step_table());
        add_code(document, plan, step_table(), CodeLanguage::torch);
        for (Section& section : document.sections) section.shown = section.name == "weights";
        gather_code(document);
        for (const Section& section : document.sections) {
            if (section.name != "weights") {
                CHECK(section.code.empty());
                continue;
            }
            CHECK(section.code.find("torch.manual_seed(42)") != std::string::npos);
            CHECK(section.code.find("w_value = ") != std::string::npos);
            CHECK(section.code.find("row_max") == std::string::npos);
        }
    }

    TEST_CASE("a Jupyter notebook has a text cell and a code cell for each section") {
        const Plan plan = resolve(two_heads());
        Document document = document_of(plan, walk(plan, draw(plan)), step_table());
        add_code(document, plan, step_table(), CodeLanguage::torch);
        std::string text;
        render_ipynb(document, TextForm::torch, {},
                     [&text](std::string_view piece) { text += piece; });
        const nlohmann::json notebook = nlohmann::json::parse(text);
        CHECK(notebook["nbformat"] == 4);
        std::size_t shown = 0;
        for (const Section& section : document.sections) shown += section.shown ? 1 : 0;
        REQUIRE(notebook["cells"].size() == 1 + 2 * shown);
        for (std::size_t i = 1; i < notebook["cells"].size(); i += 2) {
            CHECK(notebook["cells"][i]["cell_type"] == "markdown");
            const nlohmann::json& cell = notebook["cells"][i + 1];
            CHECK(cell["cell_type"] == "code");
            CHECK(cell["execution_count"] == (i + 1) / 2);
            REQUIRE(cell["outputs"].size() == 1);
            CHECK(cell["outputs"][0]["output_type"] == "stream");
            CHECK(cell["source"].back().get<std::string>().rfind("print(", 0) == 0);
        }
    }
}
