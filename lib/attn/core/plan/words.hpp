#pragma once
#include <array>
#include <string_view>
#include <utility>

#include "attn/core/plan/config.hpp"

namespace attn {

/// The words of an enumeration, the same in flags, output and JSON.
template <class Choice>
inline constexpr std::array<std::pair<std::string_view, Choice>, 0> words{};

template <>
inline constexpr std::array<std::pair<std::string_view, Projection>, 8> words<Projection>{{
    {"split", Projection::split},
    {"fused", Projection::fused},
    {"fused-by-head", Projection::fused_by_head},
    {"matrix", Projection::matrix},
    {"stacked", Projection::stacked},
    {"per-head", Projection::per_head},
    {"mha", Projection::mha},
    {"none", Projection::none},
}};
template <>
inline constexpr std::array<std::pair<std::string_view, Init>, 5> words<Init>{
    {{"linear", Init::linear},
     {"uniform", Init::uniform},
     {"normal", Init::normal},
     {"zeros", Init::zeros},
     {"identity", Init::identity}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Variant>, 3> words<Variant>{
    {{"loop", Variant::loop}, {"vectorized", Variant::vectorized}, {"fused", Variant::fused}}};
template <>
inline constexpr std::array<std::pair<std::string_view, SoftmaxAxis>, 4> words<SoftmaxAxis>{
    {{"key", SoftmaxAxis::key},
     {"query", SoftmaxAxis::query},
     {"head", SoftmaxAxis::head},
     {"batch", SoftmaxAxis::batch}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Distribution>, 2> words<Distribution>{
    {{"randn", Distribution::normal}, {"rand", Distribution::uniform}}};
template <>
inline constexpr std::array<std::pair<std::string_view, WeightLayout>, 2> words<WeightLayout>{
    {{"out-in", WeightLayout::out_in}, {"in-out", WeightLayout::in_out}}};
template <>
inline constexpr std::array<std::pair<std::string_view, CausalAlign>, 2> words<CausalAlign>{
    {{"start", CausalAlign::start}, {"end", CausalAlign::end}}};
template <>
inline constexpr std::array<std::pair<std::string_view, EmptyRow>, 3> words<EmptyRow>{
    {{"nan", EmptyRow::nan}, {"zero", EmptyRow::zero}, {"error", EmptyRow::error}}};
template <>
inline constexpr std::array<std::pair<std::string_view, ScaleChoice::By>, 3> words<ScaleChoice::By>{
    {{"head-dim", ScaleChoice::By::head_dim},
     {"embed-dim", ScaleChoice::By::embed_dim},
     {"none", ScaleChoice::By::none}}};
template <>
inline constexpr std::array<std::pair<std::string_view, SinkLogit>, 3> words<SinkLogit>{
    {{"zero", SinkLogit::zero}, {"randn", SinkLogit::normal}, {"file", SinkLogit::given}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Dropout::Place>, 3> words<Dropout::Place>{
    {{"weights", Dropout::Place::weights},
     {"context", Dropout::Place::context},
     {"output", Dropout::Place::output}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Rng>, 3> words<Rng>{
    {{"torch", Rng::torch}, {"numpy", Rng::numpy}, {"numpy-pcg64", Rng::numpy_pcg64}}};
template <>
inline constexpr std::array<std::pair<std::string_view, TorchBuild>, 2> words<TorchBuild>{
    {{"avx2", TorchBuild::avx2}, {"portable", TorchBuild::portable}}};
template <>
inline constexpr std::array<std::pair<std::string_view, DType>, 4> words<DType>{
    {{"float32", DType::float32},
     {"float64", DType::float64},
     {"float16", DType::float16},
     {"bfloat16", DType::bfloat16}}};

template <>
inline constexpr std::array<std::pair<std::string_view, NormKind>, 2> words<NormKind>{
    {{"rms", NormKind::rms}, {"layer", NormKind::layer}}};
template <>
inline constexpr std::array<std::pair<std::string_view, Pairing>, 2> words<Pairing>{
    {{"half", Pairing::half}, {"interleaved", Pairing::interleaved}}};

template <>
inline constexpr std::array<std::pair<std::string_view, RopeScaling::Kind>, 5>
    words<RopeScaling::Kind>{{{"linear", RopeScaling::Kind::linear},
                              {"dynamic", RopeScaling::Kind::dynamic},
                              {"llama3", RopeScaling::Kind::llama3},
                              {"yarn", RopeScaling::Kind::yarn},
                              {"longrope", RopeScaling::Kind::longrope}}};

template <>
inline constexpr std::array<std::pair<std::string_view, NormOver>, 3> words<NormOver>{
    {{"head", NormOver::head}, {"all", NormOver::all}, {"l2", NormOver::l2}}};
template <>
inline constexpr std::array<std::pair<std::string_view, QkNorm::Place>, 2> words<QkNorm::Place>{
    {{"before", QkNorm::Place::before}, {"after", QkNorm::Place::after}}};

template <>
inline constexpr std::array<std::pair<std::string_view, PositionEmbedding>, 2>
    words<PositionEmbedding>{
        {{"learned", PositionEmbedding::learned}, {"sinusoidal", PositionEmbedding::sinusoidal}}};

/// Returns the word of one value.
template <class Choice>
constexpr std::string_view word(Choice choice) {
    for (const auto& [text, value] : words<Choice>) {
        if (value == choice) return text;
    }
    return "?";
}

}  // namespace attn
