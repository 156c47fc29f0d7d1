#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "attn/bench/bench.hpp"
#include "attn/plan/words.hpp"
#include "attn/text/json.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

/// JSON has no numbers for what is not finite: those are words, as in a walk.
Json number(double value) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return value;
}

Json whole(double bytes) { return static_cast<std::uint64_t>(bytes); }

Json optional_number(const std::optional<double>& value) {
    return value ? number(*value) : Json(nullptr);
}

Json shape_json(const BenchShape& shape) {
    return Json::array({shape.groups, shape.length, shape.head_dim});
}

Json series_json(const BenchSeries& series) {
    Json json;
    json["variant"] = word(series.variant);
    json["architecture"] = nullptr;
    if (series.variant == Variant::fused) {
        json["architecture"] = instruction_set_name(series.instruction_set);
    }
    json["threads"] = series.threads;
    return json;
}

Json machine_json(const Machine& machine) {
    Json json;
    json["processor"] = machine.processor;
    json["cores"] = machine.cores;
    json["instruction_sets"] = machine.instruction_sets;
    json["blas_core"] = machine.blas_core;
    json["memory_bytes"] = whole(machine.memory_bytes);
    return json;
}

Json row_json(const BenchRow& row) {
    const bool timed = row.left_out.empty();
    Json json = series_json(row.series);
    json["shape"] = shape_json(row.shape);
    json["kv_groups"] = row.shape.kv_groups();
    json["left_out"] = timed ? Json(nullptr) : Json(row.left_out);
    json["seconds"] = timed ? number(row.seconds) : Json(nullptr);
    json["gflops"] = timed ? number(row.gflops) : Json(nullptr);
    json["peak_part"] = optional_number(row.peak_part);
    json["memory_bytes"] = whole(row.held_bytes);
    json["apart"] = optional_number(row.apart);
    json["tolerance"] = timed ? number(row.tolerance) : Json(nullptr);
    return json;
}

Json growth_json(const BenchGrowth& growth) {
    Json json = series_json(growth.series);
    json["groups"] = growth.groups;
    json["head_dim"] = growth.head_dim;
    json["from"] = growth.from;
    json["to"] = growth.to;
    json["time_exponent"] = number(growth.time_exponent);
    json["memory_exponent"] = number(growth.memory_exponent);
    return json;
}

Json dispute_json(const BenchDispute& dispute) {
    Json json = series_json(dispute.series);
    json["against"] = series_json(dispute.against);
    json["shape"] = shape_json(dispute.shape);
    json["index"] = dispute.where.index;
    json["value"] = number(dispute.where.got);
    json["against_value"] = number(dispute.where.expected);
    json["apart"] = number(dispute.where.apart);
    json["tolerance"] = number(dispute.tolerance);
    return json;
}

}  // namespace

std::string bench_json(const BenchReport& report) {
    Json json;
    json["attn_explain"] = version();
    json["machine"] = machine_json(report.machine);
    json["dtype"] = "float32";
    json["mask"] = report.causal ? "causal" : "none";
    json["window"] = report.window;
    json["rounds"] = report.rounds;
    json["peaks"] = Json::array();
    for (const BenchPeak& peak : report.peaks) {
        Json entry;
        entry["architecture"] = instruction_set_name(peak.instruction_set);
        entry["threads"] = peak.threads;
        entry["gflops"] = number(peak.gflops);
        json["peaks"].push_back(std::move(entry));
    }
    json["agree"] = !report.dispute;
    json["results"] = Json::array();
    for (const BenchRow& row : report.rows) json["results"].push_back(row_json(row));
    json["growth"] = Json::array();
    for (const BenchGrowth& growth : report.growth) json["growth"].push_back(growth_json(growth));
    json["dispute"] = report.dispute ? dispute_json(*report.dispute) : Json(nullptr);
    // A processor may call itself anything: what is no UTF-8 is replaced.
    return json_text(json, 2);
}

}  // namespace attn
