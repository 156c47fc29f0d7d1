// Computes attention over three tokens with the installed library, and prints its weights and the
// error for invalid settings.
#include <attn/core/cards/step_table.hpp>
#include <attn/core/settings/settings.hpp>
#include <attn/show/render/torch_text.hpp>
#include <iostream>

int main() {
    attn::WalkConfig config = attn::configured("ids 1,2,1, vocab-size 3, variant loop");
    const attn::Plan plan = attn::resolve(config);
    const attn::Ledger ledger = attn::walk(plan, attn::draw(plan));
    std::cout << attn::torch_text(ledger["weights"]) << "\n";
    try {
        attn::configure(config, "embed-dim 7, heads 2");
        attn::resolve(config);
    } catch (const attn::ConfigError& error) {
        std::cout << error.what() << "\n";
    }
}
