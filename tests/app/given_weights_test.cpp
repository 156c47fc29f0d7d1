// Parameters from files: those of this program, and those of models.
#include <nlohmann/json.hpp>

#include "attn/files/io/array_files.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "tests/support/program.hpp"

using program::check_refused;
using program::Folder;
using program::run;

namespace {

attn::Tensor wave(const attn::Shape& shape, double phase) {
    attn::Array<float> values = attn::empty_array<float>(shape);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values.data()[i] = static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i)));
    }
    attn::Axes axes(shape.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = "axis" + std::to_string(i);
    return {axes, std::move(values)};
}

void write(const std::string& path, const std::vector<attn::NamedTensor>& tensors) {
    attn::OutputFile file(path);
    std::vector<attn::TensorRef> references;
    for (const attn::NamedTensor& each : tensors) references.push_back({each.name, each.tensor});
    attn::write_safetensors(file, references);
    file.commit();
}

attn::Tensor transposed(const attn::Tensor& matrix) {
    const attn::Shape shape = matrix.shape();
    attn::Array<float> values = attn::empty_array<float>({shape[1], shape[0]});
    for (std::size_t r = 0; r < shape[0]; ++r) {
        for (std::size_t c = 0; c < shape[1]; ++c) {
            values.data()[c * shape[0] + r] = matrix.as<float>().data()[r * shape[1] + c];
        }
    }
    return {{"axis0", "axis1"}, std::move(values)};
}

}  // namespace

TEST_SUITE("app: given weights") {
    TEST_CASE("a walk with the parameters of another gives its output, whatever the seed") {
        const Folder folder;
        for (const std::string model :
             {"--heads 2 --bias --output-projection --output-bias", "--projection fused --heads 2",
              "--projection mha --bias --heads 2", "--projection stacked --heads 3 --head-dim 2",
              "--rng numpy --projection split"}) {
            INFO(model);
            const std::string path = folder / "walk.npz";
            REQUIRE(run(model + " --format npz -o '" + path + "'").exit_code == 0);
            const program::Result again =
                run(model + " --seed 7 --weights '" + path + "' --format json");
            REQUIRE_MESSAGE(again.exit_code == 0, again.err);
            CHECK(again.err.find("drawn, as it does not hold") == std::string::npos);
            CHECK(again.err.find("--seed has no effect here") != std::string::npos);
            const auto json = nlohmann::json::parse(again.out);
            const auto first = nlohmann::json::parse(run(model + " --format json").out);
            CHECK(json.at("steps").back().at("data") == first.at("steps").back().at("data"));
            CHECK(json.at("config").at("weights") == path);
            CHECK(first.at("config").at("weights") == "none");
        }
    }

    TEST_CASE("sizes, biases and projections come from the file if no flag sets them") {
        const Folder folder;
        write(folder / "w.safetensors", {{"w_query", wave({6, 10}, 1)},
                                         {"w_value", wave({8, 10}, 2)},
                                         {"b_key", wave({6}, 3)},
                                         {"other", wave({2}, 4)}});
        const program::Result result =
            run("--heads 2 --weights '" + (folder / "w.safetensors") + "' --format json");
        REQUIRE_MESSAGE(result.exit_code == 0, result.err);
        const auto config = nlohmann::json::parse(result.out).at("config");
        CHECK(config.at("embed_dim") == 10);
        CHECK(config.at("head_dim") == 3);
        CHECK(config.at("value_dim") == 4);
        CHECK(config.at("bias") == true);
        CHECK(config.at("given_parameters") == nlohmann::json{"w_query", "w_value", "b_key"});
        CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
        CHECK(result.err.find("drawn, because the file does not contain them: embedding, b_query, "
                              "w_key, b_value; "
                              "not used: other") != std::string::npos);
    }

    TEST_CASE("query, key and value can be given directly, with more keys than queries") {
        const Folder folder;
        write(folder / "qkv.safetensors", {{"query", wave({2, 3, 4}, 1)},
                                           {"key", wave({2, 5, 4}, 2)},
                                           {"value", wave({2, 5, 6}, 3)}});
        const std::string flags =
            "--projection none --weights '" + (folder / "qkv.safetensors") + "'";
        const program::Result result = run(flags + " --format json");
        REQUIRE_MESSAGE(result.exit_code == 0, result.err);
        CHECK(result.err.empty());
        const auto steps = nlohmann::json::parse(result.out).at("steps");
        CHECK(steps[0].at("name") == "query");
        CHECK(steps[0].at("axes") == nlohmann::json{"head", "query", "feature"});
        for (const auto& step : steps) {
            if (step.at("name") == "context") CHECK(step.at("shape") == nlohmann::json{2, 3, 6});
        }
        const program::Result batched = run(flags + " --batch 2 --only context");
        CHECK(batched.out.find("batch 2 x query 3 x feature 6") != std::string::npos);
    }

    TEST_CASE("a GPT-2 layer is the fused walk with the same numbers") {
        const Folder folder;
        const attn::Tensor qkv = wave({6, 18}, 1), qkv_bias = wave({18}, 2);
        const attn::Tensor output = wave({6, 6}, 3), output_bias = wave({6}, 4);
        write(folder / "model.safetensors", {{"transformer.h.1.attn.c_attn.weight", qkv},
                                             {"transformer.h.1.attn.c_attn.bias", qkv_bias},
                                             {"transformer.h.1.attn.c_proj.weight", output},
                                             {"transformer.h.1.attn.c_proj.bias", output_bias},
                                             {"transformer.h.1.ln_1.weight", wave({6}, 5)}});
        write(folder / "x.safetensors", {{"x", wave({4, 6}, 6)}});
        write(folder / "ours.safetensors", {{"w_qkv", transposed(qkv)},
                                            {"b_qkv", qkv_bias},
                                            {"w_output", transposed(output)},
                                            {"b_output", output_bias}});
        const std::string x =
            "--x '" + (folder / "x.safetensors") + "' --heads 2 --mask causal --variant loop -q ";
        const std::string model =
            "--weights '" + (folder / "model.safetensors") + "' --model gpt2 ";
        const program::Result actual = run(x + model + "--layer 1 --only output");
        REQUIRE_MESSAGE(actual.exit_code == 0, actual.err);
        CHECK(actual.err.empty());
        const program::Result correct =
            run(x + "--weights '" + (folder / "ours.safetensors") + "' --only output");
        CHECK(correct.out == actual.out);
        check_refused(x + model, "choose one of 1 to 1");
        check_refused(x + model + "--layer 1 --projection split", "is fused");
        check_refused(x + model + "--layer 1 --weight-layout out-in", "is in-out");
        check_refused(model + "--layer 1", "needs --heads");
        // The names alone determine the contents of a file with one layer.
        const program::Result by_names =
            run(x + "--weights '" + (folder / "model.safetensors") + "' --only output");
        CHECK(by_names.out == actual.out);
        CHECK(by_names.err.find("c_attn.weight is w_qkv") != std::string::npos);
    }

    TEST_CASE("names from other code are parameters, integers are numbers, and x may be present") {
        const Folder folder;
        attn::write_file(folder / "paper.txt",
                         "Wq = np.array([[1, 0], [0, 1]])\nW_K = [[1, 0], [0, 1]]\n"
                         "value.weight = tensor([[1., 2.], [0., 1.]])\nx = [[1, 2], [3, 4]]\n");
        attn::write_file(folder / "ours.json",
                         R"({"w_query": [[1, 0], [0, 1]], "w_key": [[1, 0], [0, 1]],
                             "w_value": [[1, 2], [0, 1]]})");
        attn::write_file(folder / "x.csv", "1,2\n3,4\n");
        const program::Result actual = run("-q --weights '" + (folder / "paper.txt") + "'");
        REQUIRE_MESSAGE(actual.exit_code == 0, actual.err);
        CHECK(actual.out ==
              run("-q --x '" + (folder / "x.csv") + "' --weights '" + (folder / "ours.json") + "'")
                  .out);
        CHECK(actual.err.find("assumed: Wq is w_query, W_K is w_key, value.weight is w_value") !=
              std::string::npos);
        attn::write_file(folder / "own.json", R"({"A": [[2, 0], [0, 1]]})");
        const std::string own = "--seq-len 2 --embed-dim 2 -q --weights '" + (folder / "own.json");
        CHECK(run(own + "' --map A:w_key --only w_key").out ==
              "tensor([[2., 0.],\n        [0., 1.]])\n");
        check_refused(own + "' --map B:w_key", "a name that the file has");
        check_refused(own + "' --map A:w_kye", "did you mean w_key");
        attn::write_file(folder / "two.json", R"({"h.0.q_proj.weight": [[1, 0], [0, 1]],
                                                  "h.1.q_proj.weight": [[1, 0], [0, 1]]})");
        check_refused("--embed-dim 2 --weights '" + (folder / "two.json") + "'",
                      "may be w_query: pass --map");
    }

    TEST_CASE("a walk can start at given scores or weights") {
        const Folder folder;
        // Softmax turns ln 1, ln 2 and ln 5 into 1/8, 2/8 and 5/8.
        attn::write_file(
            folder / "s.json",
            R"({"scores": [[0, 0.6931472, 1.6094379]], "v": [[8, 0], [0, 8], [8, 8]]})");
        const std::string scores = "--weights '" + (folder / "s.json") + "' -q ";
        CHECK(run(scores + "--only weights,context").out ==
              "tensor([[0.1250, 0.2500, 0.6250]])\ntensor([[6.0000, 7.0000]])\n");
        CHECK(run(scores + "--list-steps").out.find("\nquery ") == std::string::npos);
        // Divided by the root of 4, each becomes its own square root.
        CHECK(run(scores + "--head-dim 4 --only scaled_scores").out ==
              "tensor([[0.0000, 0.3466, 0.8047]])\n");
        attn::write_file(folder / "w.json", R"({"attentions": [[[[1, 0], [0.5, 0.5]],
                                                                [[1, 0], [0.2, 0.8]]]]})");
        const std::string weights = "--weights '" + (folder / "w.json") + "' ";
        const program::Result alone = run(weights + "--list-steps");
        CHECK(alone.out.find("context") == std::string::npos);
        CHECK(run(weights + "--only weights --tokens a,b").out.find("batch 1 x head 2") !=
              std::string::npos);
        CHECK(run(weights + "--mask causal").err.find("--mask has no effect") != std::string::npos);
        CHECK(run("why 'weights[0,1,1,1]' " + weights).out.find("weights as given") !=
              std::string::npos);
        check_refused(weights + "--variant fused", "choose another variant");
        CHECK(run(weights + "--code numpy").out.find("random") == std::string::npos);
    }

    TEST_CASE("a mask of numbers is added to given scores, from either file") {
        const Folder folder;
        attn::write_file(folder / "s.json",
                         R"({"scores": [[1, 2, 3], [1, 1, 1]], "value": [[1], [2], [4]],
                             "mask": [[0, -1e9, -1e9], [0, 0, -1e9]],
                             "bias": [[0, 0, -50], [0, 0, -50]]})");
        const std::string path = "'" + (folder / "s.json") + "'";
        // PyTorch: softmax(scores + mask) @ value
        CHECK(run("--only context -q --weights " + path).out ==
              "tensor([[1.0000],\n        [1.5000]])\n");
        const std::string bias = " --mask-file '" + (folder / "s.json") + ":bias'";
        CHECK(run("--only weights -q --weights " + path + bias).out ==
              "tensor([[2.6894e-01, 7.3106e-01, 3.8329e-22],\n"
              "        [5.0000e-01, 5.0000e-01, 9.6437e-23]])\n");
    }

    TEST_CASE("a transpose, the row of one query and words beside rows are read") {
        const Folder folder;
        attn::write_file(folder / "s.txt",
                         "q = [1, 0]\nK^T = [[1, 0, 1], [0, 2, 1]]\nV = [[1], [2], [4]]\n");
        CHECK(run("--only scores -q --weights '" + (folder / "s.txt") + "'").out ==
              "tensor([[1., 0., 1.]])\n");
        attn::write_file(folder / "w.md",
                         "| | the | cat |\n|---|---|---|\n| the | 0.5 | 0.5 |\n"
                         "| cat | 0.1 | 0.9 |\n");
        CHECK(run("why 'weights[cat,the]' --weights '" + (folder / "w.md") + "'").exit_code == 0);
    }

    TEST_CASE("a BERT layer is the split walk with the same numbers") {
        const Folder folder;
        std::vector<attn::NamedTensor> actual;
        std::vector<attn::NamedTensor> correct;
        double phase = 0;
        for (const auto& [name, our] :
             {std::pair{"self.query", "query"}, std::pair{"self.key", "key"},
              std::pair{"self.value", "value"}, std::pair{"output.dense", "output"}}) {
            const attn::Tensor weight = wave({6, 6}, phase += 1), bias = wave({6}, phase + 0.5);
            const std::string start = "encoder.layer.0.attention." + std::string(name);
            actual.push_back({start + ".weight", weight});
            actual.push_back({start + ".bias", bias});
            correct.push_back({"w_" + std::string(our), weight});
            correct.push_back({"b_" + std::string(our), bias});
        }
        write(folder / "model.safetensors", actual);
        write(folder / "ours.safetensors", correct);
        const std::string flags =
            "--seq-len 5 --heads 3 --variant loop -q --only output --weights '";
        const program::Result result =
            run(flags + (folder / "model.safetensors") + "' --model bert");
        REQUIRE_MESSAGE(result.exit_code == 0, result.err);
        CHECK(result.out == run(flags + (folder / "ours.safetensors") + "'").out);
    }

    TEST_CASE(
        "layout, heads and the first step are inferred from the shapes of weights, without a "
        "flag") {
        const Folder folder;
        const std::string x = "--x '" + (folder / "x.safetensors") + "' ", only = " --only context";
        write(folder / "x.safetensors", {{"x", wave({5, 6}, 1)}});
        const auto same = [&](const std::string& unspecified, const std::string& specified) {
            const program::Result outcome = run(unspecified + only + " -q"),
                                  all = run(specified + only + " -q");
            REQUIRE_MESSAGE(outcome.exit_code == 0, unspecified << outcome.err);
            CHECK_MESSAGE(outcome.out == all.out, unspecified);
            return outcome.err;
        };
        const attn::Tensor query = wave({12, 6}, 2), key = wave({4, 6}, 3),
                           value = wave({10, 6}, 4);
        write(folder / "out.safetensors", {{"w_query", query}, {"w_key", key}, {"w_value", value}});
        write(folder / "in.safetensors", {{"w_query", transposed(query)},
                                          {"w_key", transposed(key)},
                                          {"w_value", transposed(value)}});
        const std::string in = "--heads 6 --weights '" + (folder / "in.safetensors") + "' ",
                          out = "--heads 6 --weights '" + (folder / "out.safetensors") + "' ";
        const std::string assumed = same(x + in, x + out + "--kv-heads 2 --value-dim 5");
        CHECK(assumed.find("assumed: --weight-layout in-out, by the shape of w_query") !=
              std::string::npos);
        CHECK(same(x + out + "--rng numpy", x + in + "--rng numpy").find("out-in") !=
              std::string::npos);
        CHECK(run(x + out + only).err.empty());

        write(folder / "axis.safetensors", {{"w_query", wave({4, 3, 6}, 1)},
                                            {"w_key", wave({2, 3, 6}, 2)},
                                            {"w_value", wave({2, 7, 6}, 3)}});
        const std::string axis = "--weights '" + (folder / "axis.safetensors") + "' ";
        for (const std::string& input : {x, std::string()}) {
            CHECK(same(input + axis, input + axis + "--projection stacked --heads 4 --kv-heads 2")
                      .find("error") == std::string::npos);
        }
        write(folder / "qkv.safetensors", {{"query", wave({3, 2, 5, 4}, 1)},
                                           {"key", wave({3, 1, 7, 4}, 2)},
                                           {"value", wave({3, 1, 7, 2}, 3)}});
        const std::string direct = "--weights '" + (folder / "qkv.safetensors") + "' ";
        same(direct, direct + "--projection none --batch 3 --heads 2 --kv-heads 1");
    }

    TEST_CASE("bad weights are refused in one line") {
        const Folder folder;
        write(folder / "w.safetensors", {{"w_query", wave({6, 10}, 1)}});
        const std::string flags = "--weights '" + (folder / "w.safetensors") + "' ";
        check_refused(flags + "--heads 4", "do not divide into 4");
        check_refused(flags + "--embed-dim 7", "the given w_query has shape (6, 10)");
        check_refused("--weights '" + (folder / "none.npz") + "'", "none.npz");
        check_refused(flags + "--layer 2", "--layer needs --model");
        check_refused(flags + "--model gpt5 --heads 2", "Use gpt2 or bert");
    }
    TEST_CASE("the table of T5 and the gain of a norm of x are read back as they were written") {
        const program::Folder folder;
        for (const std::string flags : {"--position-bias t5", "--x-norm rms"}) {
            const std::string saved = folder / "walk.npz";
            REQUIRE(run(flags + " --heads 2 --seed 1 -o " + saved).exit_code == 0);
            const program::Result read =
                run(flags + " --heads 2 --seed 1 --only context -q --weights " + saved);
            INFO(read.err);
            CHECK(read.out == run(flags + " --heads 2 --seed 1 --only context -q").out);
            CHECK(read.err.find("relative_attention_bias") == std::string::npos);
            CHECK(read.err.find("g_x") == std::string::npos);
            CHECK(read.err.find("drawn, as it") == std::string::npos);
        }
    }
}
