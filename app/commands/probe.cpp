#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"
#include "attn/io/npz.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/json.hpp"

namespace app {
namespace {

/// Whole numbers as a file holds them.
attn::Tensor numbers(const std::vector<std::int64_t>& values) {
    attn::Array<std::int64_t> array = attn::empty_array<std::int64_t>({values.size()});
    std::copy(values.begin(), values.end(), array.data());
    return {{"setting"}, std::move(array)};
}

int run_probe(const Arguments& arguments) {
    const std::string path = arguments.text("--output");
    if (path.empty()) {
        throw attn::ConfigError("a probe is a file: pass -o probe.npz");
    }
    const attn::Plan plan = attn::resolve(attn::probe_config());
    const attn::Ledger ledger = attn::walk(plan, attn::draw(plan));
    attn::Ledger settings;
    settings.record("heads", numbers({2}));
    settings.record("causal", numbers({1}));
    settings.record("lengths", numbers(plan.config.lengths));
    std::vector<attn::TensorRef> arrays;
    for (const auto& [name, tensor] : settings.entries()) arrays.push_back({name, tensor});
    for (const auto& [name, tensor] : ledger.entries()) {
        const attn::Step& step = attn::find_step(attn::step_table(), name);
        const bool given = step.kind == attn::Step::Kind::input ||
                           step.kind == attn::Step::Kind::parameter || name == "mask";
        if (given) arrays.push_back({name, tensor});
    }
    remove_temporaries_on_signals();
    attn::OutputFile file(path);
    attn::write_npz(file, arrays);
    file.commit();
    if (arguments.has("--json")) {
        std::string json;
        for (const attn::TensorRef& array : arrays) {
            std::string shape;
            for (const std::size_t extent : array.tensor.shape()) {
                shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
            }
            json += (json.empty() ? "" : ",\n  ") +
                    ("{\"name\": " + attn::json_string(array.name)) + ", \"shape\": [" + shape +
                    "]}";
        }
        StandardOutput output;
        output.write("{\"file\": " + attn::json_string(path) + ",\n \"arrays\": [\n  " + json +
                     "]}\n");
        output.flush();
    }
    report_note("run your own attention on the arrays of " + path +
                " (mask true = hidden), save its tensors, and then: attn-explain diagnose "
                "YOURS.npz --given " +
                path);
    return 0;
}

}  // namespace

Command probe_command() {
    return {"probe",
            "write inputs on which nearly every mistake shows",
            {file_flags, json_flags},
            run_probe,
            {{"attn-explain probe -o probe.npz", "Writes inputs for your own code."}}};
}

}  // namespace app
