#include "attn/judge/diagnose/setting_choices.hpp"

#include <algorithm>

#include "attn/core/settings/settings.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace attn {

OtherSettings OtherSettings::with(const std::string& line) const {
    OtherSettings more = *this;
    configure(more.config, line);
    more.lines.push_back(line);
    return more;
}

std::string OtherSettings::text() const {
    std::vector<std::string> words;
    for (const std::string& line : lines) {
        for (const auto& [name, value] : settings_in(line)) {
            words.push_back(std::string(setting_prefix) + name + " " + value);
        }
    }
    if (!meant.empty()) words.push_back(meant);
    return joined(words, " ");
}

double OtherSettings::cost() const {
    double sum = guess_cost;
    for (const std::string& line : lines) {
        const bool is_rare =
            line.starts_with("rope") || line.ends_with("alibi") || line.starts_with("x-norm");
        sum += is_rare ? cost::rare_setting : cost::setting;
    }
    return sum;
}

bool OtherSettings::are_certain() const {
    return meant.empty() && std::ranges::all_of(lines, [](const std::string& line) {
               return line.starts_with("heads") || line.starts_with("rope");
           });
}

namespace {

/// Adds a copy of each with one of these lines, which exclude one another.
void add_one_of(const std::vector<std::string>& lines, std::vector<OtherSettings>& others) {
    const std::size_t before = others.size();
    for (const std::string& line : lines) {
        for (std::size_t i = 0; i < before; ++i) others.push_back(others[i].with(line));
    }
}

/// Each of them as it is, and with the user's mask under each reading of it.
void add_given_masks(const RequestedWalk& requested, std::vector<OtherSettings>& others) {
    const std::size_t before = others.size();
    for (const auto& [name, tensor] : requested.user_tensors.entries()) {
        if (std::ranges::count(known_steps(name), "mask") == 0) continue;
        for (std::size_t i = 0; i < before; ++i) {
            std::vector<MaskReading> readings;
            try {
                readings = mask_readings(tensor, resolve(others[i].config));
            } catch (const Error&) {
                continue;  // these settings do not fit the parameters
            }
            for (MaskReading& reading : readings) {
                others.push_back(others[i]);
                others.back().config.mask.given = std::move(reading.hidden);
                others.back().guess_cost =
                    cost::rare_setting;  // a mistake of a usual one is likelier
                others.back().lines.push_back("mask-file FILE:" + visible(name) + ", mask-true " +
                                              (reading.true_keeps ? "keep" : "drop"));
            }
        }
    }
}

/// Each of them as it is, and with a mask that hides the keys whose weights are 0.
void add_shown_mask(const RequestedWalk& requested, std::vector<OtherSettings>& others) {
    const std::size_t before = others.size();
    for (const auto& [name, tensor] : requested.user_tensors.entries()) {
        if (likeliest_step(name) != "weights" || tensor.dimension() < 2) continue;
        const Tensor hidden =
            tensor_like(tensor, [&tensor = tensor](std::size_t i) { return tensor.at(i) == 0; });
        const bool hides = count_cells(hidden, std::identity()) > 0;
        for (std::size_t i = 0; hides && i < before; ++i) {
            others.push_back(others[i]);
            others.back().meant = "a mask for each weight that is 0";
            others.back().guess_cost = cost::rare_setting;
            others.back().config.mask.given = hidden;
        }
        return;
    }
}

}  // namespace

std::vector<OtherSettings> other_settings(const RequestedWalk& requested,
                                          const DiagnoseOptions& options) {
    const WalkConfig& config = requested.config;
    std::vector<OtherSettings> others{{config}};
    const Tensor* query = config.parameters.find("w_query");
    const Tensor* fused = config.parameters.find("w_qkv");
    if (const Tensor* w = fused != nullptr ? fused : query;
        !requested.specified.heads && config.heads == 1 && w != nullptr) {
        const bool in_out = config.weight_layout == WeightLayout::in_out;
        const std::size_t features =
            (in_out ? w->shape().back() : w->shape().front()) / (fused != nullptr ? 3 : 1);
        for (std::size_t heads = 2; heads <= std::min<std::size_t>(features / 2, 32); ++heads) {
            if (features % heads != 0) continue;
            others.push_back(others.front().with("heads " + std::to_string(heads)));
            others.back().config.head_dim.reset();
            others.back().config.value_dim.reset();
        }
    }
    if (!requested.specified.projection && config.projection == Projection::fused) {
        add_one_of({"projection fused-by-head"}, others);
    }
    if (!requested.specified.weight_layout && has_square_matrix(config) && !config.weight_layout) {
        add_one_of({"weight-layout in-out"}, others);
    }
    if (requested.may_have_positions) {
        others.push_back(others.front());
        others.back().config.position_embedding.reset();
        others.back().meant = "no $position-embedding"_message;
        others.back().guess_cost = cost::setting;
    }
    std::vector<std::string> positions_or_norm;
    if (!config.rotary.pairing && !config.position_bias && !config.position_embedding &&
        !config.latent.rank) {
        positions_or_norm = {"rope half", "rope interleaved", "position-bias alibi"};
    }
    if (!config.x_norm && !options.takes_projections) {
        positions_or_norm.insert(positions_or_norm.end(), {"x-norm layer", "x-norm rms"});
    }
    add_one_of(positions_or_norm, others);
    if (!requested.specified.mask && !config.mask.causal) {
        const std::string causal = config.mask.padding ? "mask padding,causal" : "mask causal";
        std::vector<std::string> masks{causal};
        // If there are fewer queries than keys, they may be the last tokens.
        if (config.memory && !requested.specified.causal_align) {
            masks.emplace_back(causal + ", causal-align end");
        }
        const std::size_t before = others.size();
        const bool may_be_given = !config.mask.any() && !requested.is_probe;
        if (may_be_given) add_given_masks(requested, others);
        if (may_be_given && others.size() == before) add_shown_mask(requested, others);
        add_one_of(masks, others);
    }
    others.erase(others.begin());
    std::ranges::stable_sort(others, {}, &OtherSettings::cost);
    return others;
}

}  // namespace attn
