#include "attn/models/model_loss.hpp"

#include <cmath>
#include <numbers>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/models/generate.hpp"
#include "attn/models/layer.hpp"

namespace attn {
namespace {

using models::Activation;
using models::Linear;
using models::Norm;
using Rows = Array<double>;

Rows operator*(double factor, Rows rows) {
    for (double& number : rows) number *= factor;
    return rows;
}
Rows operator+(Rows sum, const Rows& more) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += more.data()[i];
    return sum;
}

/// Returns the derivative of models::activated.
double slope(Activation kind, double x) {
    using namespace std::numbers;
    if (kind == Activation::silu) {
        const double share = 1 / (1 + std::exp(-x));
        return share * (1 + x * (1 - share));
    }
    constexpr double root = inv_sqrtpi * sqrt2;  // sqrt(2 / pi)
    if (kind == Activation::gelu) {
        return (1 + std::erf(x * sqrt2 / 2)) / 2 + x * root / 2 * std::exp(-x * x / 2);
    }
    const double t = std::tanh(root * (x + 0.044715 * x * x * x));
    return (1 + t) / 2 + x / 2 * (1 - t * t) * root * (1 + 3 * 0.044715 * x * x);
}

/// Backpropagates through a matrix: from the gradient of its output to that of its input.
Rows back(const Linear<double>& linear, const Rows& gradient) {
    Rows whole = empty_array<double>({linear.matrix.rows(), linear.matrix.columns()});
    std::vector<double> room;
    linear.matrix.for_each_part([&](const models::StoredMatrix& part, std::size_t column) {
        for (std::size_t i = 0; i < whole.shape(0); ++i) {
            std::copy_n(part.row(i, 0, part.columns(), room), part.columns(), &whole(i, column));
        }
    });
    Linear<double> transposed_copy;
    transposed_copy.matrix = models::StoredMatrix(Tensor({"out", "in"}, std::move(whole)));
    return transposed_copy(gradient);
}

/// Backpropagates through a norm of rows x.
Rows back(const Norm<double>& norm, const Rows& x, const Rows& gradient) {
    if (norm.gain.size() == 0) return gradient;
    Rows result = gradient;
    const std::size_t features = x.shape(1);
    for (std::size_t r = 0; r < x.shape(0); ++r) {
        const auto [mean, root] = row_size(&x(r, 0), features, norm.kind, norm.eps);
        double sum = 0, along = 0;
        for (std::size_t f = 0; f < features; ++f) {
            const double scaled = gradient(r, f) * norm.gain(f);
            if (norm.kind == NormKind::layer) sum += scaled / static_cast<double>(features);
            along += scaled * (x(r, f) - mean) / static_cast<double>(features);
        }
        for (std::size_t f = 0; f < features; ++f) {
            const double away = (x(r, f) - mean) * along / (root * root);
            result(r, f) = (gradient(r, f) * norm.gain(f) - sum - away) / root;
        }
    }
    return result;
}

/// The output of a layer, from x and the output of its attention.
struct Passed {
    Rows x, output;
    Rows sum{}, mid{};                   ///< x plus attention, normed if the family does so
    Rows mlp_x{}, up{}, gate{}, down{};  ///< within the MLP
    Rows last_sum{}, result{};
};

class After {
public:
    explicit After(const models::Model& model)
        : model_(model), all_(model, model.architecture.layers.size()) {}

    Passed pass(std::size_t n, Rows x, Rows output) const {
        const models::Layer<double>& layer = *all_.layer(n);
        const bool late = a_.norm_after_sum;
        Passed p{std::move(x), std::move(output)};
        p.sum = p.x + a_.residual_scale * (late ? p.output : layer.attention_output_norm(p.output));
        p.mid = late ? layer.attention_output_norm(p.sum) : p.sum;
        p.mlp_x = a_.parallel ? p.x : p.mid;
        const Rows normed = layer.mlp_norm(p.mlp_x);
        p.up = layer.up(normed);
        p.gate = layer.gate.present() ? layer.gate(normed) : p.up;
        Rows inner = p.gate;
        for (std::size_t i = 0; i < inner.size(); ++i) {
            inner.data()[i] = models::activated(a_.activation, p.gate.data()[i]);
            if (layer.gate.present()) inner.data()[i] *= p.up.data()[i];
        }
        p.down = layer.down(inner);
        p.last_sum = p.mid + a_.residual_scale * (late ? p.down : layer.mlp_output_norm(p.down));
        p.result = late ? layer.mlp_output_norm(p.last_sum) : p.last_sum;
        return p;
    }

    /// Returns the gradients of x, without the path through the attention, and of the attention's
    /// output.
    std::pair<Rows, Rows> backward_through(std::size_t n, const Passed& p, Rows d) const {
        const models::Layer<double>& layer = *all_.layer(n);
        const bool late = a_.norm_after_sum;
        if (late) d = back(layer.mlp_output_norm, p.last_sum, d);
        Rows d_gate = back(layer.down, late ? d : back(layer.mlp_output_norm, p.down, d));
        Rows d_up = d_gate;
        for (std::size_t i = 0; i < d_gate.size(); ++i) {
            const double gate = p.gate.data()[i];
            d_up.data()[i] *= models::activated(a_.activation, gate);
            d_gate.data()[i] *= slope(a_.activation, gate);
            if (layer.gate.present()) d_gate.data()[i] *= p.up.data()[i];
        }
        const Rows d_normed = layer.gate.present() ? back(layer.up, d_up) + back(layer.gate, d_gate)
                                                   : back(layer.up, d_gate);
        const Rows d_mlp_x = a_.residual_scale * back(layer.mlp_norm, p.mlp_x, d_normed);
        const Rows d_mid = a_.parallel ? d : d + d_mlp_x;
        const Rows d_sum = late ? back(layer.attention_output_norm, p.sum, d_mid) : d_mid;
        const Rows d_output = late ? d_sum : back(layer.attention_output_norm, p.output, d_sum);
        return {a_.parallel ? d_sum + d_mlp_x : d_sum, a_.residual_scale * d_output};
    }

    /// Walks through a layer's attention, with its backward pass if the gradient of its output is
    /// given.
    Ledger walk_through(std::size_t n, const Rows& x, const Rows* d_output = nullptr) const {
        WalkConfig config = all_.layer(n)->attention;
        config.query_len = static_cast<std::int64_t>(x.shape(0));
        const Plan plan = resolve(std::move(config));
        StepTable table = step_table(plan);
        const Axes axes{"token", "feature"};
        if (d_output != nullptr) {
            Loss loss{Loss::Kind::upstream};
            loss.target = Tensor(axes, *d_output);
            table = with_gradients(std::move(table), plan, loss);
        }
        Ledger given = plan.config.parameters;
        given.record("x", Tensor(axes, x));
        return walk(plan, given, table);
    }

    /// Returns the loss of the rows after the last layer, and its gradient.
    ModelLoss of_rows(const Rows& rows, std::int64_t id) const {
        const double cap = a_.logit_softcap;
        Rows d = all_.vocabulary(all_.final_norm(rows));
        if (cap > 0) {
            for (double& logit : d) logit = cap * std::tanh(logit / cap);
        }
        const std::size_t count = d.shape(1);
        double* const last = d.end() - count;
        std::fill(d.data(), last, 0);
        const auto found = models::distribution<double>({last, count});
        for (std::size_t i = 0; i < count; ++i) {
            const double slope =
                a_.logit_scale * (cap > 0 ? 1 - last[i] / cap * (last[i] / cap) : 1);
            const bool is_word = static_cast<std::int64_t>(i) == id;
            last[i] = (found[i].probability - (is_word ? 1 : 0)) * slope;
        }
        return {-std::log(found[static_cast<std::size_t>(id)].probability),
                back(all_.final_norm, rows, back(all_.whole_vocabulary(), d))};
    }

private:
    const models::Model& model_;
    const models::Architecture& a_ = model_.architecture;
    models::Parameters<double> all_;
};

}  // namespace

ModelLoss cross_entropy(const models::Model& model, std::size_t layer, std::int64_t id,
                        const Array<double>& x, const Array<double>& output) {
    const models::Architecture& a = model.architecture;
    model.check_ids({id});
    if (!a.causal || a.experts > 0) {
        throw ConfigError(model.label + (a.causal ? " has a mixture of experts, which cannot be "
                                                    "backpropagated through"
                                                  : " predicts no next word: it has another loss"));
    }
    const Shape shape{x.dimension() == 2 ? x.shape(0) : 0, static_cast<std::size_t>(a.embed_dim)};
    if (layer >= a.layers.size() || shape[0] == 0 || x.shape() != shape ||
        output.shape() != shape) {
        throw ShapeError("a loss after layer " + std::to_string(layer) + " of " + model.label +
                         " is of x and output " + shape_text(shape) +
                         ", and of one of its layers: give these");
    }
    const After after(model);
    std::vector<Passed> passed{after.pass(layer, x, output)};
    for (std::size_t n = layer + 1; n < a.layers.size(); ++n) {
        const Rows& from = passed.back().result;
        passed.push_back(after.pass(n, from, after.walk_through(n, from)["output"].as<double>()));
    }
    ModelLoss found = after.of_rows(passed.back().result, id);
    for (std::size_t n = a.layers.size(); n-- > layer;) {
        auto [d_x, d_output] = after.backward_through(n, passed[n - layer], found.gradient);
        if (n == layer) {
            found.gradient = d_output;
        } else {
            const Ledger backpropagated = after.walk_through(n, passed[n - layer].x, &d_output);
            found.gradient = d_x + backpropagated["d_x"].as<double>();
        }
    }
    return found;
}

}  // namespace attn
