#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/signals.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"
#include "attn/io/npz.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

int run_probe(const std::string& path) {
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

void setup_probe(CLI::App& cli, int& exit_code) {
    auto path = std::make_shared<std::string>();
    cli.add_option("-o,--output", *path, "the .npz file to write")->type_name("FILE");
    cli.callback([path, &exit_code] { exit_code = run_probe(*path); });
}

}  // namespace app
