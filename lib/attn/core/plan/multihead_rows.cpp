#include "attn/core/plan/draw_list.hpp"

namespace attn {

DrawList multihead_rows(std::size_t embed_dim, std::size_t key_dim, std::size_t value_dim,
                        bool bias) {
    using How = Initialisation;
    const bool one = key_dim == embed_dim && value_dim == embed_dim;
    const std::string first = one ? "w_qkv" : "w_query";
    const auto features = [&](const char* axis, std::size_t count) -> Extent {
        return {axis, embed_dim, count, &WalkConfig::embed_dim};
    };
    DrawList rows;
    const auto matrix = [&](const char* name, std::size_t in, How how, const char* member,
                            std::size_t parts = 1) {
        const Extent width = in == embed_dim ? features("in", 1) : Extent{"in", in};
        rows.push_back({name,
                        how == How::xavier ? first : "w_output",
                        {features("out", parts), width},
                        how,
                        in,
                        parts * embed_dim,
                        bias,
                        member});
    };
    const auto offset = [&](const char* name, const std::string& step, How how, const char* member,
                            std::size_t parts = 1) {
        if (!bias) return;
        rows.push_back({name, step, {features("out", parts)}, how, embed_dim, 0, bias, member});
    };
    matrix("w_output", embed_dim, How::linear_weight, "out_proj.weight");
    offset("", first, How::linear_bias, "out_proj.bias");
    if (one) {
        matrix("w_qkv", embed_dim, How::xavier, "in_proj_weight", 3);
        offset("b_qkv", first, How::zeros, "in_proj_bias", 3);
    } else {
        matrix("w_query", embed_dim, How::xavier, "q_proj_weight");
        matrix("w_key", key_dim, How::xavier, "k_proj_weight");
        matrix("w_value", value_dim, How::xavier, "v_proj_weight");
        offset("b_query", first, How::zeros, "in_proj_bias.chunk(3)[0]");
        offset("b_key", first, How::zeros, "in_proj_bias.chunk(3)[1]");
        offset("b_value", first, How::zeros, "in_proj_bias.chunk(3)[2]");
    }
    offset("b_output", "w_output", How::zeros, "out_proj.bias");
    return rows;
}

}  // namespace attn
