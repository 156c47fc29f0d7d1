// Makes a mistake in a walk, compares it with the correct one and has diagnose name the mistake.
#include <attn/core/settings/settings.hpp>
#include <attn/judge/compare/compare.hpp>
#include <attn/judge/diagnose/diagnose.hpp>
#include <attn/judge/mistakes/mistake.hpp>
#include <iostream>

int main() {
    const attn::Plan plan = attn::resolve(attn::configured("ids 1,2,1, vocab-size 3, mask causal"));
    const attn::StepTable& right = attn::step_table();
    const attn::StepTable wrong = attn::with_mistakes(right, plan, {"scale-missing"});

    const attn::Ledger given = attn::draw(plan);
    const attn::Ledger reference = attn::walk(plan, given, right);
    const attn::Ledger computed = attn::walk(plan, given, wrong);
    std::cout << "first difference: "
              << attn::compare(plan, right, computed, reference).first()->name << "\n"
              << attn::diagnosis_text(attn::diagnose(plan, given, computed));
}
