#include "attn/walk/draw.hpp"

#include <algorithm>

#include "attn/random/layers.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

Tensor ids_tensor(const Tokens& tokens, const Plan& plan, const char* position) {
    const std::size_t length = tokens.sequences.front().size();
    Array<std::int64_t> ids =
        empty_array<std::int64_t>(plan.has_batch ? Shape{plan.batch, length} : Shape{length});
    for (std::size_t b = 0; b < plan.batch; ++b) {
        const auto& sequence = tokens.sequences[tokens.sequences.size() == 1 ? 0 : b];
        std::copy(sequence.begin(), sequence.end(), ids.data() + b * length);
    }
    return {plan.has_batch ? Axes{"batch", position} : Axes{position}, std::move(ids)};
}

/// Draws into the ledger in the plan's dtype, T.
template <class T>
class Drawer {
public:
    Drawer(const Plan& plan, Ledger& ledger)
        : plan_(plan),
          config_(plan.config),
          generator_(make_generator(config_.rng, config_.seed, config_.torch_build)),
          ledger_(ledger) {}

    void draw_everything() {
        if (plan_.has_x()) {
            draw_source(config_.input, {"ids", "embedding", "x", "query"}, plan_.query_len,
                        plan_.embed_dim);
            if (config_.memory) {
                draw_source(*config_.memory, {"memory_ids", "memory_embedding", "memory", "key"},
                            plan_.key_len, plan_.memory_dim);
            }
        }
        for (const Burn& burn : config_.burn) fill(Shape{burn.count}, burn.distribution);
        for (std::int64_t i = 0; i <= config_.redraw; ++i) draw_projections();
        const std::size_t width = plan_.heads * plan_.value_dim;
        if (config_.output_projection && config_.projection != Projection::mha) {
            draw_matrix("output", {}, width, plan_.output_dim, Init::linear, config_.output_bias);
        }
    }

private:
    struct SourceNames {
        const char *ids, *embedding, *tensor, *position;
    };

    Array<T> fill(const Shape& shape, Distribution distribution) {
        Array<T> array = empty_array<T>(shape);
        const std::span<T> cells(array.data(), array.size());
        distribution == Distribution::normal ? generator_->randn(cells) : generator_->rand(cells);
        return array;
    }

    void draw_source(const Source& source, const SourceNames& names, std::size_t length,
                     std::size_t features) {
        const Axes axes = plan_.per_batch_axes(names.position, "feature");
        const Shape shape = plan_.per_batch_shape(length, features);
        if (const auto* tokens = std::get_if<Tokens>(&source)) {
            ledger_.record(names.ids, ids_tensor(*tokens, plan_, names.position));
            const auto rows = static_cast<std::size_t>(*tokens->vocab_size);
            ledger_.record(names.embedding, Tensor({"vocab", "feature"},
                                                   draw_embedding<T>(*generator_, rows, features,
                                                                     tokens->pad_id.value_or(-1))));
        } else if (const auto* random = std::get_if<RandomInput>(&source)) {
            ledger_.record(names.tensor, Tensor(axes, fill(shape, random->distribution)));
        } else {
            ledger_.record(names.tensor, given_source(std::get<Tensor>(source), axes, shape));
        }
    }

    /// The given x or memory in our dtype, a lone sequence repeated for every one of the batch.
    Tensor given_source(const Tensor& given, const Axes& axes, const Shape& shape) {
        Array<T> array = empty_array<T>(shape);
        for (std::size_t i = 0; i < array.size(); ++i) {
            array.data()[i] = static_cast<T>(given.at(i % given.size()));
        }
        return {axes, std::move(array)};
    }

    void draw_projections() {
        switch (config_.projection) {
            case Projection::none:
                if (!plan_.has_x()) draw_directly();
                return;
            case Projection::mha:
                draw_mha();
                return;
            case Projection::fused:
            case Projection::fused_by_head:
                draw_matrix("qkv", {}, plan_.embed_dim,
                            plan_.heads * (2 * plan_.head_dim + plan_.value_dim),
                            (*config_.init)[0], config_.bias);
                return;
            case Projection::per_head:
                draw_per_head();
                return;
            case Projection::split:
            case Projection::matrix:
            case Projection::stacked:
                for (const char letter : config_.draw_order) draw_part(part_of(letter));
                return;
        }
    }

    /// One of query, key and value.
    struct Part {
        const char* name;
        std::size_t number, in, width;
    };

    Part part_of(char letter) const {
        if (letter == 'q') return {"query", 0, plan_.embed_dim, plan_.head_dim};
        if (letter == 'k') return {"key", 1, plan_.memory_dim, plan_.head_dim};
        return {"value", 2, plan_.memory_dim, plan_.value_dim};
    }

    void draw_directly() {
        const Distribution distribution = std::get<RandomInput>(config_.input).distribution;
        for (const char letter : config_.draw_order) {
            const Part part = part_of(letter);
            const bool asks = part.number == 0;
            const std::size_t length = asks ? plan_.query_len : plan_.key_len;
            ledger_.record(part.name,
                           Tensor(plan_.per_head_axes(asks ? "query" : "key", "feature"),
                                  fill(plan_.per_head_shape(length, part.width), distribution)));
        }
    }

    void draw_part(const Part& part) {
        const Init init = (*config_.init)[part.number];
        if (plan_.head_axis_on_weight()) {
            draw_matrix(part.name, plan_.heads, part.in, part.width, init, config_.bias);
        } else {
            draw_matrix(part.name, {}, part.in, plan_.heads * part.width, init, config_.bias);
        }
    }

    void draw_per_head() {
        if (!plan_.has_head) {
            for (const char letter : config_.draw_order) draw_part(part_of(letter));
            return;
        }
        std::array<Array<T>, 3> weights;
        std::array<Array<T>, 3> biases;
        for (std::size_t h = 0; h < plan_.heads; ++h) {
            for (const char letter : config_.draw_order) {
                const Part part = part_of(letter);
                const LinearParameters<T> drawn =
                    draw_one(1, part.in, part.width, (*config_.init)[part.number], config_.bias);
                append_head(weights[part.number], drawn.weight, h);
                append_head(biases[part.number], drawn.bias, h);
            }
        }
        for (const char letter : {'q', 'k', 'v'}) {
            const Part part = part_of(letter);
            record_matrix(part.name, plan_.heads, part.in, part.width,
                          {std::move(weights[part.number]), std::move(biases[part.number])});
        }
    }

    /// Puts the parameters of head `h` behind those of the heads before it.
    void append_head(Array<T>& all, const Array<T>& one, std::size_t h) {
        if (h == 0) all = empty_array<T>({plan_.heads * one.size()});
        std::copy(one.begin(), one.end(), all.data() + h * one.size());
    }

    LinearParameters<T> draw_one(std::size_t heads, std::size_t in, std::size_t out, Init init,
                                 bool bias) {
        if (init == Init::linear) return draw_linear<T>(*generator_, in, heads * out, bias);
        const Distribution distribution =
            init == Init::normal ? Distribution::normal : Distribution::uniform;
        Array<T> weight = fill({heads * in * out}, distribution);
        return {std::move(weight), bias ? fill({heads * out}, distribution) : empty_array<T>({0})};
    }

    void draw_matrix(const char* name, std::optional<std::size_t> heads, std::size_t in,
                     std::size_t out, Init init, bool bias) {
        record_matrix(name, heads, in, out, draw_one(heads.value_or(1), in, out, init, bias));
    }

    void record_matrix(const std::string& name, std::optional<std::size_t> heads, std::size_t in,
                       std::size_t out, LinearParameters<T> drawn) {
        const bool out_in = *config_.weight_layout == WeightLayout::out_in;
        Shape shape = out_in ? Shape{out, in} : Shape{in, out};
        Axes axes = out_in ? Axes{"out", "in"} : Axes{"in", "out"};
        Shape bias_shape{out};
        Axes bias_axes{"out"};
        if (heads) {
            shape.insert(shape.begin(), *heads);
            bias_shape.insert(bias_shape.begin(), *heads);
            axes.insert(axes.begin(), "head");
            bias_axes.insert(bias_axes.begin(), "head");
        }
        drawn.weight.reshape(shape);
        ledger_.record("w_" + name, Tensor(axes, std::move(drawn.weight)));
        if (drawn.bias.size() == 0) return;
        drawn.bias.reshape(bias_shape);
        ledger_.record("b_" + name, Tensor(bias_axes, std::move(drawn.bias)));
    }

    void draw_mha() {
        MultiheadParameters<T> drawn = draw_multihead<T>(*generator_, plan_.embed_dim, config_.bias,
                                                         plan_.memory_dim, plan_.memory_dim);
        const std::size_t embed = plan_.embed_dim;
        if (plan_.one_weight()) {
            record_matrix("qkv", {}, embed, 3 * embed, {std::move(drawn.w_qkv), drawn.b_qkv});
        } else {
            const auto bias = [&](std::size_t part) {
                if (!config_.bias) return empty_array<T>({0});
                Array<T> third = empty_array<T>({embed});
                std::copy_n(drawn.b_qkv.data() + part * embed, embed, third.data());
                return third;
            };
            record_matrix("query", {}, embed, embed, {std::move(drawn.w_query), bias(0)});
            record_matrix("key", {}, plan_.memory_dim, embed, {std::move(drawn.w_key), bias(1)});
            record_matrix("value", {}, plan_.memory_dim, embed,
                          {std::move(drawn.w_value), bias(2)});
        }
        record_matrix("output", {}, embed, embed,
                      {std::move(drawn.w_output), std::move(drawn.b_output)});
    }

    const Plan& plan_;
    const WalkConfig& config_;
    std::unique_ptr<Generator> generator_;
    Ledger& ledger_;
};

/// Whole numbers and booleans as float64: what a matrix of a file may hold.
Tensor floating(const Tensor& tensor) {
    if (tensor.is_floating()) return tensor;
    Array<double> values = empty_array<double>(tensor.shape());
    for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = tensor.at(i);
    return {tensor.axes(), std::move(values)};
}

/// Puts given parameters in the place of drawn ones.
void take_given(const Ledger& parameters, Ledger& ledger) {
    for (const auto& [name, tensor] : parameters.entries()) {
        const Tensor& drawn = ledger[name];
        if (drawn.shape() != tensor.shape()) {
            throw ShapeError("the given " + name + " has shape " + shape_text(tensor.shape()) +
                             " but this walk needs " + drawn.described() +
                             ": change the dimensions or the weight layout");
        }
        ledger.record(name, floating(tensor).renamed(drawn.axes()));
    }
}

}  // namespace

Ledger draw(const Plan& plan) {
    Ledger drawn;
    with_floating(plan.dtype,
                  [&](auto zero) { Drawer<decltype(zero)>(plan, drawn).draw_everything(); });
    take_given(plan.config.parameters, drawn);
    Ledger given;
    for (const auto& [name, tensor] : drawn.entries()) {
        given.record(name, cast(cast(tensor, plan.dtype), plan.compute_dtype));
    }
    return given;
}

}  // namespace attn
