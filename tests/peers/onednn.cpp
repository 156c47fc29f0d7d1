// Attention by oneDNN: matmul with the scale in it, softmax, matmul. Its release in Debian has no
// fast way to mask scores: adding a mask sends the matmul to the reference implementation.
#include <omp.h>

#include <array>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include <stdexcept>

#include "tests/peers/peer.hpp"

namespace {

using dnnl::memory;

class Attention {
public:
    explicit Attention(const peer::Problem& p) {
        const auto groups = static_cast<memory::dim>(p.groups);
        const auto length = static_cast<memory::dim>(p.length);
        const auto dim = static_cast<memory::dim>(p.dim);
        const memory::dims rows{groups, length, dim};
        const auto f32 = memory::data_type::f32;
        const memory::desc row_major(rows, f32, memory::format_tag::abc);
        const memory::desc transposed_copy({groups, dim, length}, f32, memory::format_tag::acb);
        const memory::desc square({groups, length, length}, f32, memory::format_tag::abc);
        dnnl::primitive_attr scaled;
        scaled.set_output_scales(0, {1 / std::sqrt(static_cast<float>(p.dim))});
        score_ = dnnl::matmul({{row_major, transposed_copy, square}, scaled, engine_});
        softmax_ =
            dnnl::softmax_forward({{dnnl::prop_kind::forward_inference, square, 2}, engine_});
        mix_ = dnnl::matmul({{square, row_major, row_major}, engine_});
        query_ = memory(row_major, engine_, nullptr);
        key_ = memory(transposed_copy, engine_, nullptr);
        value_ = memory(row_major, engine_, nullptr);
        context_ = memory(row_major, engine_, nullptr);
        weights_ = memory(square, engine_);
    }

    void attend(const peer::Problem& p, float* context) {
        query_.set_data_handle(const_cast<float*>(p.query.data()));
        key_.set_data_handle(const_cast<float*>(p.key.data()));
        value_.set_data_handle(const_cast<float*>(p.value.data()));
        context_.set_data_handle(context);
        score_.execute(
            stream_, {{DNNL_ARG_SRC, query_}, {DNNL_ARG_WEIGHTS, key_}, {DNNL_ARG_DST, weights_}});
        softmax_.execute(stream_, {{DNNL_ARG_SRC, weights_}, {DNNL_ARG_DST, weights_}});
        mix_.execute(
            stream_,
            {{DNNL_ARG_SRC, weights_}, {DNNL_ARG_WEIGHTS, value_}, {DNNL_ARG_DST, context_}});
        stream_.wait();
    }

private:
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::matmul score_, mix_;
    dnnl::softmax_forward softmax_;
    memory query_, key_, value_, context_, weights_;
};

}  // namespace

int main() {
    // The primitives are built once per problem.
    std::unique_ptr<Attention> attention;
    std::array<std::size_t, 3> result{};
    return peer::serve([&](const peer::Problem& p, float* context) {
        if (p.causal) throw std::runtime_error("no fast causal mask");
        omp_set_num_threads(p.threads);
        const std::array<std::size_t, 3> sizes{p.groups, p.length, p.dim};
        if (!attention || result != sizes) attention = std::make_unique<Attention>(p);
        result = sizes;
        attention->attend(p, context);
    });
}
