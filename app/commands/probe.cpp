#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/signals.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"
#include "attn/io/npz.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

int run_probe(const Arguments& arguments) {
    const std::string path = arguments.text("--output");
    if (path.empty()) {
        throw attn::ConfigError("a probe is a file: pass -o probe.npz");
    }
    const attn::Plan plan = attn::resolve(attn::probe_config());
    const attn::Ledger ledger = attn::walk(plan, attn::draw(plan));
    std::vector<attn::TensorRef> arrays;
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
    report_note("run your own attention on " + path +
                " (2 heads, scores / 2, mask true = hidden), save its tensors under the names of "
                "the steps, and then: attn-explain diagnose YOURS.npz --given " +
                path +
                " --heads 2 --bias --output-projection --output-bias --mask causal,padding "
                "--lengths 5,3,5");
    return 0;
}

}  // namespace

Command probe_command() {
    return {"probe",
            "write inputs on which nearly every mistake shows",
            {file_flags},
            run_probe,
            {{"attn-explain probe -o probe.npz", "Writes inputs for your own code."}}};
}

}  // namespace app
